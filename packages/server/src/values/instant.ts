import { dayMs } from './duration.js';

const dateOnly = /^(\d{4})-(\d{2})-(\d{2})$/;
const dateTime =
  /^\d{4}-\d{2}-\d{2}[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** The form of a date or a time, for the OpenAPI document. */
export const instantPattern = `${dateOnly.source}|${dateTime.source}`;

/**
 * Parses an RFC 3339 date or date-time into epoch milliseconds, or returns undefined. A date is a day in UTC: its
 * first millisecond if it starts a range, its last if it ends one. A time without `Z` or an offset is ambiguous, so it
 * is refused.
 */
export function parseInstantMs(text: string, edge: 'start' | 'end'): number | undefined {
  const day = dateOnly.exec(text);
  if (day) {
    const startMs = dayStartMs(text);
    if (startMs === undefined) return undefined;
    return edge === 'start' ? startMs : startMs + dayMs - 1;
  }
  if (!dateTime.test(text) || dayStartMs(text.slice(0, 10)) === undefined) return undefined;
  const ms = Date.parse(text.toUpperCase());
  if (Number.isNaN(ms)) return undefined;
  // Round to whole milliseconds: the start of a range is rounded up, and its end down.
  const isFiner = /\.\d{3}\d*[1-9]/.test(text);
  return edge === 'start' && isFiner ? ms + 1 : ms;
}

/** Returns when a date starts, or undefined if there is no such day: Date.parse turns 30 February into 2 March. */
function dayStartMs(date: string): number | undefined {
  const ms = Date.parse(`${date}T00:00:00.000Z`);
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== date) return undefined;
  return ms;
}

let last = { ms: 0, text: '1970-01-01T00:00:00.000Z' };

/**
 * Returns `at.toISOString()`. Caches the last text, because the call takes 1 µs and a batch of events shares one time.
 */
export function isoText(at: Date): string {
  const ms = at.getTime();
  if (ms !== last.ms) last = { ms, text: at.toISOString() };
  return last.text;
}
