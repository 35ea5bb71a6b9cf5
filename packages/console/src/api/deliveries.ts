import { type Delivery, type ListAllDeliveriesQuery, PosthornError } from '@posthorn/client';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { idTimeMs } from '../text/identifier';
import { t } from '../text/language';
import { posthorn } from './client';
import { pagesOf } from './query-client';

/** The states as the console shows them, and how the API expresses them. */
const states = {
  retrying: { status: 'failed', final: 'false' },
  given_up: { status: 'failed', final: 'true' },
  delivered: { status: 'success' },
} as const;
type DeliveryState = keyof typeof states;
export const deliveryStates = Object.keys(states) as DeliveryState[];

export interface DeliveryFilter
  extends Omit<ListAllDeliveriesQuery, 'status' | 'final' | 'limit' | 'cursor'> {
  state?: DeliveryState | undefined;
}

const queryOf = ({ state, ...rest }: DeliveryFilter): ListAllDeliveriesQuery => ({
  ...rest,
  ...(state && states[state]),
});

/**
 * How many pages of the API one search loads at most. A page of deliveries can be short or empty even if there is
 * more: it reads at most 50,000 deliveries, in about 0.1 s.
 */
export const searchedPagesMax = 5;

/** The deliveries that match, one search at a time. Each search continues until it has found `limit` of them. */
export const deliveryPagesQuery = (filter: DeliveryFilter, limit = 25) =>
  infiniteQueryOptions({
    queryKey: ['deliveries', 'pages', filter, limit],
    ...pagesOf((cursor, signal) =>
      posthorn.deliveries
        .list({ ...queryOf(filter), limit, cursor }, { signal })
        .search(limit, searchedPagesMax),
    ),
  });

/** At most this many deliveries can be selected at once. */
const matchingMax = 1_000;

export const loadMatching = (filter: DeliveryFilter) =>
  posthorn.deliveries.list({ ...queryOf(filter), limit: 100 }).search(matchingMax, matchingMax / 100);

export const loadPage = (filter: DeliveryFilter, limit: number, signal: AbortSignal) =>
  posthorn.deliveries.list({ ...queryOf(filter), limit }, { signal }).first();

/** One page of deliveries, at most `limit` of them. */
export const deliveryPageQuery = (filter: DeliveryFilter, limit: number) =>
  queryOptions({
    queryKey: ['deliveries', 'page', filter, limit],
    queryFn: ({ signal }) => loadPage(filter, limit, signal),
  });

export const deliveryQuery = (webhookId: string, id: string) =>
  queryOptions({
    queryKey: ['deliveries', 'one', webhookId, id],
    queryFn: ({ signal }) => posthorn.deliveries.get(webhookId, id, { signal }),
  });

/** The webhook's latest delivery that did not succeed, with its attempts. */
export const latestFailureQuery = (webhookId: string) =>
  queryOptions({
    queryKey: ['deliveries', 'latest-failure', webhookId],
    queryFn: async ({ signal }) => {
      const failed = { webhook_id: webhookId, status: 'failed', limit: 1 } as const;
      const { data } = await posthorn.deliveries.list(failed, { signal }).search(1, searchedPagesMax);
      const [latest] = data;
      return latest ? posthorn.deliveries.get(webhookId, latest.id, { signal }) : null;
    },
    staleTime: 15_000,
  });

/** How many of the newest successes are compared: an older delivery may have succeeded later than a newer one. */
const successesMax = 10;

/** When the webhook accepted a delivery last: undefined if there is none, or if one page does not show whether. */
export const lastSuccessQuery = (webhookId: string) =>
  queryOptions({
    queryKey: ['deliveries', 'last-success', webhookId],
    queryFn: async ({ signal }) => {
      const succeeded = { webhook_id: webhookId, status: 'success', limit: successesMax } as const;
      const { data, hasMore } = await posthorn.deliveries.list(succeeded, { signal }).first();
      const times = data.flatMap(({ delivered_at: at }) => at ?? []);
      return { at: times.toSorted().at(-1), isNone: data.length === 0 && !hasMore };
    },
    // Once it changes, the webhook is no longer failing.
    staleTime: 300_000,
  });

const sameTimeMax = 1_000;

/** Finds the webhook of a delivery. A delivery's ID contains its time, so this reads that millisecond only. */
export async function findDelivery(id: string, signal?: AbortSignal): Promise<Delivery> {
  const atMs = idTimeMs(id);
  if (atMs !== undefined) {
    const at = new Date(atMs).toISOString();
    const sameTime = posthorn.deliveries.list({ from: at, to: at, limit: 100 }, { signal });
    const { data } = await sameTime.search(sameTimeMax, 10);
    const found = data.find((delivery) => delivery.id === id);
    if (found) return found;
  }
  const detail = t`The delivery does not exist or has not been attempted yet.`;
  throw new PosthornError({ status: 404, code: 'not_found', title: t`Not found`, detail });
}
