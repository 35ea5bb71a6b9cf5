import { queryOptions } from '@tanstack/react-query';
import { get, pathWith, write } from './request';
import type { Page, Receipt, Replay, Webhook } from './types';

const pathOf = (id: string, rest = '') => `/v1/webhooks/${encodeURIComponent(id)}${rest}`;
const dataOf = <T>({ data }: { data: T }) => data;

/** All webhooks that the token sees. An organization may be allowed more than one page of them. */
export const webhooksQuery = queryOptions({
  queryKey: ['webhooks', 'list'],
  queryFn: async ({ signal }) => {
    const all: Webhook[] = [];
    let cursor: string | null = null;
    do {
      const page: Page<Webhook> = await get(pathWith('/v1/webhooks', { limit: 100, cursor }), signal);
      all.push(...page.data);
      cursor = page.meta.has_more ? page.meta.cursor : null;
    } while (cursor);
    return all;
  },
  staleTime: 0,
});

export const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: ['webhooks', 'one', id],
    queryFn: ({ signal }) => get<{ data: Webhook }>(pathOf(id), signal).then(dataOf),
  });

export interface WebhookFields {
  url: string;
  event_types: string[];
  description: string | null;
  headers: Record<string, string | null> | null;
  rate_limit: number | null;
}

export interface NewWebhook extends WebhookFields {
  organization_id: string;
  workspace_id?: string;
  secret: string;
}

export const createWebhook = (body: NewWebhook, key: string) =>
  write<{ data: Webhook }>('POST', '/v1/webhooks', withoutNulls(body), key).then(dataOf);

function withoutNulls(body: NewWebhook): Partial<NewWebhook> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

export const changeWebhook = (
  id: string,
  change: Partial<WebhookFields> & { status?: 'active' | 'disabled' },
) => write<{ data: Webhook }>('PATCH', pathOf(id), change).then(dataOf);

export const deleteWebhook = (id: string) => write<void>('DELETE', pathOf(id));

export const verifyWebhook = (id: string) =>
  write<{ data: Webhook }>('POST', pathOf(id, '/verify')).then(dataOf);

export const testWebhook = (id: string, eventType: string) =>
  write<{ data: Receipt }>('POST', pathOf(id, '/test'), { event_type: eventType }).then(dataOf);

export const rotateSecret = (id: string, body: { secret?: string; grace: string }, key: string) =>
  write<{ data: Webhook }>('POST', pathOf(id, '/rotate-secret'), body, key).then(dataOf);

export interface ReplayRequest {
  from: string;
  to: string;
  event_types?: string[];
  only_failed?: boolean;
}

export const startReplay = (id: string, body: ReplayRequest, key: string) =>
  write<{ data: Replay }>('POST', pathOf(id, '/replay'), body, key).then(dataOf);

export const replayQuery = (webhookId: string, replayId: string) =>
  queryOptions({
    queryKey: ['replay', webhookId, replayId],
    queryFn: ({ signal }) =>
      get<{ data: Replay }>(pathOf(webhookId, `/replays/${encodeURIComponent(replayId)}`), signal).then(
        dataOf,
      ),
    refetchInterval: ({ state }) => (state.data?.status === 'running' || !state.data ? 1_000 : false),
  });
