/** A column of a table: its heading, its width (negative: aligned to the right), and its cells. */
export interface Column<Row> {
  title: string;
  width: number;
  of: (row: Row) => string;
}

/** Returns the heading and the rows of a table. Longer cells are cut. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): [string, ...string[]] {
  const fitted = (cell: string, width: number) =>
    width < 0 ? cell.slice(0, -width).padStart(-width) : cell.slice(0, width).padEnd(width);
  const heading = columns.map(({ title, width }) => fitted(title, width)).join('');
  return [heading, ...rows.map((row) => columns.map(({ of, width }) => fitted(of(row), width)).join(''))];
}

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** Formats a count as `12,345`. */
export function whole(count: number): string {
  return grouped.format(count);
}

/** Formats a duration as `8 ms` or `1.2 s`, or as `-` if there is none. */
export function milliseconds(ms: number | null): string {
  if (ms === null) return '-';
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** Formats a duration as `0:09`, `12:34` or `1:02:03`. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (part: number) => String(part).padStart(2, '0');
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** Formats a rate with useful precision: `20`, `19.7`, `0.25`. */
export function perSecond(rate: number): string {
  const digits = rate >= 100 ? 0 : rate >= 1 ? 1 : 2;
  return String(Number(rate.toFixed(digits)));
}
