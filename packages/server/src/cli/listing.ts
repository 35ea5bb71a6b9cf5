import { parseInstantMs } from '../domain/instant.js';
import { UsageError } from './command.js';

type Options = Readonly<Record<string, string | undefined>>;

/** Options of every list that has a range of time and an end. */
export const rangeOptions = {
  from: { value: 'time', description: 'Not before this date or time.' },
  to: { value: 'time', description: 'Not after this date or time.' },
} as const;
export const limitOption = { value: 'n', description: 'How many, 1 to 1000.', fallback: '25' } as const;

export function limitOf(options: Options): number {
  const limit = Number(options.limit ?? limitOption.fallback);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1000) return limit;
  throw new UsageError('--limit: a whole number from 1 to 1000.');
}

/** The range that was asked for, as far as it can still be read. */
export function rangeOf(options: Options, oldestMs: number): { fromMs: number; toMs: number | undefined } {
  const [from, to] = [timeOf('from', 'start', options), timeOf('to', 'end', options)];
  if (from !== undefined && to !== undefined && from > to) throw new UsageError('--from is after --to.');
  return { fromMs: Math.max(from ?? oldestMs, oldestMs), toMs: to };
}

function timeOf(name: 'from' | 'to', edge: 'start' | 'end', options: Options): number | undefined {
  const text = options[name];
  if (text === undefined) return undefined;
  const ms = parseInstantMs(text, edge);
  if (ms === undefined)
    throw new UsageError(`--${name}: '${text}' is not a date (2026-11-15) or a time with Z or an offset.`);
  return ms;
}
