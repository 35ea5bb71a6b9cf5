import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { median, percentile } from './figures.js';
import { makeEvent, recordMany } from './load.js';
import { progress } from './progress.js';
import { startReceiver } from './receivers.js';
import { startServer } from './server.js';
import { settled } from './store.js';

const flooding = 'ORG-flood';
const others = Array.from({ length: 10 }, (_, index) => `ORG-other-${index}`);
const perSecond = 100;
const seconds = 5;
const warmUp = 5_000;
/** Ends by itself, even if this process is killed. */
const spin = 'const untilMs = Date.now() + 60_000; while (Date.now() < untilMs);';
/** Alone and beside a flood take turns, because the speed of the machine varies. */
const rounds = 3;
/**
 * What the others are measured beside: as many processes as the machine has cores that only use CPU, which shows what
 * any load costs them, and a producer that sends batches over few connections, or single events over many.
 */
const floods = {
  'processes that only use CPU': { spinning: availableParallelism() },
  'batches of 100, 4 connections': { connections: 4, size: 100 },
  'single events, 32 connections': { connections: 32, size: 1 },
};

/** Measures the events of ten organizations, alone and beside another one whose producer sends as fast as it can. */
export async function benchFlood(print) {
  const receiver = await startReceiver();
  const floodReceiver = await startReceiver();
  const server = await startServer();
  try {
    await server.openOrganizations([flooding, ...others]);
    await server.createWebhook(`${floodReceiver.url}/ok`, '*', { organization_id: flooding });
    for (const organization_id of others)
      await server.createWebhook(`${receiver.url}/timed`, '*', { organization_id });
    progress('warming up');
    await recordMany(server, warmUp, { organization_id: flooding });
    await measure(server, receiver);
    await settled(server.database);
    const alone = noDelays();
    const beside = Object.fromEntries(
      Object.keys(floods).map((name) => [name, { ...noDelays(), rates: [] }]),
    );
    for (let round = 1; round <= rounds; round += 1) {
      progress(`round ${round} of ${rounds}`);
      await measure(server, receiver, alone);
      for (const [name, flood] of Object.entries(floods)) {
        const stop = flood.spinning ? startSpinning(flood.spinning) : startFlood(server, flood);
        await measure(server, receiver, beside[name]);
        const rate = await stop();
        if (rate !== undefined) beside[name].rates.push(rate);
        // What the flood has left waiting must not count against the next round.
        await settled(server.database);
      }
    }
    show(print, `alone, ${perSecond} events/s`, alone);
    for (const [name, delays] of Object.entries(beside)) {
      print(
        `beside ${name}`,
        delays.rates.length > 0 ? `${Math.round(median(delays.rates))} events/s` : '',
        '',
      );
      show(print, '  the others', delays);
      for (const kind of ['recorded', 'arrived']) {
        const [p99, aloneP99] = [delays, alone].map((each) => percentile(each[kind], 0.99));
        const aim = delays.rates.length > 0 ? 'aim: at most 2' : '';
        print(`  ratio of the p99s, ${kind}`, (p99 / aloneP99).toFixed(2), aim);
      }
    }
  } finally {
    await server.stop();
    receiver.stop();
    floodReceiver.stop();
  }
}

const noDelays = () => ({ recorded: [], arrived: [] });

function show(print, what, delays) {
  for (const kind of ['recorded', 'arrived']) {
    const figures = [0.5, 0.95, 0.99].map((fraction) => percentile(delays[kind], fraction).toFixed(1));
    print(`${what}: ${kind}, p50 p95 p99`, `${figures.join(' ')} ms`, '');
  }
}

/**
 * Records single events of the other organizations at a steady pace. Adds how long the responses took, and the time
 * from sending the requests until the events arrived.
 */
async function measure(server, receiver, delays = noDelays()) {
  const count = perSecond * seconds;
  const { arrived } = await receiver.expect(count);
  const startedMs = performance.now();
  const recording = [];
  for (let sent = 0; sent < count; ) {
    const dueCount = Math.min(count, Math.floor(((performance.now() - startedMs) * perSecond) / 1000));
    for (; sent < dueCount; sent += 1) recording.push(recordOne(server, others[sent % others.length]));
    await new Promise((next) => setTimeout(next, 2));
  }
  delays.recorded.push(...(await Promise.all(recording)));
  await arrived;
  delays.arrived.push(...(await receiver.report()).delays);
}

async function recordOne(server, organization_id) {
  const sentMs = performance.timeOrigin + performance.now();
  await server.record([makeEvent({ organization_id, type: 'invoice.paid', payload: { sent_ms: sentMs } })]);
  return performance.timeOrigin + performance.now() - sentMs;
}

/** Starts a producer in a thread of its own. Returns a function that stops it, and how many events it recorded per second. */
function startFlood({ platformUrl }, flood) {
  const workerData = { ...flood, platformUrl, fields: { organization_id: flooding } };
  const worker = new Worker(new URL('./producer.js', import.meta.url), { workerData });
  return () =>
    new Promise((stopped, failed) => {
      worker.once('message', stopped);
      worker.once('error', failed);
      worker.postMessage('stop');
    });
}

/** Starts processes that only use CPU. Returns a function that stops them. */
function startSpinning(count) {
  const processes = Array.from({ length: count }, () => spawn(process.execPath, ['-e', spin]));
  return async () => {
    for (const each of processes) each.kill();
  };
}
