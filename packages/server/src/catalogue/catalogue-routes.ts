import Type from 'typebox';
import type { Database } from '../postgres/database.js';
import { Problem } from '../values/problem.js';
import { type Route, route } from '../web/route.js';
import { dataOf, flag, id, named, oneOf, organizationId, text, whole } from '../web/schemas.js';
import { type Catalogue, type EventType, madeFrom } from './catalogue.js';
import * as files from './catalogue-file.js';
import { type AppliedChange, changeCatalogue, readCatalogue, readOwner } from './catalogue-store.js';

const EventTypeSchema = named('EventType', {
  type: text('Event type, as in events and webhooks.'),
  description: text('What the event means.'),
  schema: Type.Object({}, { additionalProperties: true, description: 'JSON Schema of the payload.' }),
  sample: Type.Object({}, { additionalProperties: true, description: 'Example of a payload.' }),
  version: whole('Version of the schema. It increases when the schema changes.', 1),
});

const builtin = flag(
  'Whether the built-in types are on. If not, there are only your types and `webhook.*`.',
  true,
);
const { version: _, ...ownFields } = EventTypeSchema.properties;
const sampleType = {
  type: 'shipment.booked',
  description: 'A customer booked a shipment.',
  schema: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
  sample: { id: 'SHP-1' },
};

const Change = named('CatalogueChange', {
  added: Type.Array(text('Event type.'), { description: 'Types that are new.' }),
  changed: Type.Array(
    Type.Object({
      type: text('Event type.'),
      version: whole('Version of the schema after the change.'),
      breaking: Type.Array(text('What can break a receiver, as a sentence.'), {
        description: 'What can break receivers.',
      }),
    }),
    { description: 'Types with another schema, description or sample.' },
  ),
  removed: Type.Array(text('Event type.'), { description: 'Types that are gone.' }),
  webhooks: Type.Array(
    Type.Object({
      id: id('WHK', 'Webhook ID.'),
      organization_id: organizationId,
      type: text('The event type that was removed, or that changed in a way that can break the receiver.'),
    }),
    { description: 'The webhooks that the change can break.' },
  ),
});
const sampleChange: AppliedChange = {
  added: ['shipment.delayed'],
  changed: [{ type: 'shipment.booked', version: 2, breaking: ['carrier was removed.'] }],
  removed: [],
  webhooks: [{ id: 'WHK-01JAB3C4D5E6F7G8H9J0K1M2N3', organization_id: 'ORG-demo', type: 'shipment.booked' }],
};

export interface CatalogueContext {
  database: Database;
  recorded: files.RecordedPayloads;
  /** Called after a change, so that this node uses it at once. */
  onChange: () => Promise<void>;
}

/** Returns the routes that read and change the catalogue on the platform listener. */
export function catalogueRoutes({ database, recorded, onChange }: CatalogueContext): readonly Route[] {
  return [
    route('GET /platform/event-types', {
      operationId: 'getCatalogue',
      summary: 'Get the catalogue',
      description: 'Returns all event types, and who owns the catalogue.',
      returns: {
        200: dataOf(
          named('Catalogue', {
            builtin,
            owner: oneOf(
              ['file', 'api'],
              '`file` if a running node has the setting `POSTHORN_CATALOGUE`. Otherwise, `PUT` can change the catalogue.',
            ),
            types: Type.Array(EventTypeSchema, { description: 'All event types.' }),
          }),
          { examples: [{ data: { builtin: false, owner: 'api', types: [{ ...sampleType, version: 1 }] } }] },
        ),
      },
      handler: async () => {
        const { catalogue } = await readCatalogue(database);
        const owner = await readOwner(database);
        return { data: { builtin: catalogue.builtin, owner, types: catalogue.list().map(eventTypeBody) } };
      },
    }),
    route('PUT /platform/event-types', {
      operationId: 'replaceCatalogue',
      summary: 'Replace the catalogue',
      description:
        'Replaces your own types with these. All nodes use them within 2 seconds. With `dry_run`, changes nothing and ' +
        'returns what would change. A `breaking` change removes a property, changes its type, or makes it optional. ' +
        'With `builtin`, a type of the same name replaces a built-in one.',
      query: Type.Object({
        dry_run: Type.Optional(
          Type.Enum(['true', 'false'], {
            description: 'Whether to change nothing and only return what would change. Default: `false`.',
          }),
        ),
      }),
      // `input` validates it, with the same messages as for a file.
      bodyIsChecked: true,
      body: Type.Object(
        {
          builtin: Type.Optional(builtin),
          types: Type.Array(named('OwnEventType', ownFields), {
            maxItems: 1_000,
            description: 'Your types. Types that equal built-in ones have no effect.',
          }),
        },
        { title: 'OwnCatalogue', examples: [{ builtin: true, types: [sampleType] }] },
      ),
      input: ({ request }, faults): files.OwnCatalogue => {
        const { body } = request;
        if (typeof body !== 'object' || body === null || Array.isArray(body)) {
          faults.push({ pointer: '', code: 'wrong_type', detail: 'must be an object with the field types' });
          return { builtin: true, types: [] };
        }
        const { own, faults: found } = files.readOwnCatalogue(body, recorded);
        faults.push(...found);
        return own;
      },
      refusals: ['catalogue_from_file'],
      returns: { 200: dataOf(Change, { examples: [{ data: sampleChange }] }) },
      handler: async ({ input, query }) => {
        const dryRun = query.dry_run === 'true';
        const change = await changeCatalogue(database, input, { dryRun });
        if (change === 'owned by file')
          throw new Problem(
            'catalogue_from_file',
            'A running node has the setting POSTHORN_CATALOGUE, so only that file can change the catalogue. To change ' +
              'it here, restart all nodes without the setting.',
          );
        if (!dryRun) await onChange();
        return { data: change };
      },
    }),
  ];
}

/** Returns the route that lists the event types on the public listener. */
export function eventTypeRoutes(catalogue: Catalogue): readonly Route[] {
  const body = madeFrom(catalogue, (current) => JSON.stringify({ data: current.list().map(eventTypeBody) }));
  const examples = [{ data: files.builtinTypes().slice(0, 1).map(eventTypeBody) }];
  return [
    route('GET /v1/event-types', {
      operationId: 'listEventTypes',
      summary: 'List event types',
      description: 'Returns every event type, with the JSON Schema and an example of its payload.',
      scopes: ['events:read'],
      withoutDatabase: true,
      returns: { 200: dataOf(Type.Array(EventTypeSchema), { examples }) },
      handler: (_request, reply) => reply.type('application/json; charset=utf-8').send(body()),
    }),
  ];
}

function eventTypeBody({ type, description, schema, sample, version = 1 }: EventType) {
  return { type, description, schema, sample, version };
}
