import type { Event, TypeCount, Webhook } from '@posthorn/client';
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { intervalFor } from '../address/range';
import { posthorn } from '../api/client';
import { searchedPagesMax } from '../api/deliveries';
import { matches } from '../api/events';

/** How many events a replay sends, and how sure that number is. */
export interface ReplayPreview {
  count: number;
  /** At most how many more there are, because the statistics do not say of which types they are. */
  unlisted: number;
  /**
   * `exact` and `up_to` are counted, `about` and `up_to_about` come from the statistics. `up_to` and `up_to_about` are
   * maximums, because the replay skips events that have arrived or are waiting for their first attempt.
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
const failedMax = 300;
/** Each event takes a request, and a token has 600 of them per minute by default. */
const lookedUpMax = 20;

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
      const wanted = listed.data.filter((event) => isFor(webhook, event));
      if (!onlyFailed) return previewOf(wanted, 'exact');
      const arrived = await arrivedEvents(webhook, range, signal);
      if (!arrived) return previewOf(wanted, 'up_to');
      return withoutPending(
        webhook,
        wanted.filter(({ id }) => arrived.get(id) !== true),
        signal,
      );
    },
    placeholderData: keepPreviousData,
  });

const scopeOf = ({ organization_id, workspace_id }: Webhook) => ({
  organization_id,
  workspace_id: workspace_id ?? undefined,
});

/** Returns whether the service sends an event to a webhook: its types, no event about itself, and no loops. */
function isFor(webhook: Webhook, { type, subject, payload }: Event): boolean {
  if (!matches(webhook.event_types, type)) return false;
  if (type === 'webhook.delivery_failed' && String(payload.event_type).startsWith('webhook.')) return false;
  return !(type.startsWith('webhook.') && subject.id === webhook.id);
}

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

/**
 * Leaves out events whose latest delivery has no attempt yet. The replay skips them, and the list of deliveries does not
 * contain them, so each event is looked up.
 */
async function withoutPending(
  webhook: Webhook,
  events: readonly Event[],
  signal: AbortSignal,
): Promise<ReplayPreview> {
  if (events.length > lookedUpMax) return previewOf(events, 'up_to');
  const latest = await Promise.all(
    events.map(async ({ id }) => {
      const { data } = await posthorn.events.deliveries(id, { limit: 100 }, { signal }).first();
      return data.find(({ webhook_id }) => webhook_id === webhook.id);
    }),
  );
  return previewOf(
    events.filter((_, index) => latest[index]?.status !== 'pending'),
    'exact',
  );
}

async function estimated(
  webhook: Webhook,
  range: Range,
  onlyFailed: boolean,
  signal: AbortSignal,
): Promise<ReplayPreview> {
  const interval = intervalFor(Date.parse(range.to) - Date.parse(range.from));
  const stats = await posthorn.stats({ ...scopeOf(webhook), ...range, interval }, { signal });
  const { event_types: patterns } = webhook;
  const all = stats.totals.events ?? 0;
  const listed = stats.events_by_type ?? [];
  const takesAll = patterns.includes('*');
  const byType = listed.filter(({ type }) => matches(patterns, type));
  // The statistics list only the most frequent types.
  const isListed = takesAll || patterns.every((pattern) => listed.some(({ type }) => type === pattern));
  const unlisted = isListed ? 0 : Math.max(0, all - sumOf(listed));
  const count = takesAll ? all : sumOf(byType);
  if (!onlyFailed) return { count, unlisted, certainty: 'about', byType };
  const own = await posthorn.stats({ webhook_id: webhook.id, ...range, interval }, { signal });
  // Resent events are counted twice as delivered, so there can be more failures than the difference.
  const failed = await failedEvents(webhook, range, signal);
  const left = Math.max(failed, count + unlisted - own.totals.delivered);
  const leftUnlisted = Math.min(left, unlisted);
  return { count: left - leftUnlisted, unlisted: leftUnlisted, certainty: 'up_to_about', byType: [] };
}

/** Returns how many events have a failed delivery in the range, as far as a short search finds them. */
async function failedEvents(webhook: Webhook, range: Range, signal: AbortSignal): Promise<number> {
  const query = { webhook_id: webhook.id, ...range, status: 'failed', limit: 100 } as const;
  const { data } = await posthorn.deliveries.list(query, { signal }).search(failedMax, searchedPagesMax);
  return new Set(data.map(({ event_id }) => event_id)).size;
}

const sumOf = (counts: readonly TypeCount[]) => counts.reduce((sum, { count }) => sum + count, 0);

function previewOf(events: readonly Event[], certainty: ReplayPreview['certainty']): ReplayPreview {
  const groups = Map.groupBy(events, ({ type }) => type);
  const byType = [...groups].map(([type, of]) => ({ type, count: of.length }));
  return {
    count: events.length,
    unlisted: 0,
    certainty,
    byType: byType.sort((a, b) => b.count - a.count),
  };
}
