import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startPeer, startPosthorn } from './contender.js';
import { median, percentile } from './figures.js';
import { makeEvent, spread } from './load.js';
import { progress } from './progress.js';
import { startReceiver } from './receivers.js';
import { hasRedis } from './redis.js';
import { writtenIn } from './written.js';

const folder = fileURLToPath(new URL('./peers', import.meta.url));
/**
 * The contenders take turns in short rounds, so that changes in the speed of the machine affect all of them equally.
 */
const rounds = 4;
const forms = {
  'batches of 100': { perRound: 4_000, batch: 100, producers: 8 },
  'one event per request': { perRound: 2_000, batch: 1, producers: 64 },
};
const latencyRounds = 2;
const latencyEvents = 600;
const latencyPerSecond = 200;
const flakyEvents = 200;

/** The contenders, and what each needs. */
const contenders = {
  Posthorn: { start: startPosthorn },
  'graphile-worker': { needs: { database: true } },
  'pg-boss': { needs: { database: true } },
  BullMQ: { peer: 'bullmq', needs: { database: true, redis: true } },
  'BullMQ, Redis alone': { peer: 'bullmq-alone', needs: { redis: true } },
};

/**
 * Compares Posthorn with the job queues that a TypeScript team would pick instead. All do the same job: accept an
 * event, store it, send it signed, retry if that fails, and log the attempts. docs/performance.md says what each does
 * and does not do. Returns null if the queues cannot be installed: then there are no results to save.
 */
export async function benchPeers(print) {
  if (!install(print)) return null;
  const receiver = await startReceiver();
  const running = new Map();
  try {
    for (const [name, { start, peer = name, needs }] of Object.entries(contenders)) {
      if (needs?.redis && !hasRedis()) {
        print(name, 'left out', 'redis-server is missing: apt-get install redis-server');
        continue;
      }
      progress(`starting ${name}`);
      running.set(name, await (start ? start(receiver) : startPeer(peer, receiver, needs)));
    }
    const sent = new Map([...running.keys()].map((name) => [name, 0]));
    const count = (name, events) => sent.set(name, sent.get(name) + events);
    await retries(running, receiver, count);
    const figures = Object.fromEntries([...running.keys()].map((name) => [name, {}]));
    await measure(running, receiver, figures, count);
    await latencies(running, receiver, figures, count);
    for (const [name, contender] of running) {
      await checkLog(name, contender, sent.get(name));
      figures[name].memoryMb = await contender.memoryMb();
    }
    report(print, figures);
    return figures;
  } finally {
    for (const contender of running.values()) await contender.stop();
    receiver.stop();
  }
}

/** Installs the queues, which `npm ci` at the root does not. */
function install(print) {
  if (isInstalled()) return true;
  progress('npm ci --prefix bench/peers');
  const { status, stderr } = spawnSync(
    'npm',
    ['ci', '--prefix', folder, '--ignore-scripts', '--loglevel=error', '--no-audit', '--no-fund'],
    { encoding: 'utf8', shell: process.platform === 'win32' },
  );
  if (status === 0) return true;
  print('the job queues could not be installed', 'left out', stderr.trim().split('\n').at(-1));
  return false;
}

/**
 * Returns whether the installed queues are those of the lock file. npm leaves a copy of that file behind, which is as
 * old as the last installation.
 */
