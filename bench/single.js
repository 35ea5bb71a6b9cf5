import { median, p50AndP99 } from './figures.js';
import { makeEvent, spread } from './load.js';
import { progress } from './progress.js';
import { startReceiver } from './receivers.js';
import { startServer } from './server.js';
import { settled } from './store.js';

const connections = 64;
const rounds = 7;
const perRound = 10_000;
const warmUps = 2;

/** Measures one event per request from many connections, end to end with one webhook. */
export async function benchSingle(print) {
  const receiver = await startReceiver();
  const server = await startServer();
  try {
    await server.createWebhook(`${receiver.url}/ok`);
    progress('warming up');
    for (let round = 0; round < warmUps; round += 1) await turn(server, receiver);
    const turns = [];
    for (let round = 0; round < rounds; round += 1) {
      progress(`round ${round + 1} of ${rounds}`);
      turns.push(await turn(server, receiver));
    }
    const middle = (read) => Math.round(median(turns.map(read)));
    const requests = turns.flatMap(({ requestsMs }) => requestsMs);
    const name = `one event per request, ${connections} connections`;
    print(name, `${middle(({ perSecond }) => perSecond)} events/s`, '');
    print('recording request, p50 and p99', p50AndP99(requests), '');
    print('CPU of the server process per event', `${middle(({ serverUs }) => serverUs)} µs`, '');
    print('CPU of PostgreSQL per event', `${middle(({ databaseUs }) => databaseUs)} µs`, '');
    print(
      'CPU of both per event',
      `${middle(({ serverUs, databaseUs }) => serverUs + databaseUs)} µs`,
      'aim: at most 350',
    );
    print('memory of the server process, peak', `${await server.memoryMb()} MB`, 'aim: at most 250');
  } finally {
    await server.stop();
    receiver.stop();
  }
}

async function turn(server, receiver) {
  const bodies = Array.from({ length: perRound }, () => JSON.stringify(makeEvent()));
  const requestsMs = [];
  const { arrived } = await receiver.expect(perRound);
  const before = await server.cpuMs();
  const startedMs = performance.now();
  await spread(perRound, connections, async (number) => {
    const sentMs = performance.now();
    await server.record(bodies[number - 1]);
    requestsMs.push(performance.now() - sentMs);
  });
  await arrived;
  const perSecond = (perRound * 1000) / (performance.now() - startedMs);
  // What is written after the last arrival belongs to these events too.
  await settled(server.database);
  const after = await server.cpuMs();
  const each = (name) => ((after[name] - before[name]) * 1000) / perRound;
  return { perSecond, requestsMs, serverUs: each('server'), databaseUs: each('database') };
}
