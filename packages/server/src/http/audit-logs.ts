import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { auditEntryJson, oldestAuditMs } from '../domain/audit.js';
import { bindingOf } from '../domain/page.js';
import type { InputFault } from '../domain/problem.js';
import { readAuditPage } from '../storage/audit.js';
import type { Database } from '../storage/database.js';
import { IdAndKind } from '../web/event-schema.js';
import { cursorFaults, orderParameter, positionOf, sendPage } from './paging.js';
import { rangeFaults, rangeOf } from './range.js';
import { cursorParameter, limitParameter, nonEmpty, PageMeta, timeRange } from './schemas.js';
import { tenancyOf } from './tenancy.js';

const pageSize = 25;

const AuditQuery = Type.Object(
  {
    organization_id: nonEmpty('The organization of the token, which is implied where it is left out.', [
      'ORG-demo',
    ]),
    workspace_id: nonEmpty('Only of this workspace.', ['WS-berlin']),
    actor_id: nonEmpty('Only what this actor did.', ['USR-ada']),
    action: nonEmpty('Only this exact action.', ['webhook.created']),
    target_id: nonEmpty('Only what was done to this: the history of one webhook, token or resource.', [
      'WHK-01JAB3C4D5E6F7G8H9J0K1M2N3',
    ]),
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

const AuditEntrySchema = Type.Object(
  {
    id: Type.String({
      pattern: '^AUD-',
      description: 'The entry.',
      examples: ['AUD-01JAB3C4D50000000G9J0K1M2N'],
    }),
    organization_id: Type.String({
      pattern: '^ORG-',
      description: 'Where it was done.',
      examples: ['ORG-demo'],
    }),
    workspace_id: nullable(Type.String({ pattern: '^WS-' }), {
      description: 'Null for what concerns the whole organization.',
      examples: ['WS-berlin'],
    }),
    actor: IdAndKind(
      'Who did it.',
      'The kind: `user`, `agent`, `token`, or `operator` on the command line.',
      {
        type: 'user',
        id: 'USR-ada',
      },
    ),
    action: Type.String({
      description: 'What was done, named like an event.',
      examples: ['webhook.updated'],
    }),
    target: IdAndKind('What it was done to.', 'The kind: `webhook`, `token`, `service_line`, …', {
      type: 'webhook',
      id: 'WHK-01JAB3C4D5E6F7G8H9J0K1M2N3',
    }),
    request_id: nullable(Type.String(), {
      description: '`X-Request-Id` of the request. Null where it was done on the command line.',
      examples: ['9f1c8f0e-2c53-4f0e-a0a0-8a7e6f1d2c3b'],
    }),
    source_address: nullable(Type.String(), {
      description: 'Where the request came from, as the service saw it.',
      examples: ['203.0.113.7'],
    }),
    changes: Type.Record(Type.String(), Type.Object({ from: Type.Unknown(), to: Type.Unknown() }), {
      description: 'Each field that changed, with what it was before. Never a secret.',
      examples: [{ event_types: { from: ['*'], to: ['invoice.*'] } }],
    }),
    created_at: Type.String({ format: 'date-time', description: 'When it was done.' }),
  },
  { title: 'AuditEntry', additionalProperties: false },
);

/** `GET /v1/audit-logs` */
export function auditLogRoutes(app: FastifyInstance, database: Database, now: () => number): void {
  app.get<{ Querystring: AuditQuery }>(
    '/v1/audit-logs',
    {
      config: { scopes: ['audit:read'], check: queryFaults },
      schema: {
        operationId: 'listAuditLogs',
        tags: ['Audit log'],
        summary: 'Read the audit log',
        description:
          'Newest first by (`created_at`, `id`). All given filters apply. One entry for every write by an actor, ' +
          'made in the transaction of the write. Entries are kept 12 months and never change.',
        querystring: AuditQuery,
        response: { 200: Type.Object({ data: Type.Array(AuditEntrySchema), meta: PageMeta }) },
      },
    },
    async (request, reply) => {
      const { query } = request;
      const { actor_id, action, target_id } = query;
      const { fromMs, toMs } = rangeOf(query);
      const oldestMs = oldestAuditMs(now());
      const filter = {
        ...tenancyOf(request.token, query),
        ...{ actor_id, action, target_id, toMs },
        fromMs: Math.max(fromMs ?? oldestMs, oldestMs),
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

/** The token's own organization and workspace count as asked for, whether or not they are named. */
function bindingFor(query: AuditQuery, request: FastifyRequest): string {
  const { actor_id, action, target_id } = query;
  const { fromMs: from, toMs: to } = rangeOf(query);
  return bindingOf('audit logs', {
    ...{ actor_id, action, target_id, from, to },
    organization_id: request.token.organization_id,
    workspace_id: query.workspace_id ?? request.token.workspace_id ?? undefined,
    order: query.order ?? 'desc',
  });
}
