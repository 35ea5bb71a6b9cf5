import type { styleText } from 'node:util';
import type { DeliveryCounts, Figures, Latencies } from './figures.js';
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
}

/** Where the console is. */
export interface ConsoleAddress {
  url: string;
  /** Signs in with the token that it contains. */
  link: string;
  /** The file with that token, for output that cannot show the link. */
  tokenFile: string;
}

export type Paint = (style: Parameters<typeof styleText>[0], text: string) => string;

interface Row extends DeliveryCounts {
  name: string;
  description: string;
  latencies: Latencies;
}

/** The last two measure the time until the first arrival, not until the response. */
const columnsOfReceivers: readonly text.Column<Row>[] = [
  { title: 'receiver', width: 9, of: ({ name }) => name },
  { title: 'delivered', width: -11, of: ({ delivered }) => text.whole(delivered) },
  { title: 'pending', width: -9, of: ({ pending }) => text.whole(pending) },
  { title: 'failed', width: -8, of: ({ failed }) => text.whole(failed) },
  { title: 'p50', width: -8, of: ({ latencies }) => text.milliseconds(latencies.percentile(0.5)) },
  { title: 'p99', width: -8, of: ({ latencies }) => text.milliseconds(latencies.percentile(0.99)) },
  { title: '   behavior', width: 27, of: ({ description }) => `   ${description}` },
];
const typeWidth = 28;
const countWidth = 8;

/** Returns one frame: at most `rows` lines of `columns` characters. What does not fit is cut. */
export function dashboard(
  figures: Figures,
  situation: Situation,
  { columns, rows }: Size,
  paint: Paint,
): string[] {
  const { nowMs, phase, wantedPerSecond, organizationId, publicUrl } = situation;
  const { url, link, tokenFile } = situation.console;
  const { count, latest } = figures.trouble;
  const cut = (line: string) => line.slice(0, columns);
  const titled = (title: string) => paint('underline', cut(title.padEnd(columns)));
  const rate = `${text.perSecond(figures.perSecond(nowMs))}/s (target ${text.perSecond(wantedPerSecond)}/s)`;
  const keys = phase === 'running' ? 'q: stop, +/-: rate' : 'stopping …';
  const title = `Posthorn demo  ${text.clock(nowMs - figures.startedMs)}  ${text.whole(figures.recorded)} events, ${rate}`;
  const [heading, ...receivers] = text.table<Row>(columnsOfReceivers, [
    ...figures.receivers,
    { name: 'all', description: '', ...figures.total },
  ]);
  // A link that is cut off leads nowhere, so a narrow terminal gets the address without the token.
  const console = `Console: ${link}`.length <= columns ? link : `${url}  (token: ${tokenFile})`;
  const top = [
    paint('bold', cut(`${title}  ${keys}`)),
    cut(`${organizationId}  ${publicUrl}`),
    cut(`Console: ${console}`),
    titled(heading),
    ...receivers.map(cut),
  ];
  const troubles =
    count === 0 ? [] : [paint('red', cut(`${text.whole(count)} failed requests, the latest: ${latest}`))];
  const room = rows - top.length - troubles.length - 2;
  const types = typeLines(figures, columns, Math.floor(room / 2));
  const tail = figures.latest
    .slice(-Math.max(1, room - types.length))
    .map(({ created_at, type, subject, actor }) =>
      cut(`${created_at.slice(11, 23)}  ${type.padEnd(typeWidth)}  ${subject.id.padEnd(30)}  by ${actor.id}`),
    );
  const lines = [...top, titled('events by type'), ...types, titled('GET /v1/events/tail'), ...tail];
  return [...lines.slice(0, rows - troubles.length), ...troubles].slice(0, rows);
}

/** Returns the number of events of each type, as many as fit, the most frequent types first. */
function typeLines({ byType }: Figures, columns: number, rowsMax: number): string[] {
  const cells = [...byType]
    .sort(([, a], [, b]) => b - a)
    .map(([type, count]) => type.padEnd(typeWidth) + text.whole(count).padStart(countWidth));
  const across = Math.max(1, Math.floor((columns + 3) / (typeWidth + countWidth + 3)));
  const count = Math.max(0, Math.min(Math.ceil(cells.length / across), rowsMax));
  return Array.from({ length: count }, (_, row) =>
    cells
      .slice(row * across, (row + 1) * across)
      .join('   ')
      .slice(0, columns),
  );
}
