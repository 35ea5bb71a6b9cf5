import { eventLines } from './event-grid.js';
import { type Figures, isOwn, type ReceiverFigures, type StreamEvent } from './figures.js';
import { fitted, type Line, type Paint, type Piece, printed, spread } from './line.js';
import { clock, compact, milliseconds, perSecond, wait, whole } from './wording.js';

export interface Size {
  columns: number;
  rows: number;
}

/** What the dashboard shows in addition to the figures. */
export interface Situation {
  nowMs: number;
  phase: 'running' | 'stopping';
  wantedPerSecond: number;
  publicUrl: string;
  console: ConsoleAddress;
  organizationId: string;
  /** All event types of the service, in its order. */
  eventTypes: readonly string[];
  /** The waits before attempts 2, 3, … */
  retryScheduleMs: readonly number[];
}

/** Where the console is. */
export interface ConsoleAddress {
  url: string;
  /** Signs in with the token that it contains. */
  link: string;
  /** The file with that token, for output that cannot show the link. */
  tokenFile: string;
}

const tailRowsMin = 3;

/** Returns one frame: at most `rows` lines of `columns` characters. With less space it shows less detail. */
export function dashboard(figures: Figures, situation: Situation, size: Size, paint: Paint): string[] {
  const { columns, rows } = size;
  const troubles = troubleLines(figures);
  const top = [
    titleLine(figures, situation, columns),
    contextLine(situation, columns),
    consoleLine(situation, columns),
    ...receiverLines(figures, columns),
  ];
  const tailTitle: Line = [['underline', 'GET /v1/events/tail'.padEnd(columns)]];
  const room = rows - top.length - troubles.length - 1;
  const events = eventLines(figures, situation, { columns, rows: room });
  const tailRows = Math.max(tailRowsMin, room - events.length);
  const lines = [...top, ...events, tailTitle, ...tailLines(figures.latest, tailRows, columns)];
  return [...lines.slice(0, rows - troubles.length), ...troubles].map((line) =>
    printed(line, columns, paint),
  );
}

function titleLine(figures: Figures, { nowMs, phase, wantedPerSecond }: Situation, columns: number): Line {
  const left: Line[] = [
    [['bold', 'Posthorn demo']],
    [`  ${clock(nowMs - figures.startedMs)}`],
    ['  ', ['bold', whole(figures.recorded)], ' events'],
    [', ', ['bold', perSecond(figures.recording.perSecond(nowMs))], '/s'],
    [` (target ${perSecond(wantedPerSecond)}/s)`],
  ];
  const right: Piece = phase === 'running' ? ['bold', 'q: stop'] : ['yellow', 'stopping …'];
  return spread(left, [right], columns);
}

function contextLine({ retryScheduleMs, publicUrl, organizationId }: Situation, columns: number): Line {
  const left: Line[] = [
    [organizationId],
    ['  ', ['cyan', publicUrl]],
    [['dim', `  retries after ${retryScheduleMs.map(wait).join(', ')}`]],
  ];
  return spread(left, [['bold', '+/-: rate']], columns);
}

/**
 * Returns the link to the console. A link that is cut off leads nowhere, so a narrow terminal gets the address without
 * the token.
 */
function consoleLine({ console: { url, link, tokenFile } }: Situation, columns: number): Line {
  const title = 'Console: ';
  if (title.length + link.length <= columns) return [title, ['cyan', link]];
  const place = `  (token: ${tokenFile})`;
  const fits = title.length + url.length + place.length <= columns;
  return [title, ['cyan', url], ...(fits ? ([['dim', place]] as const) : [])];
}

const figureColumns = [
  { title: 'delivered', width: 11 },
  { title: 'pending', width: 10 },
  { title: 'failed', width: 8 },
  { title: 'p50', width: 8 },
  { title: 'p99', width: 8 },
] as const;
const nameWidth = 11;
const behaviorColumn = { title: 'behavior', widthMin: 24, widthMax: 40 };

