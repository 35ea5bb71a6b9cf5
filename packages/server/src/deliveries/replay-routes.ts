import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { storeWithWrite } from '../access/idempotency.js';
import { changesBetween } from '../audit/audit.js';
import { auditedWrite, writeAudit } from '../audit/audit-store.js';
import type { Catalogue } from '../catalogue/catalogue.js';
import type { Database } from '../postgres/database.js';
import { instantPattern, parseInstantMs } from '../values/instant.js';
import { type InputFault, Problem } from '../values/problem.js';
import { subscribedTypesFaults } from '../webhooks/subscribed-types.js';
import { distinctTypes } from '../webhooks/webhook.js';
import { webhookEntry } from '../webhooks/webhook-audit.js';
import { findWebhook } from '../webhooks/webhook-lookup.js';
import { EventTypesField, webhookParams } from '../webhooks/webhook-schemas.js';
import { refuseInactive } from './delivery-routes.js';
import { createReplay, type NewReplay, type Replay, readReplay, runningMax } from './replay-store.js';

const ReplaySchema = Type.Object(
  {
    id: Type.String({ pattern: '^RPL-', description: 'Replay ID.' }),
    status: Type.Enum(['running', 'done', 'cancelled'], {
      description: '`cancelled` if the webhook is no longer active.',
      examples: ['running'],
    }),
    total: Type.Integer({
      description:
        'Number of events to send. For very large replays, or if events in the time range are still being ' +
        'recorded, this number is exact only when the replay is done.',
      examples: [120],
    }),
    done: Type.Integer({
      description:
        'Number of events queued so far. For each of them, a delivery was created, or a delivery that was ' +
        'waiting for a retry was scheduled for an immediate attempt.',
      examples: [0],
    }),
    created_at: Type.String({ format: 'date-time', description: 'Time of the request.' }),
  },
  { title: 'Replay' },
);

const ReplayBody = Type.Object(
  {
    from: Type.String({
      description: 'Start of the time range, inclusive: a date, or a time with `Z` or an offset.',
      'x-documented': { pattern: instantPattern },
      examples: ['2026-11-01'],
    }),
    to: Type.String({
      description:
        'End of the time range, inclusive: a date, or a time with `Z` or an offset. Events that are recorded after ' +
        'the request are not included.',
      'x-documented': { pattern: instantPattern },
      examples: ['2026-11-02T12:00:00Z'],
    }),
    event_types: Type.Optional(EventTypesField),
    only_failed: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Send only events whose latest delivery to this webhook failed, or that have no ' +
          'delivery to it. If the latest delivery is waiting for a retry, its next attempt is made now, and no ' +
          'second delivery is created.',
      }),
    ),
  },
  { additionalProperties: false },
);
type ReplayBody = Static<typeof ReplayBody>;

export interface ReplayRoutesOptions {
  database: Database;
  catalogue: Catalogue;
  /** Returns the earliest time from which events can still be replayed. */
  earliestMs: () => number;
}

