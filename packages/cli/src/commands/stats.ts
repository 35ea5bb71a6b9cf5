import type { Stats, StatsBucket } from '@posthorn/client';
import type { Command } from '../command.js';
import { connect, connectionOptions } from '../connection.js';
import { choiceOf, json, rangeOf, rangeOptions } from '../listing.js';
import { onlyWebhook, webhookId } from '../short-id.js';
import { shortTime } from '../short-time.js';
import type { Column } from '../table.js';

export const stats: Command = {
  name: 'stats',
  summary: 'Count events, deliveries and failures over time. Default: the last 24 hours.',
  options: {
    webhook: onlyWebhook,
    workspace: {
      value: 'WS-x',
      description: 'Only events from this workspace, and deliveries to webhooks in it.',
    },
    ...rangeOptions,
    interval: {
      value: 'minute|hour|day',
      description: 'Length of time that each row covers. Default: depends on the length of the time range.',
    },
    json,
    ...connectionOptions,
  },
  run: async (context) => {
    const { options, terminal } = context;
    const interval = choiceOf(options, 'interval', ['minute', 'hour', 'day']);
    const connection = await connect(context);
    const found = await connection.posthorn.stats({
      webhook_id: options.webhook && (await webhookId(connection, options.webhook)),
      workspace_id: options.workspace,
      ...rangeOf(options),
      interval,
    });
    if (options.json) {
      terminal.line(connection.texts.of(found));
      return;
    }
    const busy = found.buckets.filter((bucket) => !isQuiet(bucket));
    const total = { ...found.totals, at: 'total' };
    terminal.table(columns, terminal.isInteractive ? [...busy, total] : found.buckets);
    if (terminal.isInteractive) showTypes(terminal.line.bind(terminal), found);
  },
};

const count = (value: number | null) => (value === null ? '-' : String(value));

const columns: readonly Column<StatsBucket>[] = [
  {
    title: 'time (UTC)',
    of: ({ at }) => at,
    short: ({ at }) => (at === 'total' ? at : shortTime(new Date(at)).slice(0, 16)),
  },
  { title: 'events', of: ({ events }) => count(events) },
  { title: 'delivered', of: ({ delivered }) => count(delivered) },
  { title: 'failed attempts', of: ({ failed_attempts }) => count(failed_attempts) },
  { title: 'given up', of: ({ given_up }) => count(given_up) },
  { title: 'p50 ms', of: ({ p50_ms }) => count(p50_ms) },
  { title: 'p95 ms', of: ({ p95_ms }) => count(p95_ms) },
];

function isQuiet({ events, delivered, failed_attempts, given_up }: StatsBucket): boolean {
  return (events ?? 0) + delivered + failed_attempts + given_up === 0;
}

function showTypes(line: (text?: string) => void, { events_by_type: types }: Stats): void {
  if (!types || types.length === 0) return;
  line();
  line(`Events by type: ${types.map(({ type, count }) => `${type} ${count}`).join(', ')}`);
}
