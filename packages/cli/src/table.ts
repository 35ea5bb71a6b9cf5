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

/** Shortens the columns that can be cut until the line fits. */
function cut(columns: readonly LaidOut[], width: number): readonly LaidOut[] {
  let excess = widthOf(columns.map((column) => ({ ...column, cuts: false }))) - width;
  return columns.map((column) => {
    if (!column.cuts || excess <= 0) return column;
    const kept = Math.max(Math.min(cutWidth, column.width), column.width - excess);
    excess -= column.width - kept;
    return { ...column, width: kept, cells: column.cells.map((cell) => shortened(cell, kept)) };
  });
}

function shortened(cell: string, width: number): string {
  return cell.length <= width ? cell : `${cell.slice(0, width - 1)}…`;
}

function isEmpty({ cells }: LaidOut): boolean {
  return cells.every((cell) => cell === nothing);
}

function widthOf(columns: readonly LaidOut[]): number {
  return columns.reduce(
    (sum, { width, cuts }) => sum + (cuts ? Math.min(width, cutWidth) : width),
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