/** Returns the table of receivers. Its heading says what p50 and p99 measure: the first arrival, not the response. */
function receiverLines(figures: Figures, columns: number): Line[] {
  const figuresWidth = figureColumns.reduce((sum, { width }) => sum + width, 0);
  const left = columns - nameWidth - figuresWidth;
  const behaviorWidth = left < behaviorColumn.widthMin ? 0 : Math.min(behaviorColumn.widthMax, left);
  const width = nameWidth + behaviorWidth + figuresWidth;
  const row = (name: Piece, behavior: Piece, cells: readonly Piece[]): Line => [
    fitted(name, nameWidth),
    fitted(behavior, behaviorWidth),
    ...cells.map((cell, index) => fitted(cell, -(figureColumns[index]?.width ?? 0))),
  ];
  const titles = row(
    'receiver',
    behaviorColumn.title,
    figureColumns.map(({ title }) => title),
  );
  return [
    [['dim', 'time to arrival'.padStart(width)]],
    [['underline', titles.join('').padEnd(columns)]],
    ...figures.receivers.map((receiver) =>
      row(receiver.name, ['dim', behaviorOf(receiver)], cellsOf(receiver)),
    ),
    row(['bold', 'all'], '', cellsOf(figures.total)),
  ];
}

function behaviorOf({ description, signatures }: ReceiverFigures): string {
  return signatures
    ? `${compact(signatures.verified)} signed, ${compact(signatures.refused)} forged`
    : description;
}

function cellsOf(figures: Pick<ReceiverFigures, 'delivered' | 'pending' | 'failed' | 'latencies'>): Piece[] {
  const { delivered, pending, failed, latencies } = figures;
  return [
    delivered > 0 ? ['green', whole(delivered)] : '0',
    pending > 0 ? ['yellow', whole(pending)] : '0',
    failed > 0 ? ['red', whole(failed)] : '0',
    milliseconds(latencies.percentile(0.5)),
    milliseconds(latencies.percentile(0.99)),
  ];
}

interface TailColumn {
  width: number;
  /** Columns with the lowest rank are kept if there is not enough space for all. */
  rank: number;
  of: (event: StreamEvent) => Piece;
}

/** The columns are as wide as the IDs of the demo. Other IDs may be longer. */
const tailColumns: readonly TailColumn[] = [
  { width: 12, rank: 3, of: ({ created_at }) => ['dim', created_at.slice(11, 23)] },
  { width: 28, rank: 1, of: ({ type }) => [colorOf(type), type] },
  { width: 30, rank: 2, of: ({ subject }) => subject.id },
  { width: 33, rank: 4, of: ({ actor }) => `by ${actor.id}` },
  {
    width: 12,
    rank: 5,
    of: ({ workspace_id }) => ['dim', workspace_id ? `in ${workspace_id}` : ''],
  },
  { width: 30, rank: 6, of: ({ id }) => ['dim', id] },
];
const tailGap = '  ';

function tailLines(latest: readonly StreamEvent[], rows: number, columns: number): Line[] {
  const shown = tailColumns.filter(({ rank }) => {
    const before = tailColumns.filter((column) => column.rank <= rank);
    const width = before.reduce((sum, column) => sum + column.width + tailGap.length, -tailGap.length);
    return rank === 1 || width <= columns;
  });
  return latest
    .slice(-rows)
    .map((event) =>
      shown.flatMap(({ width, of }, index): Piece[] => [
        index === 0 ? '' : tailGap,
        fitted(of(event), width),
      ]),
    );
}

function colorOf(type: string): 'red' | 'yellow' | 'cyan' {
  if (type.endsWith('failed')) return 'red';
  return isOwn(type) ? 'yellow' : 'cyan';
}

function troubleLines({ trouble }: Figures): Line[] {
  if (trouble.count === 0) return [];
  return [[['red', `${whole(trouble.count)} failed requests, the latest: ${trouble.latest}`]]];
}
