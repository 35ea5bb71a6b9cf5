import { costOf } from './model.js';
import { options } from './options.js';

const whole = (value) => Math.ceil(value).toLocaleString('en');
const short = (value) => (value >= 10 ? whole(value) : (Math.ceil(value * 10) / 10).toFixed(1));
const gb = (value) => (value >= 10_000 ? `${short(value / 1_000)} TB` : `${short(value)} GB`);

const columns = {
  'events/s': ({ load }) => load.eventsPerSecond.toLocaleString('en'),
  'fan-out': ({ load }) => String(load.fanOut),
  'deliveries/s': ({ needs }) => needs.deliveriesPerSecond.toLocaleString('en'),
  'server cores': ({ needs }) => short(needs.serverCores),
  'database cores': ({ needs }) => short(needs.databaseCores),
  nodes: ({ needs }) => whole(needs.nodes),
  cells: ({ needs }) => whole(needs.cells),
  'rows/s': ({ needs }) => whole(needs.rowsPerSecond),
  'WAL MB/s': ({ needs }) => short(needs.walMbPerSecond),
  'per day': ({ needs }) => gb(needs.gbPerDay),
  stored: ({ needs }) => gb(needs.gbStored),
  'cells limited by': ({ needs }) => (needs.cells > 1 ? needs.limitedBy : '-'),
};

/** Returns the cells of a table, header first. */
export function cellsOf(plans) {
  return [Object.keys(columns), ...plans.map((plan) => Object.values(columns).map((column) => column(plan)))];
}

/** Returns the table as text with aligned columns. */
export function tableOf(plans) {
  const rows = cellsOf(plans);
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows
    .map((row) => `  ${row.map((cell, column) => cell.padStart(widths[column])).join('  ')}`)
    .join('\n');
}

/** Returns the assumptions behind the figures, as text. */
export function assumptions(given, { measuredAt, machine, costs, idle, worst }) {
  const event = { fanOut: 1, payloadKb: given.payloadKb, perRequest: given.perRequest };
  const us = (figure) => Math.round(costOf(costs[figure], event));
  return [
    `Unit costs were measured on ${measuredAt.slice(0, 10)} on ${machine.cpu}, ${machine.cores} cores,`,
    `  ${machine.postgresql}, Node ${machine.node}, with everything on that machine. Measure yours: npm run capacity -- --measure`,
    `  The linear model is within ${Math.round(worst.serverUs * 100)}% (server CPU), ${Math.round(worst.databaseUs * 100)}% (database CPU),` +
      ` ${Math.round(worst.walBytes * 100)}% (WAL) and ${Math.round(worst.storedBytes * 100)}% (bytes) of every measurement.`,
    `An event with one delivery costs ${us('serverUs')} µs of server CPU and ${us('databaseUs')} µs of database CPU,`,
    `  ${us('walBytes').toLocaleString('en')} bytes of WAL and ${us('storedBytes').toLocaleString('en')} bytes of disk, indexes included.`,
    `Payloads are ${given.payloadKb} kB and do not compress; ${given.perRequest} events per request (--per-request).`,
    `Cores are assumed to be ${given.busy * 100}% busy (--busy): the rest is for peaks, retries, reads, vacuum and backups.`,
    `An idle node uses ${(idle.serverCores * 100).toFixed(1)}% of a core, its database ${(idle.databaseCores * 100).toFixed(1)}%.`,
    `A node has ${given.nodeCores} cores (--node-cores) and runs --processes auto; a cell has at least 2 nodes.`,
    `A cell's PostgreSQL has ${given.databaseCores} cores (--database-cores), ${given.diskGb.toLocaleString('en')} GB of disk (--database-disk)`,
    `  and writes ${given.walMbPerSecond} MB of WAL per second (--database-wal). CPU is assumed to grow linearly with the load.`,
    `Data is kept for ${given.retentionDays} days (--retention), in one copy. Standbys, backups and archived WAL need additional space.`,
    'Not measured: TLS to receivers, reads of the event stream, failed attempts, networks, and more cores than this machine has.',
  ];
}

export function help() {
  const lines = Object.entries(options).map(
    ([name, { meaning, kind, fallback }]) =>
      `  --${name.padEnd(16)}${meaning}: ${kind.accepts}${fallback ? `; default ${fallback}` : ''}`,
  );
  return [
    'npm run capacity [-- --events 5000 --fan-out 3 --payload 1kB]',
    '',
    'Computes cores, nodes, cells and disk from measured unit costs. If --events or --fan-out is omitted, computes several loads.',
    '',
    ...lines,
    '  --measure         measures the unit costs on this machine and saves them (about two minutes)',
  ].join('\n');
}
