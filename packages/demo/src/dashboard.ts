import { type DeliveryCounts, type Figures, isOwn, type Latencies, type StreamEvent } from './figures.js';
import type { Column, Line, Piece } from './text.js';
import * as text from './text.js';

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

/** Returns one frame: at most `rows` lines of `columns` characters. With less space it shows less detail. */
export function dashboard(
  figures: Figures,
  situation: Situation,
  { columns, rows }: Size,
  paint: text.Paint,
): string[] {
  const { count, latest } = figures.trouble;
  const troubles: Line[] =
    count === 0 ? [] : [[['red', `${text.whole(count)} failed requests, the latest: ${latest}`]]];
  const titled = (title: string): Line => [['underline', title.padEnd(columns)]];
  const top = [...titleLines(figures, situation, columns), ...receiverLines(figures, columns)];
  const room = rows - top.length - troubles.length - 2;
  const types = typeLines(figures, columns, Math.floor(room / 2));
  const lines = [
    ...top,
    titled('events by type'),
    ...types,
    titled('GET /v1/events/tail'),
    ...tailLines(figures.latest, Math.max(1, room - types.length), columns),
  ];
  return [...lines.slice(0, rows - troubles.length), ...troubles].map((line) =>
    text.printed(line, columns, paint),
  );
}

function titleLines(figures: Figures, situation: Situation, columns: number): Line[] {
  const { nowMs, phase, wantedPerSecond, organizationId, publicUrl, retryScheduleMs } = situation;
  const { url, link, tokenFile } = situation.console;
  const title: Line[] = [
    [['bold', 'Posthorn demo']],
    [`  ${text.clock(nowMs - figures.startedMs)}`],
    ['  ', ['bold', text.whole(figures.recorded)], ' events'],
    [', ', ['bold', text.perSecond(figures.perSecond(nowMs))], '/s'],
    [` (target ${text.perSecond(wantedPerSecond)}/s)`],
  ];
  const context: Line[] = [
    [organizationId],
    ['  ', ['cyan', publicUrl]],
    [['dim', `  retries after ${retryScheduleMs.map(text.wait).join(', ')}`]],
  ];
  // A link that is cut off leads nowhere, so a narrow terminal gets the address without the token.
  const hasRoom = 'Console: '.length + link.length <= columns;
  const address: Line[] = hasRoom
    ? [['Console: ', ['cyan', link]]]
    : [['Console: ', ['cyan', url]], [['dim', `  (token: ${tokenFile})`]]];
  return [
    text.spread(title, [phase === 'running' ? ['bold', 'q: stop'] : ['yellow', 'stopping …']], columns),
    text.spread(context, [['bold', '+/-: rate']], columns),
    text.spread(address, [], columns),
  ];
}

interface Row extends DeliveryCounts {
  name: Piece;
  behavior: string;
  latencies: Latencies;
}

const figureColumns: readonly Column<Row>[] = [
  { title: 'delivered', width: -11, of: ({ delivered }) => colored('green', delivered) },
  { title: 'pending', width: -10, of: ({ pending }) => colored('yellow', pending) },
  { title: 'failed', width: -8, of: ({ failed }) => colored('red', failed) },
  { title: 'p50', width: -8, of: ({ latencies }) => text.milliseconds(latencies.percentile(0.5)) },
  { title: 'p99', width: -8, of: ({ latencies }) => text.milliseconds(latencies.percentile(0.99)) },
];
const figuresWidth = 45;
const nameWidth = 11;
const behavior = { widthMin: 24, widthMax: 40 };

/** Returns the table of receivers. Its heading says what p50 and p99 measure: the first arrival, not the response. */
function receiverLines(figures: Figures, columns: number): Line[] {
  const left = columns - nameWidth - figuresWidth;
  const behaviorWidth = left < behavior.widthMin ? 0 : Math.min(behavior.widthMax, left);
  const [heading, ...rows] = text.table<Row>(
    [
      { title: 'receiver', width: nameWidth, of: ({ name }) => name },
      { title: 'behavior', width: behaviorWidth, of: (row) => ['dim', row.behavior] },
      ...figureColumns,
    ],
    [
      ...figures.receivers.map(({ description, signatures, ...row }) => ({
        ...row,
        behavior: signatures ? `${signatures.verified} signed, ${signatures.refused} forged` : description,
      })),
      { name: ['bold', 'all'], behavior: '', ...figures.total },
    ],
  );
  return [
    [['dim', 'time to arrival'.padStart(heading.length)]],
    [['underline', heading.padEnd(columns)]],
    ...rows,
  ];
}

function colored(color: 'green' | 'yellow' | 'red', count: number): Piece {
  return count > 0 ? [color, text.whole(count)] : '0';
}

const typeWidth = 28;
const countWidth = 8;
const gap = '   ';

/** Returns the number of events of each type in as many columns as fit, the most frequent types first. */
function typeLines({ byType }: Figures, columns: number, rowsMax: number): Line[] {
  const counts = [...byType].sort(([, a], [, b]) => b - a);
  const across = Math.max(1, Math.floor((columns + gap.length) / (typeWidth + countWidth + gap.length)));
  const rows = Math.max(0, Math.min(Math.ceil(counts.length / across), rowsMax));
  return Array.from({ length: rows }, (_, row) =>
    counts
      .filter((_count, index) => index < rows * across && index % rows === row)
      .flatMap(([type, count]): Piece[] => [
        text.fitted(['cyan', type], typeWidth),
        text.fitted(text.whole(count), -countWidth),
        gap,
      ]),
  );
}

/** The columns are as wide as the IDs of the demo. Other IDs may be longer. */
const tailColumns: readonly Omit<Column<StreamEvent>, 'title'>[] = [
  { width: 12, of: ({ created_at }) => ['dim', created_at.slice(11, 23)] },
  { width: 28, of: ({ type }) => [colorOf(type), type] },
  { width: 30, of: ({ subject }) => subject.id },
  { width: 33, of: ({ actor }) => `by ${actor.id}` },
  { width: 12, of: ({ workspace_id }) => ['dim', workspace_id ? `in ${workspace_id}` : ''] },
  { width: 30, of: ({ id }) => ['dim', id] },
];
const tailGap = '  ';

/** Returns the latest events, with as many columns as fit. */
function tailLines(latest: readonly StreamEvent[], rows: number, columns: number): Line[] {
  let width = -tailGap.length;
  const shown = tailColumns.filter((column) => {
    width += tailGap.length + column.width;
    return width <= columns;
  });
  return latest
    .slice(-rows)
    .map((event) =>
      shown.flatMap((column): Piece[] => [text.fitted(column.of(event), column.width), tailGap]),
    );
}

function colorOf(type: string): 'red' | 'yellow' | 'cyan' {
  if (type.endsWith('failed')) return 'red';
  return isOwn(type) ? 'yellow' : 'cyan';
}
