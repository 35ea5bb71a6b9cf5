import type { Figures } from './figures.js';
import { fitted, type Line, type Piece } from './line.js';
import { compact, whole } from './wording.js';

interface Count {
  name: string;
  count: number;
}

/** The widths of a cell's name and number, without the gap to the next cell. */
interface Cell {
  name: number;
  number: number;
  wording: (count: number) => string;
}

const byTypeCell: Cell = { name: 28, number: 8, wording: whole };
const byDomainCell: Cell = { name: 12, number: 5, wording: compact };
const gap = 3;
/** If fewer rows are left for the stream, events are grouped by domain. */
const tailRowsWanted = 8;

/** Returns the event counts: by type if that leaves enough rows for the stream, or else by domain. */
export function eventLines(
  figures: Figures,
  { nowMs, eventTypes }: { nowMs: number; eventTypes: readonly string[] },
  { columns, rows }: { columns: number; rows: number },
): Line[] {
  const counts = eventTypes.map((name) => ({ name, count: figures.byType.get(name) ?? 0 }));
  const byType = grid(counts, byTypeCell, columns);
  const isByType = columns >= 2 * widthOf(byTypeCell) - gap && byType.length + 1 + tailRowsWanted <= rows;
  return isByType
    ? [heading('events by type', figures, nowMs, columns), ...byType]
    : [
        heading('events by domain', figures, nowMs, columns),
        ...grid(byDomain(counts), byDomainCell, columns),
      ];
}

function byDomain(counts: readonly Count[]): Count[] {
  const sums = new Map<string, number>();
  for (const { name, count } of counts) {
    const [domain = name] = name.split('.', 1);
    sums.set(domain, (sums.get(domain) ?? 0) + count);
  }
  return [...sums].map(([name, count]) => ({ name, count }));
}

const widthOf = ({ name, number }: Cell) => name + number + gap;

/** Lays counts out in as many columns as fit, top to bottom. */
function grid(counts: readonly Count[], cell: Cell, columns: number): Line[] {
  const across = Math.max(1, Math.floor((columns + gap) / widthOf(cell)));
  const rows = Math.ceil(counts.length / across);
  const between = gap + Math.max(0, Math.floor((columns - across * widthOf(cell)) / across));
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: across }, (_, column): Piece[] => {
      const at = counts[column * rows + row];
      if (!at) return [];
      const number = cell.wording(at.count).padStart(cell.number);
      return [
        fitted(['cyan', at.name], cell.name),
        at.count > 0 ? number : ['dim', number],
        ' '.repeat(between),
      ];
    }).flat(),
  );
}

const bars = '▁▂▃▄▅▆▇█';
/** Keeps a steady pace from looking like a full bar. */
const headroom = 1.5;

/** Returns the title and, at the right edge, a bar chart of the last seconds. */
function heading(title: string, figures: Figures, nowMs: number, columns: number): Line {
  const label = (seconds: number) => `events per second, last ${seconds} s  `;
  const room = (seconds: number) => columns - title.length - label(seconds).length - seconds;
  const seconds = [60, 30, 10].find((some) => room(some) >= gap);
  if (seconds === undefined) return [['underline', title.padEnd(columns)]];
  const history = figures.recording.history(nowMs, seconds);
  const most = Math.max(1, ...history) * headroom;
  const picture = history.map((count) => bars[Math.floor((count / most) * bars.length)] ?? '').join('');
  return [
    ['underline', title + ' '.repeat(room(seconds)) + label(seconds)],
    [['underline', 'cyan'], picture.padStart(seconds)],
  ];
}
