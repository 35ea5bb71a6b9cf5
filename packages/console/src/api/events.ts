import type { Event, EventType, ListEventsQuery, Page } from '@posthorn/client';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { jsonSlice } from '../code/json';
import { posthorn } from './client';
import { isNewer } from './event-order';
import { pagesOf } from './query-client';

export type EventFilter = Omit<ListEventsQuery, 'organization_id' | 'order' | 'cursor' | 'limit'>;

export interface EventPage extends Page<Event> {
  /** When the page was requested, by `performance.now()`. */
  readAtMs: number;
}

const limit = 25;

export const eventPagesQuery = (organizationId: string, filter: EventFilter) =>
  infiniteQueryOptions({
    queryKey: ['events', organizationId, filter],
    ...pagesOf(async (cursor, signal): Promise<EventPage> => {
      const readAtMs = performance.now();
      const query = { organization_id: organizationId, ...filter, limit, cursor };
      return { ...(await posthorn.events.list(query, { signal }).first()), readAtMs };
    }),
  });

/** How many events of the same subject are shown before an event, and how many after it. */
const aroundMax = 6;

/** Many events can have the same time, so the first page may not reach the event. */
const furtherPagesMax = 3;

/** Returns the events of the same subject next to an event, the closest first. */
async function neighborsOf(event: Event, order: 'asc' | 'desc', signal: AbortSignal) {
  const { organization_id, subject, created_at: at } = event;
  const query = { organization_id, subject_id: subject.id, order, [order === 'asc' ? 'from' : 'to']: at };
  const isBeyond = (one: Event) => (order === 'asc' ? isNewer(one, event) : isNewer(event, one));
  let page = await posthorn.events.list({ ...query, limit: aroundMax + 1 }, { signal }).first();
  const found = page.data.filter(isBeyond);
  for (let read = 0; read < furtherPagesMax && page.hasMore && found.length < aroundMax; read += 1) {
    const next = { ...query, limit: 100, cursor: page.cursor ?? undefined };
    page = await posthorn.events.list(next, { signal }).first();
    found.push(...page.data.filter(isBeyond));
  }
  return { data: found.slice(0, aroundMax), hasMore: page.hasMore || found.length > aroundMax };
}

/** The events of the same subject around an event, newest first. */
export const subjectHistoryQuery = (event: Event) =>
  queryOptions({
    queryKey: ['subject-history', event.id],
    queryFn: async ({ signal }) => {
      const [before, after] = await Promise.all([
        neighborsOf(event, 'desc', signal),
        neighborsOf(event, 'asc', signal),
      ]);
      return {
        data: [...after.data.toReversed(), event, ...before.data],
        hasMore: before.hasMore || after.hasMore,
      };
    },
    // Another event of the same history may have been open.
    placeholderData: (shown) => (shown?.data.some(({ id }) => id === event.id) ? shown : undefined),
  });

export interface EventWithText {
  event: Event;
  /** The payload exactly as the API returns it: numbers keep their digits. */
  payloadText: string;
}

export const eventQuery = (id: string) =>
  queryOptions({
    queryKey: ['event', id],
    queryFn: async ({ signal }): Promise<EventWithText> => {
      const text = await posthorn.events.getText(id, { signal });
      const event: Event = JSON.parse(text).data;
      return { event, payloadText: jsonSlice(text, ['data', 'payload']) ?? JSON.stringify(event.payload) };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });

export const loadEventDeliveries = (id: string, signal: AbortSignal) =>
  posthorn.events.deliveries(id, { limit: 100 }, { signal }).first();

export const eventDeliveriesQuery = (id: string) =>
  queryOptions({
    queryKey: ['deliveries', 'of-event', id],
    queryFn: ({ signal }) => loadEventDeliveries(id, signal),
  });

export const eventTypesQuery = queryOptions({
  queryKey: ['event-types'],
  queryFn: ({ signal }) => posthorn.eventTypes.list({ signal }).all(),
  staleTime: 600_000,
});

/** Returns the type that examples use: `invoice.paid`, or the first of the platform's own if it does not have that. */
export function exampleType(types: readonly EventType[] | undefined): EventType | undefined {
  return (
    types?.find(({ type }) => type === 'invoice.paid') ??
    types?.find(({ type }) => !type.startsWith('webhook.'))
  );
}

/** Returns whether a subscription, such as `invoice.*`, includes an event type. */
export function matches(patterns: readonly string[], type: string): boolean {
  return patterns.some(
    (pattern) =>
      pattern === '*' ||
      pattern === type ||
      (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))),
  );
}
