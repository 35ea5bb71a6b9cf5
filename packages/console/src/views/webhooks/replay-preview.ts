import type { Event, TypeCount, Webhook } from '@posthorn/client';
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { posthorn } from '../../api/client';
import { searchedPagesMax } from '../../api/deliveries';
import { intervalFor } from '../../range';
import { matches } from '../../subscription';

/** How many events a replay sends, and how sure that number is. */
export interface ReplayPreview {
  count: number;
  /**
   * `exact` and `up_to` are counted, `about` and `up_to_about` come from the statistics. `up_to` and `up_to_about` are
   * maximums, because the replay skips events that have arrived.
   */
  certainty: 'exact' | 'up_to' | 'about' | 'up_to_about';
  byType: TypeCount[];
}

interface Range {
  from: string;
  to: string;
}

const listedMax = 100;
const arrivedMax = 300;

/**
 * Counts the events that a replay sends if there are at most 100 in the range. Beyond that, it uses the statistics, so
 * that the cost does not grow with the range.
 */
export const replayPreviewQuery = (webhook: Webhook, range: Range, onlyFailed: boolean) =>
  queryOptions({
    queryKey: ['replay-preview', webhook.id, range, onlyFailed],
    queryFn: async ({ signal }): Promise<ReplayPreview> => {
      const inRange = { ...scopeOf(webhook), ...range, limit: listedMax };
      const listed = await posthorn.events.list(inRange, { signal }).first();
      if (listed.hasMore) return estimated(webhook, range, onlyFailed, signal);
      const wanted = listed.data.filter(
        ({ type, subject }) => matches(webhook.event_types, type) && subject.id !== webhook.id,
      );
      if (!onlyFailed) return previewOf(wanted, 'exact');
      const arrived = await arrivedEvents(webhook, range, signal);
      if (!arrived) return previewOf(wanted, 'up_to');
      return previewOf(
        wanted.filter(({ id }) => arrived.get(id) !== true),
        'exact',
      );
    },
    placeholderData: keepPreviousData,
  });

const scopeOf = ({ organization_id, workspace_id }: Webhook) => ({
  organization_id,
  workspace_id: workspace_id ?? undefined,
});

/** Returns whether the latest delivery of each event arrived, or undefined if there are too many to look at. */
async function arrivedEvents(
  webhook: Webhook,
  { from }: Range,
  signal: AbortSignal,
): Promise<Map<string, boolean> | undefined> {
  const query = { webhook_id: webhook.id, from, limit: 100 };
  const { data, hasMore } = await posthorn.deliveries
    .list(query, { signal })
    .search(arrivedMax, searchedPagesMax);
  if (hasMore) return undefined;
  const latest = new Map<string, boolean>();
  for (const { event_id, status } of data) {
    if (!latest.has(event_id)) latest.set(event_id, status === 'success');
  }
  return latest;
}

async function estimated(
  webhook: Webhook,
  range: Range,
  onlyFailed: boolean,
  signal: AbortSignal,
): Promise<ReplayPreview> {
  const interval = intervalFor(Date.parse(range.to) - Date.parse(range.from));
  const stats = await posthorn.stats({ ...scopeOf(webhook), ...range, interval }, { signal });
  const byType = (stats.events_by_type ?? []).filter(({ type }) => matches(webhook.event_types, type));
  const count = webhook.event_types.includes('*')
    ? (stats.totals.events ?? 0)
    : byType.reduce((sum, one) => sum + one.count, 0);
  return { count, certainty: onlyFailed ? 'up_to_about' : 'about', byType };
}

function previewOf(events: readonly Event[], certainty: ReplayPreview['certainty']): ReplayPreview {
  const groups = Map.groupBy(events, ({ type }) => type);
  const byType = [...groups].map(([type, of]) => ({ type, count: of.length }));
  return { count: events.length, certainty, byType: byType.sort((a, b) => b.count - a.count) };
}
