import { dayMs } from '../../src/values/time.js';

/** Returns the first millisecond of the week, which begins on Monday, UTC. */
export function weekOf(ms: number): number {
  const midnight = ms - (ms % dayMs);
  // The epoch was a Thursday.
  return midnight - ((midnight / dayMs + 3) % 7) * dayMs;
}

/** Returns what the name of the week's partition ends with. */
export const weekName = (ms: number) => new Date(weekOf(ms)).toISOString().slice(0, 10).replaceAll('-', '');
