import type { Column } from './table.js';

/** Formats a time as its day in UTC, `2026-11-15`. */
export function day(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/** Formats a time as `2026-11-15 06:22:44`, in UTC. For columns whose title says so. */
export function shortTime(time: Date): string {
  return `${day(time)} ${time.toISOString().slice(11, 19)}`;
}

/** Formats a time as `2026-11-15 06:22:44 UTC`. */
export function utcTime(time: string): string {
  return `${shortTime(new Date(time))} UTC`;
}

/** Returns a column of times. In a terminal, the times are short, and the title says that they are in UTC. */
export function timeColumn<Row>(title: string, of: (row: Row) => Date | string): Column<Row> {
  const timeOf = (row: Row) => new Date(of(row));
  return {
    title: `${title} (UTC)`,
    of: (row) => timeOf(row).toISOString(),
    short: (row) => shortTime(timeOf(row)),
  };
}
