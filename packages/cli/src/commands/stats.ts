import type { StatsBucket } from '@posthorn/client';
import { sets } from '../command.js';
import { apiCommand, printResult } from '../connection.js';
import { json, oneOf, rangeOptions } from '../listing.js';
import { onlyWebhook } from '../short-id.js';
import { shortTime } from '../short-time.js';
import type { Column } from '../table.js';

export const stats = apiCommand({
  name: 'stats',
  summary: 'Count events, deliveries and failures over time. Default: the last 24 hours.',
  options: {
    webhook: onlyWebhook,
    workspace: sets(
      'workspace_id',
      'WS-x',
      'Only events from this workspace, and deliveries to webhooks in it.',
    ),
    ...rangeOptions,
    interval: {
      field: 'interval',
      ...oneOf('minute', 'hour', 'day'),
      description: 'Length of time that each row covers. Default: depends on the length of the time range.',
    },
    json,
  },
  run: async (context) => {
    const { terminal, posthorn, fields } = context;
    const found = await posthorn.stats(fields);
    printResult(context, found, () => {
      const busy = found.buckets.filter((bucket) => !isQuiet(bucket));
      const total = { ...found.totals, at: 'total' };
      terminal.table(columns, terminal.isInteractive ? [...busy, total] : found.buckets);
      const types = found.events_by_type?.map(({ type, count }) => `${type} ${count}`) ?? [];
      if (terminal.isInteractive && types.length > 0) terminal.line(`\nEvents by type: ${types.join(', ')}`);
    });
  },
});

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
