import Type, { type Static, type TProperties, type TSchema } from 'typebox';
import { identifierPattern, kindPattern } from '../values/pattern.js';
import { durationPattern } from '../values/time.js';

type Options = Type.TSchemaOptions;

const shown = (description: string, examples: readonly unknown[]): Options => ({
  description,
  ...(examples.length > 0 && { examples }),
});

/** The fields of bodies, each with its description and, if given, an example. */
export const text = (description: string, ...examples: string[]) => Type.String(shown(description, examples));
export const whole = (description: string, ...examples: number[]) =>
  Type.Integer(shown(description, examples));
export const flag = (description: string, ...examples: boolean[]) =>
  Type.Boolean(shown(description, examples));
export const time = (description: string, ...examples: string[]) =>
  Type.String({ format: 'date-time', ...shown(description, examples) });
export const id = (prefix: string, description: string, ...examples: string[]) =>
  Type.String({ pattern: `^${prefix}-`, ...shown(description, examples) });
/** A duration in a request, which the route reads. */
export const duration = (fallback: string, description: string, example: string) =>
  Type.String({
    default: fallback,
    'x-documented': { pattern: durationPattern },
    ...shown(description, [example]),
  });
export const oneOf = <Value extends string>(
  values: readonly Value[],
  description: string,
  ...examples: NoInfer<Value>[]
) => Type.Enum([...values], shown(description, examples));

/** Returns the schema of a value that can be null. The examples replace those of the value. */
export const orNull = <T extends TSchema>(schema: T, ...examples: unknown[]) => {
  const { description, examples: own } = schema as { description?: string; examples?: readonly unknown[] };
  const all = examples.length > 0 ? examples : own;
  return Type.Union([schema, Type.Null()], {
    ...(description !== undefined && { description }),
    ...(all && { examples: all }),
  });
};

/** Returns the schema of a choice that can be null. It has a name: generators would make null one of the values. */
export const choiceOrNull = <Value extends string>(
  title: string,
  values: readonly Value[],
  description: string,
  ...examples: (NoInfer<Value> | null)[]
) => orNull(Type.Enum([...values], { title, description }), ...examples);

export const textOrNull = (description: string, ...examples: (string | null)[]) =>
  orNull(text(description), ...examples);
export const wholeOrNull = (description: string, ...examples: (number | null)[]) =>
  orNull(whole(description), ...examples);
export const timeOrNull = (description: string, ...examples: (string | null)[]) =>
  orNull(time(description), ...examples);

/** Returns the schema of an object that has a name in the API document and so in generated clients. */
export const named = <Fields extends TProperties>(title: string, fields: Fields) =>
  Type.Object(fields, { title });

/** Returns the fields as ones that may be absent. */
export const optional = <Fields extends TProperties>(fields: Fields) =>
  Type.Partial(Type.Object(fields)).properties;

/** Returns the schema of an object without other fields: a query or the body of a request. */
export const closed = <Fields extends TProperties>(fields: Fields) =>
  Type.Object(fields, { additionalProperties: false });

/** Returns the schema of an object whose names are not known in advance. */
export const mapOf = <T extends TSchema>(values: T, options: Options) =>
  Type.Unsafe<Record<string, Static<T>>>({ type: 'object', additionalProperties: values, ...options });

/** Returns the schema of a filter. Accepts any non-empty value: an unknown one is not an error, but matches nothing. */
export const filter = (description: string, example: string) =>
  Type.Optional(Type.String({ minLength: 1, description, examples: [example] }));

/** The filter by organization of lists that return only one organization anyway. */
export const ownOrganization = filter("Organization ID. Default: the token's organization.", 'ORG-demo');

/** Returns the schema of a body that wraps what it is about. */
export const dataOf = <T extends TSchema>(data: T, options: Options = {}) => Type.Object({ data }, options);

/** The same for an object with a name. */
export const namedData = <Fields extends TProperties>(title: string, fields: Fields) =>
  dataOf(named(title, fields));

export const organizationId = text('Organization ID.', 'ORG-demo');

