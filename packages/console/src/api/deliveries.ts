import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { idTimeMs } from '../identifier';
import { ApiProblem } from './problem';
import { get, pathWith, type Query, write } from './request';
import type { Delivery, DeliveryDetail, Page } from './types';

/** The states that people speak of. The API has `status` and `final` for them. */
export const deliveryStates = ['retrying', 'given_up', 'delivered'] as const;
type DeliveryState = (typeof deliveryStates)[number];

export interface DeliveryFilter {
  webhook_id?: string | undefined;
  workspace_id?: string | undefined;
  state?: DeliveryState | undefined;
  event_type?: string | undefined;
  event_id?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

function queryOf({ state, ...rest }: DeliveryFilter): Query {
  switch (state) {
    case 'retrying':
      return { ...rest, status: 'failed', final: false };
    case 'given_up':
      return { ...rest, status: 'failed', final: true };
    case 'delivered':
      return { ...rest, status: 'success' };
    case undefined:
      return rest;
  }
}

export const deliveryPagesQuery = (filter: DeliveryFilter, limit = 25) =>
  infiniteQueryOptions({
    queryKey: ['deliveries', 'pages', filter, limit],
    queryFn: ({ pageParam, signal }) =>
      get<Page<Delivery>>(
        pathWith('/v1/deliveries', { ...queryOf(filter), limit, cursor: pageParam }),
        signal,
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => (meta.has_more ? (meta.cursor ?? undefined) : undefined),
    placeholderData: keepPreviousData,
  });

/** One page of deliveries, at most `limit` of them: enough to say "100 or more" without counting. */
export const deliveryPageQuery = (filter: DeliveryFilter, limit: number) =>
  queryOptions({
    queryKey: ['deliveries', 'page', filter, limit],
    queryFn: ({ signal }) =>
      get<Page<Delivery>>(pathWith('/v1/deliveries', { ...queryOf(filter), limit }), signal),
  });

const pathOf = (webhookId: string, id: string) =>
  `/v1/webhooks/${encodeURIComponent(webhookId)}/deliveries/${encodeURIComponent(id)}`;

export const deliveryQuery = (webhookId: string, id: string) =>
  queryOptions({
    queryKey: ['deliveries', 'one', webhookId, id],
    queryFn: ({ signal }) =>
      get<{ data: DeliveryDetail }>(pathOf(webhookId, id), signal).then(({ data }) => data),
  });

/** The webhook's latest delivery that did not succeed, with its attempts. */
export const latestFailureQuery = (webhookId: string) =>
  queryOptions({
    queryKey: ['deliveries', 'latest-failure', webhookId],
    queryFn: async ({ signal }) => {
      const path = pathWith('/v1/deliveries', { webhook_id: webhookId, status: 'failed', limit: 1 });
      const [latest] = (await get<Page<Delivery>>(path, signal)).data;
      if (!latest) return null;
      return (await get<{ data: DeliveryDetail }>(pathOf(webhookId, latest.id), signal)).data;
    },
    staleTime: 15_000,
  });

export const redeliver = (webhookId: string, id: string, key: string) =>
  write<{ data: Delivery }>('POST', `${pathOf(webhookId, id)}/redeliver`, undefined, key).then(
    ({ data }) => data,
  );

const pagesMax = 10;

/** Finds the webhook of a delivery. A delivery's ID contains its time, so this reads that millisecond only. */
export async function findDelivery(id: string, signal?: AbortSignal): Promise<Delivery> {
  const atMs = idTimeMs(id);
  if (atMs !== undefined) {
    const at = new Date(atMs).toISOString();
    let cursor: string | null = null;
    for (let pages = 0; pages < pagesMax; pages += 1) {
      const path = pathWith('/v1/deliveries', { from: at, to: at, limit: 100, cursor });
      const page: Page<Delivery> = await get(path, signal);
      const found = page.data.find((delivery) => delivery.id === id);
      if (found) return found;
      if (!page.meta.has_more) break;
      cursor = page.meta.cursor;
    }
  }
  throw new ApiProblem(
    404,
    { code: 'not_found', title: 'Not found', detail: 'The delivery does not exist, or has no attempt yet.' },
    undefined,
  );
}
