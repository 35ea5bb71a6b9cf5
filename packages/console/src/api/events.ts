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

export const eventPagesQuery = (organizationId: string, filter: EventFilter, limit = 25) =>
  infiniteQueryOptions({
    queryKey: ['events', organizationId, filter, limit],
    ...pagesOf(async (cursor, signal): Promise<EventPage> => {
      const readAtMs = performance.now();
      const query = { organization_id: organizationId, ...filter, limit, cursor };
      return { ...(await posthorn.events.list(query, { signal }).first()), readAtMs };
    }),
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

export const eventDeliveriesQuery = (id: string) =>
  queryOptions({
    queryKey: ['deliveries', 'of-event', id],
    queryFn: ({ signal }) => posthorn.events.deliveries(id, { limit: 100 }, { signal }).first(),
  });

export const eventTypesQuery = queryOptions({
  queryKey: ['event-types'],
  queryFn: ({ signal }) => posthorn.eventTypes.list({ signal }).all(),
  staleTime: 600_000,
});