function isInstalled() {
  const ageOf = (file) => statSync(join(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return ageOf('node_modules/.package-lock.json') > ageOf('package-lock.json');
}

/** Lets every tenth request fail once, and waits until all events have arrived nevertheless. */
async function retries(running, receiver, count) {
  for (const [name, contender] of running) {
    progress(`${name}: retries`);
    const { arrived } = await receiver.expect(flakyEvents);
    const events = Array.from({ length: flakyEvents }, () =>
      makeEvent({ type: 'task.created', payload: {} }),
    );
    await contender.record(events);
    await arrived;
    await contender.settled();
    count(name, flakyEvents);
  }
}

/**
 * Measures both forms in rounds. PostgreSQL publishes its figures seconds later, so they are read between the forms.
 */
async function measure(running, receiver, figures, count) {
  const take = async (name, form, what) => {
    progress(`${form}: ${name}, ${what}`);
    count(name, forms[form].perRound);
    return turn(running.get(name), receiver, forms[form]);
  };
  for (const form of Object.keys(forms))
    for (const name of running.keys()) await take(name, form, 'warming up');
  const stored = [...running].filter(([, { database }]) => database);
  const read = () => writtenIn(stored.map(([, { database }]) => database));
  let before = await read();
  for (const form of Object.keys(forms)) {
    const turns = new Map([...running.keys()].map((name) => [name, []]));
    for (let round = 1; round <= rounds; round += 1)
      for (const [name, all] of turns) all.push(await take(name, form, `round ${round} of ${rounds}`));
    for (const [name, all] of turns) figures[name][form] = together(all, turns.get('Posthorn'));
    const after = await read();
    const events = rounds * forms[form].perRound;
    for (const [index, [name]] of stored.entries()) {
      const each = (figure) => (after[index][figure] - before[index][figure]) / events;
      Object.assign(figures[name][form], { rows: each('rows'), commits: each('commits') });
    }
    before = after;
  }
}

function together(turns, posthorn) {
  const middle = (read) => median(turns.map(read));
  return {
    perSecond: middle((at) => at.perSecond),
    serviceUs: middle((at) => at.serviceUs),
    storesUs: middle((at) => at.storesUs),
    cpuUs: middle((at) => at.serviceUs + at.storesUs),
    ratio: median(turns.map(({ perSecond }, round) => perSecond / posthorn[round].perSecond)),
  };
}

async function turn(contender, receiver, { perRound, batch, producers }) {
  const bodies = Array.from({ length: perRound / batch }, () =>
    JSON.stringify(Array.from({ length: batch }, () => makeEvent())),
  );
  const { arrived } = await receiver.expect(perRound);
  const before = await contender.cpuMs();
  const startedMs = performance.now();
  await spread(bodies.length, producers, (number) => contender.record(bodies[number - 1]));
  await arrived;
  const perSecond = (perRound * 1000) / (performance.now() - startedMs);
  // What is written after the last arrival belongs to these events too.
  await contender.settled();
  const after = await contender.cpuMs();
  const each = (name) => ((after[name] - before[name]) * 1000) / perRound;
  return { perSecond, serviceUs: each('service'), storesUs: each('stores') };
}

/**
 * Measures the delay from the time in an event, which is taken before the commit, to the arrival of the event. Each
 * request has one event.
 */
async function latencies(running, receiver, figures, count) {
  const delays = new Map([...running.keys()].map((name) => [name, []]));
  for (let round = -1; round < latencyRounds; round += 1) {
    for (const [name, contender] of running) {
      progress(`${latencyPerSecond} events/s: ${name}, round ${round + 1} of ${latencyRounds}`);
      const { arrived } = await receiver.expect(latencyEvents);
      await paced(contender);
      await arrived;
      count(name, latencyEvents);
      if (round >= 0) delays.get(name).push(...(await receiver.report()).delays);
      await contender.settled();
    }
  }
  for (const [name, all] of delays)
    figures[name].latency = { p50Ms: percentile(all, 0.5), p99Ms: percentile(all, 0.99) };
}

async function paced(contender) {
  const startedMs = performance.now();
  const records = [];
  for (let sent = 0; sent < latencyEvents; ) {
    const due = Math.min(
      latencyEvents,
      Math.floor(((performance.now() - startedMs) * latencyPerSecond) / 1000),
    );
    for (; sent < due; sent += 1)
      records.push(contender.record(JSON.stringify([makeEvent({ type: 'invoice.paid', payload: {} })])));
    await new Promise((next) => setTimeout(next, 2));
  }
  await Promise.all(records);
}

/** Throws if not every delivery was logged, because skipping the log would make a contender look fast. */
async function checkLog(name, contender, sent) {
  const logged = await contender.logged();
  if (logged !== null && logged !== sent)
    throw new Error(`${name} acknowledged ${sent} events and logged ${logged} deliveries`);
}

function report(print, figures) {
  const us = (value) => `${Math.round(value)} µs`;
  for (const form of Object.keys(forms)) {
    print(form, '', '');
    for (const [name, at] of Object.entries(figures)) {
      const { perSecond, ratio, serviceUs, storesUs, cpuUs, rows, commits } = at[form];
      print(
        `  ${name}`,
        `${Math.round(perSecond)} events/s`,
        name === 'Posthorn' ? '' : `${ratio.toFixed(2)} x Posthorn`,
      );
      print('    CPU per event: service, stores, both', `${us(serviceUs)} ${us(storesUs)} ${us(cpuUs)}`, '');
      if (rows !== undefined)
        print('    rows and commits per event, PostgreSQL', `${rows.toFixed(2)} ${commits.toFixed(3)}`, '');
    }
  }
  print(`latency at ${latencyPerSecond} events/s, p50 and p99`, '', '');
  for (const [name, { latency, memoryMb }] of Object.entries(figures)) {
    print(
      `  ${name}`,
      `${latency.p50Ms.toFixed(1)} ${latency.p99Ms.toFixed(1)} ms`,
      `peak memory ${memoryMb} MB`,
    );
  }
}
