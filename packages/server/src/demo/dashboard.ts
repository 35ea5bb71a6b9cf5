import type { styleText } from 'node:util';
import { createCatalogue } from '../domain/catalogue.js';
import { type Figures, isOwn, type ReceiverFigures, type StreamEvent } from './figures.js';
import { clock, compact, milliseconds, perSecond, wait, whole } from './wording.js';

type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

/** A piece of a line, painted or plain; its width is that of its text. */
type Piece = string | readonly [Style, string];
type Line = readonly Piece[];

export interface Size {
  columns: number;
  rows: number;
}

/** What is shown beside the figures. */
export interface Situation {
  nowMs: number;
  phase: 'running' | 'stopping';
  wantedPerSecond: number;
  publicUrl: string;
  organizationId: string;
  /** The waits before attempts 2 to 5. */
  retryScheduleMs: readonly number[];
}

const tailRowsMin = 3;
const wideFrom = 112;
const bars = ' ▁▂▃▄▅▆▇█';

/** One frame: at most `rows` lines of at most `columns` characters. The less room, the shorter the tail. */
export function dashboard(figures: Figures, situation: Situation, size: Size, paint: Paint): string[] {
  const { columns, rows } = size;
  const isWide = columns >= wideFrom;
  const above: Line[] = [
    titleLine(figures, situation, columns),
    contextLine(figures, situation, columns),
    ...receiverLines(figures, columns),
    eventsHeading(figures, situation, columns),
    ...(isWide ? typeGrid(figures, columns) : domainLines(figures)),
  ];
  const troubles = troubleLines(figures);
  const tailRows = Math.max(tailRowsMin, rows - above.length - 1 - troubles.length);
  const lines = [...above, tailHeading(columns), ...tailLines(figures.latest, tailRows, isWide)];
  return [...lines.slice(0, rows - troubles.length), ...troubles].map((line) =>
    printed(line, columns, paint),
  );
}

function titleLine(figures: Figures, { nowMs, phase, wantedPerSecond }: Situation, columns: number): Line {
  const left: Piece[] = [
    ['bold', 'Posthorn demo'],
    `  ${clock(nowMs - figures.startedMs)}  `,
    ['bold', whole(figures.recorded)],
    ' events, ',
    ['bold', perSecond(figures.recording.perSecond(nowMs))],
    ` a second of ${perSecond(wantedPerSecond)} wanted`,
  ];
  const right: Piece = phase === 'running' ? ['bold', 'q ends it'] : ['yellow', 'ending …'];
  return spread(left, [right], columns);
}

function contextLine(figures: Figures, situation: Situation, columns: number): Line {
  const { retryScheduleMs, publicUrl, organizationId } = situation;
  const left: Piece[] = [
    ['bold', whole(figures.retriesWaiting)],
    ' retries wait ',
    ['dim', `(after ${retryScheduleMs.map(wait).join(', ')})`],
  ];
  const place: Piece[] = [['cyan', publicUrl]];
  if (columns >= 100) place.push(['dim', `  ${organizationId}  +/- change the pace`]);
  return spread(left, place, columns);
}

const receiverColumns = [
  { title: 'delivered', width: 11 },
  { title: 'retrying', width: 10 },
  { title: 'failed', width: 9 },
  { title: 'p50', width: 9 },
  { title: 'p99', width: 9 },
] as const;
const nameWidth = 11;

function receiverLines(figures: Figures, columns: number): Line[] {
  const figuresWidth = receiverColumns.reduce((sum, { width }) => sum + width, 0);
  const mannerWidth = Math.max(0, Math.min(34, columns - nameWidth - figuresWidth));
  const titles = receiverColumns.map(({ title, width }) => title.padStart(width)).join('');
  const heading: Line = [['underline', `${'receiver'.padEnd(nameWidth + mannerWidth)}${titles}`]];
  const row = (name: Piece, manner: string, cells: readonly Piece[]): Line => [
    padded(name, nameWidth),
    ['dim', manner.slice(0, mannerWidth).padEnd(mannerWidth)],
    ...cells.map((cell, index) => padded(cell, -(receiverColumns[index]?.width ?? 0))),
  ];
  const { total } = figures;
  return [
    heading,
    ...figures.receivers.map((receiver) => row(receiver.name, mannerOf(receiver), cellsOf(receiver))),
    row(['bold', 'all'], '', cellsOf(total)),
  ];
}

function mannerOf({ manner, signatures }: ReceiverFigures): string {
  return signatures ? `${compact(signatures.verified)} ok, ${compact(signatures.refused)} refused` : manner;
}

