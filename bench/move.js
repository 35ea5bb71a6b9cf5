import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Producer } from '../packages/client/dist/index.js';
import { cpuMsOfProcess } from './cpu.js';
import { startDatabase } from './database.js';
import { createWebhook, listAll } from './fleet.js';
import { makeEvent, organization } from './load.js';
import { entry, platformToken, startNode } from './node.js';
import { progress } from './progress.js';
import { startReceiver } from './receivers.js';

const historyDays = 14;
const perSecond = 50;
const recordMs = 2_000;

/**
 * Measures how fast an organization moves to another cell while a producer records events for it, and how long the
 * organization is stopped.
 */
export async function benchMove(print, { long }) {
  const count = long ? 500_000 : 50_000;
  const receiver = await startReceiver();
  const cells = {};
  try {
    for (const name of ['east', 'west']) cells[name] = await startCell(name);
    const { east, west } = cells;
    const token = await east.node.createToken(organization);
    const webhook = await createWebhook(east.node.api, token, `${receiver.url}/kept`);
    progress(`writing ${count.toLocaleString('en')} events and their deliveries`);
    await writeHistory(east.database.client, webhook.id, count);

    const recording = startRecording(cells);
    await wait(recordMs);
    const before = await cpuOf(cells);
    const moved = await move(east, west);
    const after = await cpuOf(cells);
    await wait(recordMs);
    const acknowledged = await recording.stop();
    const listed = await listAll(west.node.api, token);
    const arrived = await arrivals(receiver, acknowledged);

    const { rows, copy_ms, stopped_ms } = moved.result;
    const each = (ms) => (ms * 1000) / rows;
    const figures = {
      rows,
      rowsPerSecond: (rows * 1000) / copy_ms,
      stoppedMs: stopped_ms,
      commandUs: each(moved.cpuMs),
      oldCellUs: each(after.east - before.east),
      newCellUs: each(after.west - before.west),
      ledger: {
        acknowledged: acknowledged.length,
        delivered: acknowledged.filter((id) => arrived.has(id)).length,
        listed: acknowledged.filter((id) => listed.has(id)).length,
      },
      history: { written: count, listed: listed.size - acknowledged.length },
    };
    report(print, figures);
    return figures;
  } finally {
    for (const { node, database } of Object.values(cells)) {
      await node.stop();
      await database.stop();
    }
    receiver.stop();
  }
}

async function startCell(name) {
  progress(`starting the cell ${name}`);
  const database = await startDatabase();
  return { database, node: await startNode(database.url, [], { POSTHORN_CELL: name }) };
}

/** Returns the CPU time of each cell's database. */
const cpuOf = async ({ east, west }) => ({
  east: await east.database.cpuMs(),
  west: await west.database.cpuMs(),
});

/** Writes events of the past days with one delivery each, as they are after all have been delivered. */
async function writeHistory(database, webhookId, count) {
  await database.query(
    `select posthorn.ensure_partition(parent, (now() - make_interval(days => day))::date)
       from unnest(array['events', 'deliveries']) parent, generate_series(0, $1::int) day`,
    [historyDays],
  );
  await database.query(
    `with recorded as (
       insert into posthorn.events
              (organization_id, created_at, id, type, workspace_id, actor_type, actor_id, subject_type, subject_id,
               payload, bytes)
       select $1, at, posthorn.new_id('EVT', at), 'agent.run.completed', 'WS-' || n % 50, 'agent', 'AGT-' || n % 97,
              'run', 'RUN-' || n, payload::json, octet_length(payload)
         from generate_series(1, $3::int) n
        cross join lateral (
              select (now() - make_interval(hours => 1)
                      - make_interval(days => $4::int) * (1 - n::float8 / $3))::timestamptz(3),
                     format('{"service_line_id":"LIN-1","duration_ms":%s,"tokens_used":15377,"outcome":"success"}', n))
              as of_event (at, payload)
       returning id, type, created_at)
     insert into posthorn.deliveries
            (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, status, attempts,
             due_at, attempted_at, http_status, duration_ms, response)
     select $1, $2, created_at, posthorn.new_id('WDLV', created_at), id, type, created_at, 'success', 1,
            created_at, created_at, 200, 12, 'ok'
       from recorded`,
    [organization, webhookId, count, historyDays],
  );
  await database.query('vacuum (analyze) posthorn.events, posthorn.deliveries');
}

/** Records at a modest rate, through a producer that follows the organization. */
function startRecording({ east, west }) {
  const cells = { east: east.node.platformUrl, west: west.node.platformUrl };
  const producer = new Producer({ url: cells.east, token: platformToken, cells });
  const sent = [];
  const timer = setInterval(() => sent.push(producer.send(makeEvent())), 1000 / perSecond);
  return {
    /** Returns the IDs of the events that were acknowledged. */
    async stop() {
      clearInterval(timer);
      const recorded = await Promise.all(sent);
      await producer.close();
      return recorded.map(({ id }) => id);
    },
  };
}

/** Runs the command, and returns what it printed and what CPU it took. */
async function move(east, west) {
  progress('moving');
  const args = [entry, 'organization', 'move', organization, '--to', west.database.url, '--json'];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, DATABASE_URL: east.database.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.on('data', (chunk) => {
    printed += chunk;
  });
  let cpuMs = 0;
  const timer = setInterval(async () => {
    cpuMs = await cpuMsOfProcess(child.pid).catch(() => cpuMs);
  }, 100);
  const [code] = await once(child, 'close');
  clearInterval(timer);
  if (code !== 0) throw new Error(`posthorn organization move ended with exit code ${code}`);
  return { result: JSON.parse(printed), cpuMs };
}

async function arrivals(receiver, ids) {
  for (;;) {
    const arrived = new Set(await receiver.kept());
    if (ids.every((id) => arrived.has(id))) return arrived;
    await wait(100);
  }
}

function report(print, { rows, rowsPerSecond, stoppedMs, commandUs, oldCellUs, newCellUs, ledger, history }) {
  print('rows copied', rows.toLocaleString('en'), '');
  print('  copied per second', `${Math.round(rowsPerSecond).toLocaleString('en')} rows/s`, '');
  print(
    '  CPU per row: command, old and new PostgreSQL',
    [commandUs, oldCellUs, newCellUs].map((us) => `${Math.round(us)} µs`).join(' '),
    '',
  );
  print(`stopped, at ${perSecond} events/s`, `${stoppedMs} ms`, '');
  const { acknowledged, delivered, listed } = ledger;
  const isEven = delivered === acknowledged && listed === acknowledged && history.listed === history.written;
  print(
    'acknowledged, delivered, listed in the new cell',
    `${acknowledged} ${delivered} ${listed}`,
    isEven ? 'nothing lost' : 'LOST',
  );
}
