import { changesBetween } from '../audit/audit.js';
import type { Catalogue } from '../catalogue/catalogue.js';
import type { EventContext } from '../events/event-routes.js';
import { Problem } from '../values/problem.js';
import { readRange } from '../web/lists.js';
import { type Route, route } from '../web/route.js';
import { distinctTypes } from '../webhooks/webhook.js';
import { checkSubscription } from '../webhooks/webhook-input.js';
import { findWebhook, writeWebhook } from '../webhooks/webhook-writes.js';
import { refuseInactive } from './delivery-routes.js';
import { Replay, ReplayBody } from './delivery-schemas.js';
import { createReplay, readReplay, runningMax, type Replay as StoredReplay } from './replay-store.js';

export interface ReplayContext extends Pick<EventContext, 'database' | 'earliestMs'> {
  catalogue: Catalogue;
}

export function replayRoutes({ database, catalogue, earliestMs }: ReplayContext): readonly Route[] {
  return [
    route('POST /v1/webhooks/{webhook_id}/replay', {
      operationId: 'replay',
      summary: 'Replay events',
      description:
        "Resends past events that match the webhook's subscription, oldest first. The replay runs in the background. " +
        'As long as a transaction that is recording events in the time range is open, the replay stays `running`.',
      scopes: ['webhooks:write', 'events:read'],
      idempotent: true,
      body: ReplayBody,
      input: async (arrived, faults) => {
        const { fromMs = 0, toMs = 0 } = readRange(arrived.body, faults, 'body');
        await checkSubscription(database, catalogue, arrived, faults);
        return { fromMs, toMs };
      },
      returns: { 202: Replay },
      sends: ['Location'],
      refusals: ['webhook_not_active', 'too_many_replays'],
      handler: async (request, reply) => {
        const { event_types, only_failed = false } = request.body;
        const { fromMs, toMs } = request.input;
        refuseInactive(await findWebhook(database, request));
        const { location, body } = await writeWebhook(database, request, async (client) => {
          // The lock makes concurrent requests count each other's replays.
          const webhook = await findWebhook(client, request, true);
          const asked = {
            from_at: new Date(Math.max(fromMs, earliestMs())),
            to_at: new Date(toMs),
            event_types: event_types === undefined ? null : distinctTypes(event_types),
            only_failed,
          };
          const { organization_id, id: webhook_id } = webhook;
          const created = await createReplay(client, { organization_id, webhook_id, ...asked });
          if (!created) throw tooManyReplays();
          const { from_at: from, to_at: to, ...filters } = asked;
          const changes = changesBetween(undefined, { replay_id: created.id, from, to, ...filters });
          const location = `/v1/webhooks/${webhook_id}/replays/${created.id}`;
          const response = { status: 202, location, body: { data: replayBody(created) } };
          return { webhook, action: 'webhook.replayed', changes, response, result: response };
        });
        reply.header('Location', location);
        return body;
      },
    }),
    route('GET /v1/webhooks/{webhook_id}/replays/{replay_id}', {
      operationId: 'getReplay',
      summary: 'Get a replay',
      description: 'Returns the progress of a replay.',
      scopes: ['webhooks:read'],
      returns: { 200: Replay },
      handler: async (request) => {
        const { organization_id, id: webhook_id } = await findWebhook(database, request);
        const { replay_id: id } = request.params;
        const replay = await readReplay(database, { organization_id, webhook_id, id });
        if (!replay) throw new Problem('not_found', 'The replay does not exist.');
        return { data: replayBody(replay) };
      },
    }),
  ];
}

function tooManyReplays(): Problem {
  return new Problem(
    'too_many_replays',
    `${runningMax} replays of this webhook are running. Wait until one is done, or combine several into one with a wider time range.`,
  );
}

function replayBody({ id, status, total, done, created_at }: StoredReplay) {
  return { id, status, total, done, created_at };
}
