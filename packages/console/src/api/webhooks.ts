import { queryOptions } from '@tanstack/react-query';
import { posthorn } from './client';

/** All webhooks that the token can see. An organization may be allowed more than one page of them. */
export const webhooksQuery = queryOptions({
  queryKey: ['webhooks', 'list'],
  queryFn: ({ signal }) => posthorn.webhooks.list({ limit: 100 }, { signal }).all(),
});

export const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: ['webhooks', 'one', id],
    queryFn: ({ signal }) => posthorn.webhooks.get(id, { signal }),
  });

export const replayQuery = (webhookId: string, replayId: string) =>
  queryOptions({
    queryKey: ['replay', webhookId, replayId],
    queryFn: ({ signal }) => posthorn.webhooks.getReplay(webhookId, replayId, { signal }),
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? 1_000 : false),
  });
