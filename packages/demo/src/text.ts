import type { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

/** A part of a line, with or without a style. Its width is that of its text. */
export type Piece = string | readonly [Style, string];
export type Line = readonly Piece[];

const textOf = (piece: Piece) => (typeof piece === 'string' ? piece : piece[1]);
const widthOf = (line: Line) => line.reduce((sum, piece) => sum + textOf(piece).length, 0);

/**
 * Joins both sides with the right one at the right edge. Drops parts of the left side that do not fit instead of
 * truncating them.
 */
export function spread(left: readonly Line[], right: Line, columns: number): Line {
  const kept = [...left];
  while (kept.length > 1 && widthOf(kept.flat()) + (right.length && 2 + widthOf(right)) > columns) kept.pop();
  const parts = kept.flat();
  if (right.length === 0) return parts;
  return [...parts, ' '.repeat(Math.max(2, columns - widthOf(parts) - widthOf(right))), ...right];
}

/** Pads a piece to exactly `width`, right-aligned if `width` is negative. Truncates longer text with `…`. */
export function fitted(piece: Piece, width: number): Piece {
  const room = Math.abs(width);
  const text = textOf(piece);
  const short = text.length > room ? `${text.slice(0, Math.max(0, room - 1))}…`.slice(0, room) : text;
  const full = width < 0 ? short.padStart(room) : short.padEnd(room);
  return typeof piece === 'string' ? full : [piece[0], full];
}

/** A column of a table: its heading, its width as for `fitted`, and its cells. */
export interface Column<Row> {
  title: string;
  width: number;
  of: (row: Row) => Piece;
}

/** Returns the heading and the rows of a table. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): [string, ...Line[]] {
  const heading = columns.map(({ title, width }) => fitted(title, width)).join('');
  return [heading, ...rows.map((row) => columns.map(({ of, width }) => fitted(of(row), width)))];
}

const unpainted: Paint = (_style, text) => text;

/** Returns the first `columns` characters of a line. */
export function printed(line: Line, columns: number, paint: Paint = unpainted): string {
  let room = Math.max(0, columns);
  return line
    .map((piece) => {
      const text = textOf(piece).slice(0, room);
      room -= text.length;
      return typeof piece === 'string' || text === '' ? text : paint(piece[0], text);
    })
    .join('');
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

/** Formats a duration like a setting: `500ms`, `20s`, `5m`, `2h`. */
export function wait(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`;
  if (ms % 60_000 === 0) return `${ms / 60_000}m`;
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}
