import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { jsonSlice } from '../json/slice';
import { get, getText, pathWith } from './request';
import type { Delivery, EventType, Page, StreamEvent } from './types';

export interface EventFilter {
  workspace_id?: string | undefined;
  type?: string | undefined;
  subject_type?: string | undefined;
  subject_id?: string | undefined;
  actor_id?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

export const eventPagesQuery = (organizationId: string, filter: EventFilter, limit = 25) =>
  infiniteQueryOptions({
    queryKey: ['events', organizationId, filter, limit],
    queryFn: ({ pageParam, signal }) =>
      get<Page<StreamEvent>>(
        pathWith('/v1/events', { organization_id: organizationId, ...filter, limit, cursor: pageParam }),
        signal,
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => (meta.has_more ? (meta.cursor ?? undefined) : undefined),
    placeholderData: keepPreviousData,
  });

export interface EventWithText {
  event: StreamEvent;
  /** The payload exactly as the API returns it: numbers keep their digits. */
  payloadText: string;
}

export const eventQuery = (id: string) =>
  queryOptions({
    queryKey: ['event', id],
    queryFn: async ({ signal }): Promise<EventWithText> => {
      const text = await getText(`/v1/events/${encodeURIComponent(id)}`, signal);
      const event = JSON.parse(text).data as StreamEvent;
      return { event, payloadText: jsonSlice(text, ['data', 'payload']) ?? JSON.stringify(event.payload) };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });

export const eventDeliveriesQuery = (id: string) =>
  queryOptions({
    queryKey: ['deliveries', 'of-event', id],
    queryFn: ({ signal }) =>
      get<Page<Delivery>>(
        pathWith(`/v1/events/${encodeURIComponent(id)}/deliveries`, { limit: 100 }),
        signal,
      ),
  });

export const eventTypesQuery = queryOptions({
  queryKey: ['event-types'],
  queryFn: ({ signal }) => get<{ data: EventType[] }>('/v1/event-types', signal).then(({ data }) => data),
  staleTime: 600_000,
});
