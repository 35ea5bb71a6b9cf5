import { stripVTControlCharacters } from 'node:util';

/** Describes one column of a list, for terminals and for pipes. */
export interface Column<Row> {
  title: string;
  of: (row: Row) => string;
  /** The shorter form for terminals. The ID of a row is never shortened, because people copy it. */
  short?: (row: Row) => string;
  /** The order in which columns are hidden on a narrow terminal: highest first, 0 never. */
  spare?: number;
  /** Whether a long cell may be cut off on a narrow terminal. */
  cuts?: boolean;
}

export interface Table {
  heading: string;
  lines: readonly string[];
  /** The titles of columns that have values but do not fit. */
  leftOut: readonly string[];
}

interface LaidOut {
  title: string;
  spare: number;
  cuts: boolean;
  cells: readonly string[];
  width: number;
}

const gap = 2;
/** A column that can be cut keeps at least this many characters. */
const cutWidth = 24;
/** If the width of the terminal is unknown, a column that can be cut keeps at most this many. */
const cutWidthMax = 60;
const nothing = '-';

/** Lays out a list in `width` characters, or in as few as possible if that is too narrow. */
export function layOutTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): Table {
  const laidOut = columns.map(({ title, of, short = of, spare = 0, cuts = false }): LaidOut => {
    const cells = rows.map(short);
    const width = cells.reduce((widest, cell) => Math.max(widest, printedLength(cell)), title.length);
    return { title, spare, cuts, cells, width };
  });
  const shown = cut(choose(laidOut, width), width);
  return {
    heading: line(shown, ({ title }) => title),
    lines: rows.map((_, index) => line(shown, ({ cells }) => cells[index] ?? '')),
    leftOut: laidOut
      .filter((column) => !shown.some(({ title }) => title === column.title) && !isEmpty(column))
      .map(({ title }) => title),
  };
}

/** Returns the required columns and as many of the others as fit, in the order of `spare`. */
function choose(columns: readonly LaidOut[], width: number): readonly LaidOut[] {
  const wish = (column: LaidOut) => (isEmpty(column) ? Number.POSITIVE_INFINITY : column.spare);
  const chosen = new Set(columns.filter(({ spare }) => spare === 0));
  const others = columns.filter(({ spare }) => spare > 0);
  for (const column of others.sort((one, other) => wish(one) - wish(other))) {
    if (widthOf([...chosen, column]) <= width) chosen.add(column);
  }
  return columns.filter((column) => chosen.has(column));
}

/** Shortens the longest of the columns that can be cut until the line fits, so that the others stay complete. */
function cut(columns: readonly LaidOut[], width: number): readonly LaidOut[] {
  let most = Number.isFinite(width)
    ? Math.max(cutWidth, ...columns.map((column) => column.width))
    : cutWidthMax;
  while (most > cutWidth && widthOf(columns, most) > width) most -= 1;
  return columns.map((column) => {
    if (!column.cuts || column.width <= most) return column;
    return { ...column, width: most, cells: column.cells.map((cell) => shortened(cell, most)) };
  });
}

function shortened(cell: string, width: number): string {
  return cell.length <= width ? cell : `${cell.slice(0, width - 1)}…`;
}

function isEmpty({ cells }: LaidOut): boolean {
  return cells.every((cell) => cell === nothing);
}

/** Returns the width of a line whose columns are cut to `most` characters if they can be. */
function widthOf(columns: readonly LaidOut[], most = cutWidth): number {
  return columns.reduce(
    (sum, { width, cuts }) => sum + (cuts ? Math.min(width, most) : width),
    (columns.length - 1) * gap,
  );
}

function line(columns: readonly LaidOut[], textOf: (column: LaidOut) => string): string {
  return columns
    .map((column) => textOf(column) + ' '.repeat(column.width - printedLength(textOf(column))))
    .join(' '.repeat(gap))
    .trimEnd();
}

function printedLength(text: string): number {
  return stripVTControlCharacters(text).length;
}
