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
