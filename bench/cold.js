import { spawnSync } from 'node:child_process';
import { Pool } from 'undici';
import { startDatabase } from './database.js';
import { raw } from './deliver.js';
import { median, percentile } from './figures.js';
import { createWebhook } from './fleet.js';
import { makeEvent, organization, spread, steady } from './load.js';
import { entry, startNode } from './node.js';
import { progress } from './progress.js';
import { startReceiver } from './receivers.js';
import { settled } from './store.js';

const rounds = 3;
const perSecond = 300;
const few = { count: 5_000, batch: 1, producers: 64 };
const burst = { count: 20_000, batch: 100, producers: 8 };
const commands = ['--version', 'help', 'status --help'];
const commandRounds = 7;
/** Raw requests have the same path, because the receiver reads the events that arrive on it. */
const timed = '/timed';

/**
 * Measures processes that have just started, on a database that is migrated and in use: what a rolling restart costs.
 * Each round starts one process for the first second, one for the first events, and one for a burst. Everything else,
 * including the raw requests, comes from processes that are warm. Delays count from the request of the producer: the
 * time in an event is taken only after a cold process has read the request.
 */
export async function benchCold(print) {
  const receiver = await startReceiver();
  const database = await startDatabase();
  const pool = new Pool(receiver.url, { connections: 64 });
  const [starts, first, later, cpu, bursts] = [[], [], [], [], []];
  const startCpuMs = [];
  let node;
  /** Replaces the running process with a new one. */
  const restart = async () => {
    await node?.stop();
    const startedMs = performance.now();
    node = await startNode(database.url);
    starts.push(performance.now() - startedMs);
    startCpuMs.push(await node.cpuMs());
  };
  const record = (events) => {
    for (const { payload } of events) payload.sent_ms = performance.timeOrigin + performance.now();
    return node.record(JSON.stringify(events));
  };
  const second = () => steady({ record }, receiver, perSecond, perSecond);
  const against = async () => {
    const { perSecond: ours } = await turn(node, database, receiver, burst);
    return ours / (await raw(pool, burst.count, timed));
  };
  try {
    progress('warming up');
    await restart();
    await createWebhook(node.api, await node.createToken(organization), `${receiver.url}${timed}`);
    await second();
    await against();
    starts.pop();
    startCpuMs.pop();
    for (let round = 1; round <= rounds; round += 1) {
      progress(`round ${round} of ${rounds}`);
      await restart();
      first.push(...(await second()));
      await restart();
      const turns = [];
      for (let number = 0; number < 3; number += 1) turns.push(await turn(node, database, receiver, few));
      cpu.push({ first: turns[0], later: turns[2] });
      later.push(...(await second()));
      await restart();
      bursts.push({ first: await against(), later: await against() });
    }
  } finally {
    await node?.stop();
    await pool.close();
    await database.stop();
    receiver.stop();
  }
  const [firstMs, laterMs] = [first, later].map((delays) => percentile(delays, 0.99));
  print('start until ready', `${(median(starts) / 1000).toFixed(2)} s`, 'aim: at most 3');
  print('CPU of server process until ready', `${(median(startCpuMs) / 1000).toFixed(2)} s`, '');
  print(`${perSecond} events/s, first second, p99`, `${firstMs.toFixed(1)} ms`, '');
  print('  later', `${laterMs.toFixed(1)} ms`, '');
  print('  ratio', (firstMs / laterMs).toFixed(2), 'aim: at most 2');
  for (const [name, of] of [
    ['server process', ({ serverUs }) => serverUs],
    ['PostgreSQL', ({ databaseUs }) => databaseUs],
    ['both', ({ serverUs, databaseUs }) => serverUs + databaseUs],
  ]) {
    const us = (when) => median(cpu.map((turns) => of(turns[when])));
    print(
      `CPU of ${name} per event, first ${few.count} and later`,
      `${Math.round(us('first'))} ${Math.round(us('later'))} µs`,
      '',
    );
    print('  ratio', (us('first') / us('later')).toFixed(2), name === 'both' ? 'aim: at most 1.5' : '');
  }
  const ratio = (when) => median(bursts.map((turns) => turns[when])).toFixed(2);
  print(`first ${burst.count} events against raw undici`, ratio('first'), 'aim: at least 0.45');
  print('  later', ratio('later'), '');
  for (const command of commands) {
    const times = Array.from({ length: commandRounds }, () => timeOf(command.split(' ')));
    print(`posthorn ${command}`, `${Math.round(median(times))} ms`, '');
  }
}

async function turn(node, database, receiver, { count, batch, producers }) {
  const bodies = Array.from({ length: count / batch }, () =>
    JSON.stringify(Array.from({ length: batch }, () => makeEvent())),
  );
  const { arrived } = await receiver.expect(count);
  const before = { server: await node.cpuMs(), database: await database.cpuMs() };
  const startedMs = performance.now();
  await spread(bodies.length, producers, (number) => node.record(bodies[number - 1]));
  await arrived;
  const perSecond = (count * 1000) / (performance.now() - startedMs);
  // What is written after the last arrival belongs to these events too.
  await settled(database.client);
  return {
    perSecond,
    serverUs: ((await node.cpuMs()) - before.server) * (1000 / count),
    databaseUs: ((await database.cpuMs()) - before.database) * (1000 / count),
  };
}

function timeOf(argv) {
  const startedMs = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [entry, ...argv], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`posthorn ${argv.join(' ')} ended with exit code ${status}: ${stderr}`);
  return performance.now() - startedMs;
}