/** The filters that the event list and the tail share. */
export const eventFilters = {
  organization_id: Type.String({
    minLength: 1,
    ...shown('Organization ID. The token must belong to this organization.', ['ORG-demo']),
  }),
  workspace_id: filter('Return only results for this workspace.', 'WS-berlin'),
  type: filter('Return only events of this type.', 'invoice.finalized'),
  subject_type: filter('Return only events about this type of subject.', 'service_line'),
  subject_id: filter(
    'Return only events about this subject. Use it to get the history of one resource.',
    'LIN-7',
  ),
  actor_id: filter('Return only events caused by this actor.', 'USR-ada'),
} as const;

export const PageMeta = named('PageMeta', {
  cursor: textOrNull(
    'Pass this as `cursor` to get the next page. It does not expire.',
    'ELpE78cQ9KG_AQGh3T-Uin4',
  ),
  has_more: flag('Whether there are more results.'),
});

/** The fields that explain a failure. */
export const diagnosisFields = {
  error_detail: text('What happened, in one or two sentences.', 'Nothing is listening on example.com:443.'),
  remedy: text(
    'What to do about it, in one or two sentences.',
    'Start the receiver, or correct the port in the URL.',
  ),
};

/** Returns the schema of an actor, a subject or a target. The description says which types are usual. */
export const ReferenceSchema = (description: string, sample: { type: string; id: string }) =>
  Type.Object(
    { type: text('Type.'), id: text('ID.') },
    { title: 'Reference', description, examples: [sample] },
  );

/** Returns the schema of an actor or a subject in a request. */
export const ReferenceInput = (description: string, example: { type: string; id: string }) =>
  Type.Object(
    {
      type: Type.String({ pattern: kindPattern, description: 'Type, such as `user` or `invoice`.' }),
      id: Type.String({ pattern: identifierPattern.resource, description: 'ID.' }),
    },
    { title: 'ReferenceInput', additionalProperties: false, description, examples: [example] },
  );

export const EventSchema = Type.Object(
  {
    id: id('EVT', 'Event ID.', 'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3'),
    type: text('Event type. `GET /v1/event-types` lists all types.', 'service_line.activated'),
    organization_id: id('ORG', 'Organization ID.', 'ORG-demo'),
    workspace_id: orNull(
      id('WS', 'Workspace ID. Null if the event concerns the whole organization.', 'WS-berlin'),
    ),
    actor: ReferenceSchema('Who caused the event, such as a `user`, an `agent` or the `system`.', {
      type: 'user',
      id: 'USR-ada',
    }),
    subject: ReferenceSchema('What the event is about, such as a `service_line` or a `run`.', {
      type: 'service_line',
      id: 'LIN-7',
    }),
    payload: Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'Depends on the event type. The key order and the numbers are exactly as recorded.',
        examples: [
          {
            previous_status: 'draft',
            new_status: 'active',
            execution_model: 'agent_led',
            product_line: 'bookkeeping',
          },
        ],
      },
    ),
    created_at: time('Time when the event was recorded.'),
  },
  { title: 'Event', additionalProperties: false },
);

export const ProblemSchema = Type.Object({
  type: text('Link to the explanation of the code.'),
  title: text('Short description. It is always the same for a given code.'),
  status: whole('HTTP status.'),
  detail: text('What went wrong in this request.'),
  instance: text('Request path.'),
  code: text('Error code. Programs can rely on it: its meaning never changes.'),
  request_id: text('Request ID, as in `X-Request-Id`.'),
  ...optional({
    errors: Type.Array(
      named('InputError', {
        parameter: Type.Optional(text('Name of the query parameter or header.')),
        pointer: Type.Optional(text('JSON pointer to the place in the body.')),
        code: text('Code of this error.'),
        detail: text('What is wrong.'),
      }),
      { description: 'Everything that is wrong with the input.' },
    ),
    possible_moves: Type.Array(Type.String(), {
      description: 'Only for `move_not_allowed`: the moves that are allowed.',
      examples: [['pause', 'close']],
    }),
    cell: text('Only for `wrong_cell`: the name of the cell to use instead.', 'eu2'),
  }),
});
