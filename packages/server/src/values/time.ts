const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export const durationPattern = '^(\\d{1,9})(ms|s|m|h|d)$';
const duration = new RegExp(durationPattern);

/**
 * Parses a whole number with a unit (`250ms`, `5s`, `30m`, `2h`, `90d`) into milliseconds. Returns undefined if it is
 * not valid.
 */
export function parseDurationMs(text: string): number | undefined {
  const match = duration.exec(text);
  if (!match) return undefined;
  return Number(match[1]) * unitMs[match[2] as keyof typeof unitMs];
}

export const dayMs = unitMs.d;

const names = [
  ['day', unitMs.d],
  ['hour', unitMs.h],
  ['minute', unitMs.m],
  ['second', unitMs.s],
  ['millisecond', unitMs.ms],
] as const;

/** Returns a duration as text, in the largest unit that divides it: `90 minutes`, `1 day`. */
export function durationText(ms: number): string {
  const [name, unit] = names.find(([, each]) => ms >= each && ms % each === 0) ?? ['millisecond', 1];
  const count = ms / unit;
  return `${count} ${name}${count === 1 ? '' : 's'}`;
}

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
