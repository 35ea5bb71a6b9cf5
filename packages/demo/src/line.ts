import type { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

/** A part of a line, with or without a style. Its width is that of its text. */
export type Piece = string | readonly [Style, string];
export type Line = readonly Piece[];

const textOf = (piece: Piece) => (typeof piece === 'string' ? piece : piece[1]);

function widthOf(line: Line): number {
  return line.reduce((sum, piece) => sum + textOf(piece).length, 0);
}

/**
 * Joins both sides with the right one at the right edge. Drops parts of the left side that do not fit instead of
 * truncating them.
 */
export function spread(left: readonly Line[], right: Line, columns: number): Line {
  const kept = [...left];
  while (kept.length > 1 && widthOf(kept.flat()) + 2 + widthOf(right) > columns) kept.pop();
  const parts = kept.flat();
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

export function printed(line: Line, columns: number, paint: Paint): string {
  return cut(line, columns)
    .map((piece) => (typeof piece === 'string' ? piece : paint(piece[0], piece[1])))
    .join('');
}

function cut(line: Line, columns: number): Line {
  let room = Math.max(0, columns);
  return line.flatMap((piece): Piece[] => {
    const text = textOf(piece).slice(0, room);
    room -= text.length;
    if (text === '') return [];
    return [typeof piece === 'string' ? text : [piece[0], text]];
  });
}
