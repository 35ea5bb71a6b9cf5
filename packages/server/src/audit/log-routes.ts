import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import type { Database } from '../postgres/database.js';
import { bindingOf } from '../values/cursor.js';
import type { InputFault } from '../values/problem.js';
import { ReferenceSchema } from '../web/event-schema.js';
import { cursorFaults, orderParameter, positionOf, sendPage } from '../web/page-request.js';
import { rangeFaults, rangeOf } from '../web/range.js';
import { cursorParameter, limitParameter, nonEmpty, PageMeta, timeRange } from '../web/schemas.js';
import { tenancyOf } from '../web/tenancy.js';
import { auditEntryJson, earliestAuditMs } from './audit.js';
import { readAuditPage } from './audit-store.js';

const pageSize = 25;

const AuditQuery = Type.Object(
  {
    organization_id: nonEmpty("Organization ID. Default: the token's organization.", ['ORG-demo']),
    workspace_id: nonEmpty('Return only entries for this workspace.', ['WS-berlin']),
    actor_id: nonEmpty('Return only entries for actions by this actor.', ['USR-ada']),
    action: nonEmpty('Return only entries with this action.', ['webhook.created']),
    target_id: nonEmpty(
      'Return only entries about this target. Use it to get the history of one webhook, token or resource.',
      ['WHK-01JAB3C4D5E6F7G8H9J0K1M2N3'],
    ),
    ...timeRange,
    order: orderParameter('entry'),
    cursor: cursorParameter,
    limit: limitParameter(pageSize),
  },
  { additionalProperties: false },
);
type AuditQuery = Static<typeof AuditQuery>;

const nullable = <T extends Type.TSchema>(schema: T, options: Type.TSchemaOptions) =>
  Type.Union([schema, Type.Null()], options);

const plainTypes = ['string', 'number', 'boolean', 'object', 'null'];

const anyValue = (description: string) =>
  Type.Unsafe<unknown>({ type: [...plainTypes, 'array'], items: { type: plainTypes }, description });

const AuditEntrySchema = Type.Object(
  {
    id: Type.String({
      pattern: '^AUD-',
      description: 'Entry ID.',
      examples: ['AUD-01JAB3C4D50000000G9J0K1M2N'],
    }),
    organization_id: Type.String({
      pattern: '^ORG-',
      description: 'Organization ID.',
      examples: ['ORG-demo'],
    }),
    workspace_id: nullable(Type.String({ pattern: '^WS-' }), {
      description: 'Workspace ID. Null if the action concerns the whole organization.',
      examples: ['WS-berlin'],
    }),
    actor: ReferenceSchema(
      'Who performed the action, such as a `user`, an `agent` or a `token`. `operator` means that someone used the command line.',
      { type: 'user', id: 'USR-ada' },
    ),
    action: Type.String({
      description: 'The action, such as `webhook.created`.',
      examples: ['webhook.updated'],
    }),
    target: ReferenceSchema('What the action changed, such as a `webhook`, a `token` or a `service_line`.', {
      type: 'webhook',
      id: 'WHK-01JAB3C4D5E6F7G8H9J0K1M2N3',
    }),
    request_id: nullable(Type.String(), {
      description: 'Request ID, as in `X-Request-Id`. Null for actions on the command line.',
      examples: ['9f1c8f0e-2c53-4f0e-a0a0-8a7e6f1d2c3b'],
    }),
    source_address: nullable(Type.String(), {
      description: 'IP address that the request came from.',
      examples: ['203.0.113.7'],
    }),
    changes: Type.Record(
      Type.String(),
      Type.Object(
        {
          from: anyValue('Old value. Null if there was none.'),
          to: anyValue('New value. Null if there is none.'),
        },
        { title: 'Change' },
      ),
      {
        description: 'Every field that changed, with its old and new values. Never contains a secret.',
        examples: [{ event_types: { from: ['*'], to: ['invoice.*'] } }],
      },
    ),
    created_at: Type.String({ format: 'date-time', description: 'Time of the action.' }),
  },
  { title: 'AuditEntry', additionalProperties: false },
);

/** Adds `GET /v1/audit-logs`. */
export function auditLogRoutes(app: FastifyInstance, database: Database, now: () => number): void {
  app.get<{ Querystring: AuditQuery }>(
    '/v1/audit-logs',
    {
      config: { scopes: ['audit:read'], check: queryFaults },
      schema: {
        operationId: 'listAuditLogs',
        tags: ['Audit log'],
        summary: 'List audit log entries',
        description:
          'Returns the entries that match all filters, sorted by `created_at` and `id`, newest first by ' +
          'default. Every change that an actor makes to a webhook, a token or a resource creates one entry, ' +
          'in the same transaction as the change.',
        querystring: AuditQuery,
        response: { 200: Type.Object({ data: Type.Array(AuditEntrySchema), meta: PageMeta }) },
      },
    },
    async (request, reply) => {
      const { query } = request;
      const { actor_id, action, target_id } = query;
      const { fromMs, toMs } = rangeOf(query);
      const earliestMs = earliestAuditMs(now());
      const filter = {
        ...tenancyOf(request.token, query),
        actor_id,
        action,
        target_id,
        toMs,
        fromMs: Math.max(fromMs ?? earliestMs, earliestMs),
      };
      const binding = bindingFor(query, request);
      const after = positionOf(query.cursor, binding);
      const order = query.order ?? 'desc';
      const page = await readAuditPage(database, filter, order, after, query.limit ?? pageSize);
      return sendPage(reply, page.rows.map(auditEntryJson), page, binding);
    },
  );
}

function queryFaults(request: FastifyRequest): readonly InputFault[] {
  const query = request.query as AuditQuery;
  return [...rangeFaults(query), ...cursorFaults(query.cursor, () => bindingFor(query, request))];
}

/** Binds a cursor to everything that defines the list: the filters and the token's organization and workspace. */
function bindingFor(query: AuditQuery, request: FastifyRequest): string {
  const { actor_id, action, target_id } = query;
  const { fromMs: from, toMs: to } = rangeOf(query);
  return bindingOf('audit logs', {
    actor_id,
    action,
    target_id,
    from,
    to,
    organization_id: request.token.organization_id,
    workspace_id: query.workspace_id ?? request.token.workspace_id ?? undefined,
    order: query.order ?? 'desc',
  });
}
