import { sign, signingKey } from '@posthorn/receiver';
import { Pool } from 'undici';
import { startBare } from './bare.js';
import { cpuMsOf } from './cpu.js';
import { median, p50AndP99, percentile } from './figures.js';
import { makeEvent, spread, steady } from './load.js';
import { progress } from './progress.js';
import { startReceiver } from './receivers.js';
import { startServer } from './server.js';
import { settled, waitingIn, written } from './store.js';

/**
 * Raw requests and events take turns in short rounds, so that changes in the speed of the machine affect both equally.
 */
const rounds = 13;
const perRound = 10_000;
const warmUps = 2;
/** Far more than a node keeps in memory. */
const overloadRounds = 3;
const overloadEvents = 60_000;
const batch = 100;
const producers = 8;
const coldPerSecond = 300;
const latencyRates = [50, 200, 400];
const latencyRounds = 5;
const roundSeconds = 2;

/** Compares durable end-to-end delivery to one webhook with raw undici requests to the same receiver. */
export async function benchDeliver(print) {
  const receiver = await startReceiver();
  const server = await startServer();
  const pool = new Pool(receiver.url, { connections: 64 });
  try {
    await server.createWebhook(`${receiver.url}/ok`);
    progress('warming up');
    for (let round = 0; round < warmUps; round += 1) await turn(server, receiver, pool, perRound);
    await settled(server.database);
    const before = await written(server.database);
    const turns = [];
    for (let round = 0; round < rounds; round += 1) {
      progress(`round ${round + 1} of ${rounds}`);
      turns.push(await turn(server, receiver, pool, perRound));
    }
    await settled(server.database);
    const after = await written(server.database);
    const total = rounds * perRound;
    const middle = (read) => median(turns.map(read));
    const ratios = turns.map(({ raw, endToEnd }) => endToEnd.perSecond / raw.perSecond);
    const us = (read) => `${Math.round(middle(read))} µs`;
    print('raw undici to the receiver', `${Math.round(middle(({ raw }) => raw.perSecond))} requests/s`, '');
    print(
      'end to end, durable, one webhook',
      `${Math.round(middle(({ endToEnd }) => endToEnd.perSecond))} events/s`,
      '',
    );
    print(`ratio, median of ${rounds} rounds`, median(ratios).toFixed(2), 'aim: 0.6, at least 0.45');
    print(
      'ratio, lowest and highest round',
      `${fixed(Math.min(...ratios))} ${fixed(Math.max(...ratios))}`,
      '',
    );
    print('rows written per event', ((after.rows - before.rows) / total).toFixed(3), 'aim: at most 3');
    print('commits per event', ((after.commits - before.commits) / total).toFixed(4), 'aim: at most 0.05');
    print(
      'total CPU per raw request',
      us(({ raw }) => raw.cpuUs),
      '',
    );
    print(
      'total CPU per event',
      us(({ endToEnd }) => endToEnd.cpuUs),
      '',
    );
    print('ratio by CPU', fixed(middle(({ raw, endToEnd }) => raw.cpuUs / endToEnd.cpuUs)), '');
    print(
      'CPU of the server process per event',
      us(({ endToEnd }) => endToEnd.serverUs),
      '',
    );
    print(
      'CPU of PostgreSQL per event',
      us(({ endToEnd }) => endToEnd.databaseUs),
      '',
    );
    print('memory of the server process, peak', `${await server.memoryMb()} MB`, 'aim: at most 250');
  } finally {
    await pool.close();
    await server.stop();
    receiver.stop();
  }
}

const fixed = (ratio) => ratio.toFixed(2);

/** Measures producers that are seconds ahead of the deliveries, so that most deliveries wait in the database. */
export async function benchOverload(print) {
  const receiver = await startReceiver();
  const server = await startServer();
  const pool = new Pool(receiver.url, { connections: 64 });
  try {
    await server.createWebhook(`${receiver.url}/ok`);
    await turn(server, receiver, pool, perRound);
    await settled(server.database);
    const before = await written(server.database);
    const turns = [];
    for (let round = 0; round < overloadRounds; round += 1) {
      progress(`round ${round + 1} of ${overloadRounds}`);
      turns.push(await turn(server, receiver, pool, overloadEvents));
      await settled(server.database);
    }
    const after = await written(server.database);
    const total = overloadRounds * overloadEvents;
    const middle = (read) => median(turns.map(read));
    print(
      `waiting in the database when all ${overloadEvents} are recorded`,
      middle(({ endToEnd }) => endToEnd.waiting),
      '',
    );
    print(
      `ratio to raw undici, median of ${overloadRounds} rounds`,
      fixed(middle(({ raw, endToEnd }) => endToEnd.perSecond / raw.perSecond)),
      '',
    );
    print('ratio by CPU', fixed(middle(({ raw, endToEnd }) => raw.cpuUs / endToEnd.cpuUs)), '');
    print('rows written per event', ((after.rows - before.rows) / total).toFixed(3), 'aim: at most 3');
    print('commits per event', ((after.commits - before.commits) / total).toFixed(4), 'aim: at most 0.05');
    print('memory of the server process, peak', `${await server.memoryMb()} MB`, 'aim: at most 250');
  } finally {
    await pool.close();
    await server.stop();
    receiver.stop();
  }
}

