import type { Webhook } from '@posthorn/client';
import { queryOptions } from '@tanstack/react-query';
import { isFailing, judgedMax, mayAskToWait } from '../failing';
import { posthorn } from './client';

export interface JudgedWebhook extends Webhook {
  /** Whether its deliveries fail. If it is unknown, the result of the latest attempt counts. */
  isFailing?: boolean;
}

/** All webhooks that the token can see. An organization may be allowed more than one page of them. */
export const webhooksQuery = queryOptions({
  queryKey: ['webhooks', 'list'],
  queryFn: async ({ signal }): Promise<JudgedWebhook[]> => {
    const webhooks = await posthorn.webhooks.list({ limit: 100 }, { signal }).all();
    // If so many fail at once, what they have in common fails.
    if (webhooks.filter(mayFail).length > judgedWebhooksMax) return webhooks;
    return Promise.all(webhooks.map((webhook) => judged(webhook, signal)));
  },
});

export const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: ['webhooks', 'one', id],
    queryFn: async ({ signal }): Promise<JudgedWebhook> =>
      judged(await posthorn.webhooks.get(id, { signal }), signal),
  });

const judgedWebhooksMax = 12;

const mayFail = (webhook: Webhook) =>
  webhook.status === 'active' && webhook.last_delivery_status === 'failed';

/** Adds whether a webhook is failing, which the result of one attempt does not show. */
async function judged(webhook: Webhook, signal: AbortSignal): Promise<JudgedWebhook> {
  if (!mayFail(webhook)) return webhook;
  try {
    const { data } = await posthorn.deliveries
      .list({ webhook_id: webhook.id, limit: judgedMax }, { signal })
      .first();
    const waiting = mayAskToWait(data);
    const detail = waiting && (await posthorn.deliveries.get(webhook.id, waiting.id, { signal }));
    const asksToWait = detail?.attempt_log.at(-1)?.response_headers?.['retry-after'] !== undefined;
    return { ...webhook, isFailing: isFailing(data, asksToWait) };
  } catch {
    // The webhooks matter more.
    return webhook;
  }
}

export const replayQuery = (webhookId: string, replayId: string) =>
  queryOptions({
    queryKey: ['replay', webhookId, replayId],
    queryFn: ({ signal }) => posthorn.webhooks.getReplay(webhookId, replayId, { signal }),
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? 1_000 : false),
  });
