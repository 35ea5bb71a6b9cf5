import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { median } from '../bench/figures.js';
import { makeEvent, spread } from '../bench/load.js';
import { describeMachine } from '../bench/machine.js';
import { progress } from '../bench/progress.js';
import { startReceiver } from '../bench/receivers.js';
import { startServer } from '../bench/server.js';
import { settled } from '../bench/store.js';
import { writtenIn } from '../bench/written.js';
import { fitCosts, terms, worstError } from './model.js';

const rounds = 3;
const deliveriesPerRound = 6_000;
const idleMs = 10_000;
/** Event types, by the number of webhooks that get them. */
const typesOf = { 0: 'user.invited', 1: 'agent.run.completed', 4: 'invoice.paid' };
const [smallKb, largeKb] = [0.1, 4];

/** Every load that is measured; the model has to explain them all. */
const loads = [
  { fanOut: 0, payloadKb: smallKb, perRequest: 100 },
  { fanOut: 1, payloadKb: smallKb, perRequest: 100 },
  { fanOut: 4, payloadKb: smallKb, perRequest: 100 },
  { fanOut: 0, payloadKb: largeKb, perRequest: 100 },
  { fanOut: 1, payloadKb: largeKb, perRequest: 100 },
  { fanOut: 4, payloadKb: largeKb, perRequest: 100 },
  { fanOut: 0, payloadKb: smallKb, perRequest: 1 },
  { fanOut: 1, payloadKb: smallKb, perRequest: 1 },
];

/** Measures what an event, a delivery, a kB and a request cost on this machine. */
export async function measureUnitCosts() {
  const receiver = await startReceiver();
  const server = await startServer();
  try {
    for (const [fanOut, type] of Object.entries(typesOf))
      for (let number = 0; number < Number(fanOut); number += 1)
        await server.createWebhook(`${receiver.url}/ok`, [type]);
    for (const load of loads) {
      progress(`warming up: ${named(load)}`);
      await turn(server, receiver, load);
    }
    const measured = [];
    let before = await readings(server.database);
    for (const load of loads) {
      const cpu = await inRounds(server, receiver, load);
      const after = await readings(server.database);
      const each = (figure) => (after[figure] - before[figure]) / (rounds * eventsOf(load));
      const written = { rows: each('rows'), walBytes: each('walBytes'), storedBytes: each('storedBytes') };
      measured.push({ properties: load, ...cpu, ...written });
      before = after;
    }
    const machine = await describeMachine(server.database);
    return {
      measuredAt: new Date().toISOString(),
      machine,
      idle: await idle(server),
      ...unitCosts(measured),
      measured,
    };
  } finally {
    await server.stop();
    receiver.stop();
  }
}

const named = ({ fanOut, payloadKb, perRequest }) =>
  `fan-out ${fanOut}, ${payloadKb} kB, ${perRequest} events per request`;

async function inRounds(server, receiver, load) {
  const turns = [];
  for (let round = 1; round <= rounds; round += 1) {
    progress(`${named(load)}, round ${round} of ${rounds}`);
    turns.push(await turn(server, receiver, load));
  }
  return {
    serverUs: median(turns.map((at) => at.serverUs)),
    databaseUs: median(turns.map((at) => at.databaseUs)),
  };
}

async function readings(database) {
  const [written] = await writtenIn([database]);
  return { ...written, storedBytes: await storedBytes(database) };
}

const eventsOf = ({ fanOut }) => deliveriesPerRound / Math.max(1, fanOut);

async function turn(server, receiver, load) {
  const count = eventsOf(load);
  const bodies = Array.from({ length: count / load.perRequest }, () =>
    JSON.stringify(Array.from({ length: load.perRequest }, () => eventOf(load))),
  );
  const { arrived } = await receiver.expect(count * load.fanOut);
  const before = await server.cpuMs();
  await spread(bodies.length, load.perRequest === 1 ? 64 : 8, (number) => server.record(bodies[number - 1]));
  await arrived;
  // What is written after the last arrival belongs to these events too.
  await settled(server.database);
  const after = await server.cpuMs();
  const each = (name) => ((after[name] - before[name]) * 1000) / count;
  return { serverUs: each('server'), databaseUs: each('database') };
}

/** Returns an event with random text, which PostgreSQL cannot compress. Real payloads take less space. */
function eventOf({ fanOut, payloadKb }) {
  const event = makeEvent({ type: typesOf[fanOut] });
  const bytes = payloadKb * 1_000 - JSON.stringify({ ...event.payload, note: '' }).length;
  const note = randomBytes(Math.ceil(Math.max(0, bytes)))
    .toString('base64')
    .slice(0, Math.max(0, bytes));
  return { ...event, payload: { ...event.payload, note } };
}

/**
 * Returns the size of everything that is kept, including indexes. Leaves out hand-offs and the backlog, which come and
 * go.
 */
async function storedBytes(database) {
  const { rows } = await database.query(`
    select sum(pg_total_relation_size(c.oid))::float8 as bytes
      from pg_class c where c.relnamespace = 'posthorn'::regnamespace and c.relkind = 'r'
       and c.relname !~ '^(handoffs|backlog|nodes)'`);
  return rows[0].bytes;
}

async function idle(server) {
  progress('idle');
  const before = await server.cpuMs();
  await wait(idleMs);
  const after = await server.cpuMs();
  return {
    serverCores: (after.server - before.server) / idleMs,
    databaseCores: (after.database - before.database) / idleMs,
  };
}

function unitCosts(measured) {
  const [costs, worst] = [{}, {}];
  for (const figure of ['serverUs', 'databaseUs', 'rows', 'walBytes', 'storedBytes']) {
    const measurements = measured.map(({ properties, [figure]: cost }) => ({ properties, cost }));
    costs[figure] = fitCosts(measurements, Object.keys(terms));
    worst[figure] = worstError(measurements, costs[figure]);
  }
  return { costs, worst };
}
