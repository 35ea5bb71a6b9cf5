import type { Stats } from '@posthorn/client';
import { intervalMs } from '../address/range';
import { formatDuration } from '../text/format';
import { t } from '../text/language';

const barsMax = 72;

export type StatsBars = ReturnType<typeof barsOf>;

/** Merges neighboring buckets until there are few enough bars to tell apart. */
export function barsOf(stats: Stats) {
  const size = Math.ceil(stats.buckets.length / barsMax);
  const groups = Array.from({ length: Math.ceil(stats.buckets.length / size) }, (_, group) =>
    stats.buckets.slice(group * size, group * size + size),
  );
  const sum = (read: (bucket: Stats['buckets'][number]) => number) =>
    groups.map((group) => group.reduce((total, bucket) => total + read(bucket), 0));
  const most = (read: (bucket: Stats['buckets'][number]) => number | null) =>
    groups.map((group) => Math.max(0, ...group.map((bucket) => read(bucket) ?? 0)));
  return {
    starts: groups.map((group) => Date.parse(group[0]!.at)),
    stepMs: intervalMs[stats.interval] * size,
    events: sum(({ events }) => events ?? 0),
    delivered: sum(({ delivered }) => delivered),
    // The last failed attempt of a delivery that the service gave up on is shown as given up.
    retried: sum(({ failed_attempts, given_up }) => Math.max(0, failed_attempts - given_up)),
    givenUp: sum(({ given_up }) => given_up),
    p50: most(({ p50_ms }) => p50_ms),
    p95: most(({ p95_ms }) => p95_ms),
  };
}

/** What a chart of deliveries shows of the bars: those that arrived, and in a strip below those that did not. */
export const deliverySeries = (bars: StatsBars) => ({
  series: [{ label: t`delivered`, className: 'plain', values: bars.delivered }],
  strip: [
    { label: t`retried`, className: 'warn', values: bars.retried },
    { label: t`given up`, className: 'bad', values: bars.givenUp },
  ],
});

/** `per minute`, `per 5 min`, `per hour`, `per 3 h`, `per day` */
export function stepName(stepMs: number): string {
  const single = { 60000: t`per minute`, 3600000: t`per hour`, 86400000: t`per day` }[stepMs];
  return single ?? t`per ${formatDuration(stepMs)}`;
}

/** Returns whether there were no attempts. A chart of them would have axes without a meaning. */
export function isQuiet({ totals }: Stats): boolean {
  return totals.delivered + totals.failed_attempts + totals.given_up === 0;
}

/** Returns the top of each part of each bar. Parts are at least `partMin` high, unless they are zero. */
export function topsOf(series: readonly { values: readonly number[] }[], partMin = 0): number[][] {
  const tops: number[][] = [];
  for (const { values } of series) {
    const below = tops.at(-1);
    tops.push(
      values.map((value, index) => (value > 0 ? Math.max(value, partMin) : 0) + (below?.[index] ?? 0)),
    );
  }
  return tops;
}
