import { instantOf, type Options, UsageError } from 'posthorn';
import { parseInstantMs } from '../values/instant.js';

/** Returns the requested time range, cut off at the retention limit. */
export function rangeOf(options: Options, earliestMs: number): { fromMs: number; toMs: number | undefined } {
  const [from, to] = [timeOf('from', 'start', options), timeOf('to', 'end', options)];
  if (from !== undefined && to !== undefined && from > to)
    throw new UsageError('--from must not be later than --to.');
  return { fromMs: Math.max(from ?? earliestMs, earliestMs), toMs: to };
}

function timeOf(name: 'from' | 'to', edge: 'start' | 'end', options: Options): number | undefined {
  const text = options[name];
  if (text === undefined) return undefined;
  const ms = parseInstantMs(instantOf(text), edge);
  if (ms === undefined)
    throw new UsageError(
      `--${name}: '${text}' is not valid. Expected a date (2026-11-15), a time with Z or an offset (2026-11-15T09:30:00Z), ` +
        'or how long ago (1h).',
    );
  return ms;
}
