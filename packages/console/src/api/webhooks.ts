import type { Webhook } from '@posthorn/client';
import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { isFailing, judgedMax, mayAskToWait } from '../failing';
import { posthorn } from './client';

export interface JudgedWebhook extends Webhook {
  /** Whether its deliveries fail. If it is unknown, the result of the latest attempt counts. */
  isFailing?: boolean;
}

/** All webhooks that the token can see. An organization may be allowed more than one page of them. */
export const webhooksQuery = queryOptions({
  queryKey: ['webhooks', 'list'],
  queryFn: async ({ client, signal }): Promise<JudgedWebhook[]> => {
    const webhooks = await posthorn.webhooks.list({ limit: 100 }, { signal }).all();
    // If that many fail at once, the cause is something that they have in common, so there is no need to judge each
    // one.
    if (webhooks.filter(mayFail).length > judgedWebhooksMax) return webhooks;
    return Promise.all(webhooks.map((webhook) => judged(webhook, client)));
  },
});

export const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: ['webhooks', 'one', id],
    queryFn: async ({ client, signal }): Promise<JudgedWebhook> =>
      judged(await posthorn.webhooks.get(id, { signal }), client),
  });

const judgedWebhooksMax = 12;

const mayFail = (webhook: Webhook) =>
  webhook.status === 'active' && webhook.last_delivery_status === 'failed';

/** Adds whether a webhook is failing, which the result of one attempt does not show. */
async function judged(webhook: Webhook, client: QueryClient): Promise<JudgedWebhook> {
  if (!mayFail(webhook)) return webhook;
  // If it cannot be judged, it is still listed.
  const verdict = await client.fetchQuery(verdictQuery(webhook.id)).catch(() => undefined);
  return verdict === undefined ? webhook : { ...webhook, isFailing: verdict };
}

const verdictQuery = (id: string) =>
  queryOptions({
    queryKey: ['deliveries', 'verdict', id],
    queryFn: async ({ signal }): Promise<boolean> => {
      const list = posthorn.deliveries.list({ webhook_id: id, limit: judgedMax }, { signal });
      const { data } = await list.first();
      const waiting = mayAskToWait(data);
      const detail = waiting && (await posthorn.deliveries.get(id, waiting.id, { signal }));
      const asksToWait = detail?.attempt_log.at(-1)?.response_headers?.['retry-after'] !== undefined;
      return isFailing(data, asksToWait);
    },
    // The list of webhooks is read more often.
    staleTime: 15_000,
  });

export const replayQuery = (webhookId: string, replayId: string) =>
  queryOptions({
    queryKey: ['replay', webhookId, replayId],
    queryFn: ({ signal }) => posthorn.webhooks.getReplay(webhookId, replayId, { signal }),
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? 1_000 : false),
  });