export function replayRoutes(app: FastifyInstance, options: ReplayRoutesOptions): void {
  const { database, catalogue, earliestMs } = options;
  app.post<{ Body: ReplayBody }>(
    '/v1/webhooks/:webhook_id/replay',
    {
      config: {
        scopes: ['webhooks:write', 'events:read'],
        check: bodyFaults,
        idempotent: true,
        sends: ['Location'],
        refusals: ['webhook_not_active', 'too_many_replays'],
      },
      schema: {
        operationId: 'replay',
        tags: ['Deliveries'],
        summary: 'Replay events',
        description:
          "Resends past events that match the webhook's subscription, oldest first. The replay runs in the background. " +
          'As long as a transaction that is recording events in the time range is open, the replay stays `running`.',
        params: webhookParams,
        body: ReplayBody,
        response: { 202: Type.Object({ data: ReplaySchema }) },
      },
    },
    async (request, reply) => {
      const { body } = request;
      const webhook = await findWebhook(database, request);
      refuseInactive(webhook.status);
      const fromMs = Math.max(parseInstantMs(body.from, 'start') ?? 0, earliestMs());
      const asked: NewReplay = {
        organization_id: webhook.organization_id,
        webhook_id: webhook.id,
        from_at: new Date(fromMs),
        to_at: new Date(parseInstantMs(body.to, 'end') ?? 0),
        event_types: body.event_types === undefined ? null : distinctTypes(body.event_types),
        only_failed: body.only_failed ?? false,
      };
      const response = await auditedWrite(database, request.token.organization_id, async (client) => {
        // The lock makes concurrent requests count each other's replays.
        await findWebhook(client, request, true);
        const created = await createReplay(client, asked);
        if (!created) throw tooManyReplays();
        await writeAudit(client, [
          webhookEntry(request, webhook, 'webhook.replayed', changesOf({ ...asked, ...created })),
        ]);
        const location = `/v1/webhooks/${webhook.id}/replays/${created.id}`;
        const response = { status: 202, location, body: { data: replayBody(created) } };
        await storeWithWrite(client, request, response);
        return response;
      });
      return reply.status(202).header('Location', response.location).send(response.body);
    },
  );

  app.get<{ Params: { webhook_id: string; replay_id: string } }>(
    '/v1/webhooks/:webhook_id/replays/:replay_id',
    {
      config: { scopes: ['webhooks:read'] },
      schema: {
        operationId: 'getReplay',
        tags: ['Deliveries'],
        summary: 'Get a replay',
        description: 'Returns the progress of a replay.',
        params: Type.Object({
          ...webhookParams.properties,
          replay_id: Type.String({
            description: 'Replay ID.',
            examples: ['RPL-01JAB3C4D5E6F7G8H9J0K1M2N3'],
          }),
        }),
        response: { 200: Type.Object({ data: ReplaySchema }) },
      },
    },
    async (request) => {
      const webhook = await findWebhook(database, request);
      const { replay_id: id } = request.params;
      const replay = await readReplay(database, {
        organization_id: webhook.organization_id,
        webhook_id: webhook.id,
        id,
      });
      if (!replay) throw new Problem('not_found', 'The replay does not exist.');
      return { data: replayBody(replay) };
    },
  );

  async function bodyFaults(request: FastifyRequest): Promise<readonly InputFault[]> {
    const body = (request.body ?? {}) as Partial<Record<keyof ReplayBody, unknown>>;
    const faults: InputFault[] = [];
    const times = { from: timeOf(body.from, 'start'), to: timeOf(body.to, 'end') };
    for (const field of ['from', 'to'] as const) {
      if (typeof body[field] !== 'string' || times[field] !== undefined) continue;
      const detail = 'must be a date (2026-11-15) or a time with Z or an offset (2026-11-15T09:30:00Z)';
      faults.push({ pointer: `/${field}`, code: 'unreadable_time', detail });
    }
    if (times.from !== undefined && times.to !== undefined && times.from > times.to) {
      faults.push({ pointer: '/from', code: 'from_after_to', detail: "must not be later than 'to'" });
    }
    return [...faults, ...(await subscribedTypesFaults(database, catalogue, request))];
  }
}

function tooManyReplays(): Problem {
  return new Problem(
    'too_many_replays',
    `${runningMax} replays of this webhook are running. Wait until one is done, or combine several into one with a wider time range.`,
  );
}

function changesOf({ id, from_at, to_at, event_types, only_failed }: NewReplay & Pick<Replay, 'id'>) {
  return changesBetween(undefined, { replay_id: id, from: from_at, to: to_at, event_types, only_failed });
}

function timeOf(text: unknown, edge: 'start' | 'end'): number | undefined {
  return typeof text === 'string' ? parseInstantMs(text, edge) : undefined;
}

function replayBody({ id, status, total, done, created_at }: Replay) {
  return { id, status, total, done, created_at: created_at.toISOString() };
}
