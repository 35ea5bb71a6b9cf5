import type { Event, ListEventsQuery, Page } from '@posthorn/client';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { jsonSlice } from '../json/slice';
import { posthorn } from './client';
import { pagesOf } from './paging';

export type EventFilter = Omit<ListEventsQuery, 'organization_id' | 'order' | 'cursor' | 'limit'>;

export interface EventPage extends Page<Event> {
  /** When the page was requested, as the clock `performance.now()` has it. */
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

/** The event and up to six events of its subject before and after it. */
const aroundMax = 7;

/** What happened to the subject of an event around it, newest first. */
export const subjectHistoryQuery = (event: Event) =>
  queryOptions({
    queryKey: ['subject-history', event.id],
    queryFn: async ({ signal }) => {
      const { organization_id, subject, created_at: at } = event;
      const query = { organization_id, subject_id: subject.id, limit: aroundMax };
      const [before, after] = await Promise.all([
        posthorn.events.list({ ...query, to: at }, { signal }).first(),
        posthorn.events.list({ ...query, from: at, order: 'asc' }, { signal }).first(),
      ]);
      // Many events can have the same time, so the pages can miss the event itself.
      const byId = new Map([...before.data, event, ...after.data].map((one) => [one.id, one]));
      const orderOf = (one: Event) => `${one.created_at} ${one.id}`;
      return {
        data: [...byId.values()].sort((one, other) => (orderOf(one) < orderOf(other) ? 1 : -1)),
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