/** Runs one round: raw requests, then as many events. */
async function turn(server, receiver, pool, count) {
  const cpu = async () => ({ ...(await server.cpuMs()), around: await cpuMsOf(process.pid, receiver.pid) });
  const bodies = Array.from({ length: count / batch }, () =>
    JSON.stringify(Array.from({ length: batch }, () => makeEvent())),
  );
  const start = await cpu();
  const rawPerSecond = await raw(pool, count);
  const middle = await cpu();
  const { perSecond, waiting } = await endToEnd(server, receiver, bodies, count);
  const end = await cpu();
  const each = (ms) => (ms * 1000) / count;
  const serverUs = each(end.server - middle.server);
  const databaseUs = each(end.database - middle.database);
  return {
    raw: { perSecond: rawPerSecond, cpuUs: each(middle.around - start.around) },
    endToEnd: {
      ...{ perSecond, waiting, serverUs, databaseUs },
      cpuUs: serverUs + databaseUs + each(end.around - middle.around),
    },
  };
}

/** The other headers of a delivery. A raw request has them too: receivers and undici spend time on each. */
const serviceHeaders = {
  'content-type': 'application/json',
  'accept-encoding': 'identity',
  'user-agent': 'Posthorn/0.1.0',
  'x-service-subject': 'invoice/INV-2042',
  'x-service-actor': 'user/USR-ada',
  'x-service-delivery': 'WDLV-01JAB3C4D5E6F7G8H9J0K1M2N3',
  'x-service-attempt': '1',
};

export async function raw(pool, count, path = '/ok') {
  const { payload, ...head } = makeEvent();
  const id = 'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3';
  const body = JSON.stringify({ id, created_at: new Date(), ...head, data: payload });
  const key = signingKey('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  const startedMs = performance.now();
  await spread(count, 64, async () => {
    const signature = sign(body, { id, timestamp: new Date(), key });
    const headers = { ...serviceHeaders, ...signature };
    const response = await pool.request({ path, method: 'POST', headers, body });
    await response.body.dump();
  });
  return (count * 1000) / (performance.now() - startedMs);
}

async function endToEnd(server, receiver, bodies, count) {
  const { arrived } = await receiver.expect(count);
  const startedMs = performance.now();
  await spread(bodies.length, producers, (turn) => server.record(bodies[turn - 1]));
  const waiting = await waitingIn(server.database);
  await arrived;
  return { perSecond: (count * 1000) / (performance.now() - startedMs), waiting };
}

/**
 * Measures the delay from the time in an event, which is taken before the commit, to the arrival of the event. Each
 * request has one event. The bare pipeline is measured on the same database, in turns.
 */
export async function benchLatency(print) {
  const receiver = await startReceiver();
  const server = await startServer();
  try {
    await server.createWebhook(`${receiver.url}/timed`);
    const bare = await startBare(server, receiver.url);
    const cold = await steady(server, receiver, coldPerSecond, coldPerSecond);
    print('latency in the first second of the process, p99', `${percentile(cold, 0.99)} ms`, '');
    await steady(bare, receiver, coldPerSecond, coldPerSecond);
    for (const perSecond of latencyRates) {
      const delays = { own: [], bare: [] };
      for (let round = 1; round <= latencyRounds; round += 1) {
        progress(`${perSecond} events/s, round ${round} of ${latencyRounds}`);
        delays.own.push(...(await steady(server, receiver, perSecond * roundSeconds, perSecond)));
        delays.bare.push(...(await steady(bare, receiver, perSecond * roundSeconds, perSecond)));
      }
      const ratio = (fraction) => percentile(delays.own, fraction) / percentile(delays.bare, fraction);
      print(`${perSecond} events/s, p50 and p99`, p50AndP99(delays.own), '');
      print('  bare pipeline', p50AndP99(delays.bare), '');
      print('  ratio', `${ratio(0.5).toFixed(2)} ${ratio(0.99).toFixed(2)}`, 'aim: at most 1.6 and 2');
    }
    await bare.stop();
  } finally {
    await server.stop();
    receiver.stop();
  }
}
