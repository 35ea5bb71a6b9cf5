import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { get, pathWith } from '../../api/request';
import type { Delivery, Page, Stats, StreamEvent, Webhook } from '../../api/types';
import { intervalFor } from '../../range';
import { matches } from '../../subscription';

export interface ReplayPreview {
  count: number;
  isExact: boolean;
  /** Of those, some have arrived and will be left out. */
  isAtMost: boolean;
  byType: { type: string; count: number }[];
}

const listedMax = 100;

/**
 * Estimates how many events a replay sends. Counts a page of events if that is all; beyond it, uses the statistics, so
 * that the cost does not grow with the range.
 */
export const replayPreviewQuery = (webhook: Webhook, from: string, to: string, onlyFailed: boolean) =>
  queryOptions({
    queryKey: ['replay-preview', webhook.id, from, to, onlyFailed],
    queryFn: async ({ signal }): Promise<ReplayPreview> => {
      const listed = await get<Page<StreamEvent>>(
        pathWith('/v1/events', {
          organization_id: webhook.organization_id,
          workspace_id: webhook.workspace_id,
          ...{ from, to, limit: listedMax },
        }),
        signal,
      );
      if (listed.meta.has_more) return estimated(webhook, from, to, onlyFailed, signal);
      const wanted = listed.data.filter(
        ({ type, subject }) => matches(webhook.event_types, type) && subject.id !== webhook.id,
      );
      const arrived = onlyFailed ? await arrivedEvents(webhook, from, signal) : undefined;
      const left = arrived ? wanted.filter(({ id }) => arrived.get(id) !== true) : wanted;
      const isExact = !onlyFailed || arrived !== undefined;
      return { count: left.length, isExact, isAtMost: !isExact, byType: countByType(left) };
    },
    placeholderData: keepPreviousData,
  });

/** Returns whether the latest delivery of each event arrived, or undefined if there are too many to look at. */
async function arrivedEvents(
  webhook: Webhook,
  from: string,
  signal: AbortSignal,
): Promise<Map<string, boolean> | undefined> {
  const latest = new Map<string, boolean>();
  let cursor: string | null = null;
  for (let pages = 0; pages < 3; pages += 1) {
    const path = pathWith('/v1/deliveries', { webhook_id: webhook.id, from, limit: listedMax, cursor });
    const page: Page<Delivery> = await get(path, signal);
    for (const { event_id, status } of page.data) {
      if (!latest.has(event_id)) latest.set(event_id, status === 'success');
    }
    if (!page.meta.has_more) return latest;
    cursor = page.meta.cursor;
  }
  return undefined;
}

async function estimated(
  webhook: Webhook,
  from: string,
  to: string,
  onlyFailed: boolean,
  signal: AbortSignal,
): Promise<ReplayPreview> {
  const interval = intervalFor(Date.parse(to) - Date.parse(from));
  const path = pathWith('/v1/stats', { from, to, interval });
  const { data } = await get<{ data: Stats }>(path, signal);
  const byType = (data.events_by_type ?? []).filter(({ type }) => matches(webhook.event_types, type));
  const count = webhook.event_types.includes('*')
    ? (data.totals.events ?? 0)
    : byType.reduce((sum, one) => sum + one.count, 0);
  return { count, isExact: false, isAtMost: onlyFailed || webhook.workspace_id !== null, byType };
}

function countByType(events: readonly StreamEvent[]): { type: string; count: number }[] {
  const groups = Map.groupBy(events, ({ type }) => type);
  return [...groups].map(([type, of]) => ({ type, count: of.length })).sort((a, b) => b.count - a.count);
}