function cellsOf(figures: Pick<ReceiverFigures, 'delivered' | 'retrying' | 'failed' | 'latencies'>): Piece[] {
  const { delivered, retrying, failed, latencies } = figures;
  return [
    ['green', whole(delivered)],
    retrying > 0 ? ['yellow', whole(retrying)] : '0',
    failed > 0 ? ['red', whole(failed)] : '0',
    milliseconds(latencies.percentile(0.5)),
    milliseconds(latencies.percentile(0.99)),
  ];
}

function eventsHeading(figures: Figures, { nowMs }: Situation, columns: number): Line {
  const title = 'events by type  ';
  const history = figures.recording.history(nowMs, Math.min(60, columns - title.length));
  const most = Math.max(1, ...history);
  const picture = history.map((count) => bars[Math.ceil((count / most) * (bars.length - 1))]).join('');
  const rest = ' '.repeat(Math.max(0, columns - title.length - picture.length));
  return [
    ['underline', title],
    [['underline', 'cyan'], picture],
    ['underline', rest],
  ];
}

const types = createCatalogue().list();
const domains = createCatalogue().domains();

/** One line a domain: `invoice  finalized 12  paid 9 …`, in columns as far as the names let us. */
function domainLines({ byType }: Figures): Line[] {
  return domains.map((domain) => {
    const actions = types.filter(({ type }) => type.startsWith(`${domain}.`));
    return [
      ['cyan', domain.padEnd(13)],
      ...actions.flatMap(({ type }): Piece[] => {
        const action = type.slice(domain.length + 1).replace('run.', '');
        const count = byType.get(type) ?? 0;
        const text = compact(count);
        const gap = Math.max(2, 14 - action.length - text.length);
        return [['dim', `${action} `], count > 0 ? text : ['dim', text], ' '.repeat(gap)];
      }),
    ];
  });
}

/** The types in full, in as many columns as there is room for. */
function typeGrid({ byType }: Figures, columns: number): Line[] {
  const across = Math.floor(columns / 37);
  const cell = Math.floor(columns / across);
  const rows = Math.ceil(types.length / across);
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: across }, (_, column): Piece[] => {
      const type = types[column * rows + row]?.type;
      if (type === undefined) return [];
      const count = byType.get(type) ?? 0;
      const text = whole(count).padStart(7);
      return [
        ['cyan', type.padEnd(28)],
        count > 0 ? text : ['dim', text],
        ' '.repeat(Math.max(0, cell - 35)),
      ];
    }).flat(),
  );
}

function tailHeading(columns: number): Line {
  return [['underline', 'GET /v1/events/tail'.padEnd(columns)]];
}

function tailLines(latest: readonly StreamEvent[], rows: number, isWide: boolean): Line[] {
  return latest.slice(-rows).map(({ created_at, type, subject, actor, workspace_id, id }) => {
    const line: Piece[] = [
      ['dim', `${created_at.slice(11, 23)}  `],
      [isOwn(type) ? 'yellow' : 'cyan', type.padEnd(29)],
      subject.id,
    ];
    if (isWide) line.push(` by ${actor.id}`, ['dim', `${workspace_id ? ` in ${workspace_id}` : ''}  ${id}`]);
    return line;
  });
}

function troubleLines({ trouble }: Figures): Line[] {
  if (trouble.count === 0) return [];
  return [[['red', `${whole(trouble.count)} went wrong, the latest: ${trouble.latest}`]]];
}

const textOf = (piece: Piece) => (typeof piece === 'string' ? piece : piece[1]);
const widthOf = (line: Line) => line.reduce((sum, piece) => sum + textOf(piece).length, 0);

/** Puts the right side at the right edge where there is room; where there is not, the left is cut. */
function spread(left: Line, right: Line, columns: number): Line {
  const room = columns - widthOf(right) - 1;
  const kept = cut(left, room);
  return [...kept, ' '.repeat(Math.max(1, columns - widthOf(kept) - widthOf(right))), ...right];
}

function padded(piece: Piece, width: number): Piece {
  const text = textOf(piece);
  const full = width < 0 ? text.padStart(-width) : text.padEnd(width);
  return typeof piece === 'string' ? full : [piece[0], full];
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

function printed(line: Line, columns: number, paint: Paint): string {
  return cut(line, columns)
    .map((piece) => (typeof piece === 'string' ? piece : paint(piece[0], piece[1])))
    .join('');
}
