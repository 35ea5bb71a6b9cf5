import type { Zone } from '../browser/preferences';

/** Returns round numbers from zero up to one that is at least the maximum: `0, 1,000, 2,000`. */
export function roundTicks(max: number, most: number): number[] {
  const size = 10 ** Math.floor(Math.log10(Math.max(1, max) / most));
  const steps = [1, 2, 3, 4, 5, 6, 8, 10].map((factor) => Math.max(1, factor * size));
  const step = steps.find((one) => one * most >= max) ?? steps.at(-1)!;
  return Array.from({ length: Math.max(1, Math.ceil(max / step)) + 1 }, (_, index) => index * step);
}

const minuteMs = 60_000;
const tickStepsMs = [5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 10080].map(
  (min) => min * minuteMs,
);
const ticksMost = 8;

/** Returns the steps that get a label: those that start at a whole hour or day, as seen in the zone. */
export function timeTicks(starts: readonly number[], stepMs: number, zone: Zone): number[] {
  const tickMs =
    tickStepsMs.find((ms) => ms >= stepMs && (starts.length * stepMs) / ms <= ticksMost) ?? Infinity;
  const aheadMs = (ms: number) => (zone === 'utc' ? 0 : -new Date(ms).getTimezoneOffset() * minuteMs);
  return starts.flatMap((ms, index) => ((ms + aheadMs(ms)) % tickMs < stepMs ? index : []));
}
