import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import type { Database } from '../postgres/database.js';
import { bindingOf, encodeCursor } from '../values/cursor.js';
import type { InputFault } from '../values/problem.js';
import { cursorFaults, positionOf } from '../web/page-request.js';
import { cursorParameter, limitParameter, nonEmpty, PageMeta } from '../web/schemas.js';
import { tenancyOf } from '../web/tenancy.js';
import { webhookBody } from './webhook-lookup.js';
import { WebhookSchema } from './webhook-schemas.js';
import { listWebhooks } from './webhook-store.js';

const ListQuery = Type.Object(
  {
    organization_id: nonEmpty("Organization ID. Default: the token's organization.", ['ORG-demo']),
    workspace_id: nonEmpty('Return only webhooks in this workspace.', ['WS-berlin']),
    cursor: cursorParameter,
    limit: limitParameter(100),
  },
  { additionalProperties: false },
);
type ListQuery = Static<typeof ListQuery>;

/** Adds `GET /v1/webhooks`. */
export function webhookListRoute(app: FastifyInstance, database: Database, webhooksMax: number): void {
  app.get<{ Querystring: ListQuery }>(
    '/v1/webhooks',
    {
      config: { scopes: ['webhooks:read'], check: queryFaults },
      schema: {
        operationId: 'listWebhooks',
        tags: ['Webhooks'],
        summary: 'List webhooks',
        description: `Returns webhooks, newest first. An organization has at most ${webhooksMax}${webhooksMax <= 100 ? ', so one page contains all of them' : ''}.`,
        querystring: ListQuery,
        response: { 200: Type.Object({ data: Type.Array(WebhookSchema), meta: PageMeta }) },
      },
    },
    async (request) => {
      const { query } = request;
      const tenancy = tenancyOf(request.token, query);
      const binding = bindingFor(query, request);
      const limit = query.limit ?? 100;
      const after = positionOf(query.cursor, binding);
      const rows = await listWebhooks(database, tenancy, after, limit + 1);
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      const cursor = last ? encodeCursor({ atMs: last.created_at.getTime(), id: last.id }, binding) : null;
      return { data: page.map(webhookBody), meta: { cursor, has_more: rows.length > limit } };
    },
  );
}

function bindingFor(query: ListQuery, request: FastifyRequest): string {
  const workspace = query.workspace_id ?? request.token.workspace_id ?? undefined;
  return bindingOf('webhooks', { organization_id: request.token.organization_id, workspace_id: workspace });
}

function queryFaults(request: FastifyRequest): readonly InputFault[] {
  const query = request.query as ListQuery;
  return cursorFaults(query.cursor, () => bindingFor(query, request));
}
