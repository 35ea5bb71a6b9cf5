import type { Webhook } from '@posthorn/client';
import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { posthorn } from './client';
import {
  byUrgency,
  isFailing,
  type JudgedWebhook,
  judgedMax,
  latestFailureOf,
  mayAskToWait,
  type Verdict,
} from './webhook-verdict';

/** All webhooks that the token can see, those with problems first. An organization may be allowed more than one page of them. */
export const webhooksQuery = queryOptions({
  queryKey: ['webhooks', 'list'],
  queryFn: async ({ client, signal }): Promise<JudgedWebhook[]> => {
    const webhooks = await posthorn.webhooks.list({ limit: 100 }, { signal }).all();
    // If that many fail at once, the cause is something that they have in common, so there is no need to judge each
    // one.
    const isCommon = webhooks.filter(mayFail).length > judgedWebhooksMax;
    const all = isCommon ? webhooks : await Promise.all(webhooks.map((webhook) => judged(webhook, client)));
    return all.toSorted(byUrgency);
  },
});

export const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: ['webhooks', 'one', id],
    queryFn: async ({ client, signal }): Promise<JudgedWebhook> =>
      judged(await posthorn.webhooks.get(id, { signal }), client),
  });

export const webhookStatsQuery = (id: string) =>
  queryOptions({
    queryKey: ['webhooks', 'stats', id],
    queryFn: ({ signal }) => posthorn.webhooks.stats(id, { signal }),
  });

const judgedWebhooksMax = 12;
const verdictMs = 15_000;

const isPast = (at: string | undefined) => at !== undefined && Date.parse(at) <= Date.now();

const mayFail = (webhook: Webhook) =>
  webhook.status === 'active' && webhook.last_delivery_status === 'failed';

/** Adds whether a webhook is failing, which the result of one attempt does not show. */
async function judged(webhook: Webhook, client: QueryClient): Promise<JudgedWebhook> {
  if (!mayFail(webhook)) return webhook;
  // If it cannot be judged, it is still listed.
  const verdict = await client.fetchQuery(verdictQuery(webhook.id)).catch(() => undefined);
  return { ...webhook, ...verdict };
}

const verdictQuery = (id: string) =>
  queryOptions({
    queryKey: ['deliveries', 'verdict', id],
    queryFn: async ({ signal }): Promise<Verdict> => {
      const list = posthorn.deliveries.list({ webhook_id: id, limit: judgedMax }, { signal });
      const { data } = await list.first();
      const waiting = mayAskToWait(data);
      const detail = waiting && (await posthorn.deliveries.get(id, waiting.id, { signal }));
      const asksToWait = detail?.attempt_log.at(-1)?.response_headers?.['retry-after'] !== undefined;
      const fails = isFailing(data, asksToWait);
      return {
        isFailing: fails,
        waitsUntil: fails || !asksToWait ? undefined : (waiting?.next_attempt_at ?? undefined),
        latestFailure: latestFailureOf(data),
      };
    },
    // The list of webhooks is read more often. Once an attempt is due, the verdict may be another one.
    staleTime: ({ state }) => (isPast(state.data?.waitsUntil) ? 0 : verdictMs),
  });

export const replayQuery = (webhookId: string, replayId: string) =>
  queryOptions({
    queryKey: ['replay', webhookId, replayId],
    queryFn: ({ signal }) => posthorn.webhooks.getReplay(webhookId, replayId, { signal }),
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? 1_000 : false),
  });

/** Shows a webhook as the service returned it after a change, and reads the list again. */
export function showChanged(client: QueryClient, webhook: Webhook): void {
  client.setQueryData(webhookQuery(webhook.id).queryKey, webhook);
  void client.invalidateQueries({ queryKey: webhooksQuery.queryKey });
}
