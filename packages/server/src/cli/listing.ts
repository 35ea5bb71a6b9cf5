import { parseInstantMs } from '../domain/instant.js';
import { UsageError } from './command.js';

type Options = Readonly<Record<string, string | undefined>>;

/** Options for every list with a time range and a limit. */
export const rangeOptions = {
  from: { value: 'time', description: 'Start of the time range, inclusive: a date or a time.' },
  to: { value: 'time', description: 'End of the time range, inclusive: a date or a time.' },
} as const;
export const limitOption = {
  value: 'n',
  description: 'Maximum number of results, 1 to 1000.',
  fallback: '25',
} as const;

export function limitOf(options: Options): number {
  const limit = Number(options.limit ?? limitOption.fallback);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1000) return limit;
  throw new UsageError(`--limit: '${options.limit}' is not valid. Expected a whole number from 1 to 1000.`);
}

/** Returns the requested time range, cut off at the retention limit. */
export function rangeOf(options: Options, oldestMs: number): { fromMs: number; toMs: number | undefined } {
  const [from, to] = [timeOf('from', 'start', options), timeOf('to', 'end', options)];
  if (from !== undefined && to !== undefined && from > to)
    throw new UsageError('--from must not be later than --to.');
  return { fromMs: Math.max(from ?? oldestMs, oldestMs), toMs: to };
}

function timeOf(name: 'from' | 'to', edge: 'start' | 'end', options: Options): number | undefined {
  const text = options[name];
  if (text === undefined) return undefined;
  const ms = parseInstantMs(text, edge);
  if (ms === undefined)
    throw new UsageError(
      `--${name}: '${text}' is not valid. Expected a date (2026-11-15) or a time with Z or an offset (2026-11-15T09:30:00Z).`,
    );
  return ms;
}
