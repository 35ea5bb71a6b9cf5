/** Formats a time as `2026-11-15`. */
export function day(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/** Formats a time as `2026-11-15 06:22:44`, in UTC. */
export function shortTime(time: Date): string {
  return `${day(time)} ${time.toISOString().slice(11, 19)}`;
}
