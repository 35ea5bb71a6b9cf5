import { setTimeout as wait } from 'node:timers/promises';
import { Random } from './random.js';
import { World } from './world.js';

const faultEveryMs = 20_000;
const share = 0.7;
const measureMs = 10_000;
const sampleEveryMs = 1_000;
/** Memory is flat if the last third of the run needs at most this much more than the first. */
const growthMbMax = 40;

/** What a soak does to the system, one after the other. The second node survives all of it. */
const faults = {
  'node killed': async ({ nodes: [node] }) => {
    await node.kill();
    await node.start();
  },
  'database restarted': async ({ cluster, nodes }) => {
    await cluster.stop();
    await cluster.start();
    await Promise.all(nodes.map((node) => node.ready()));
  },
  'connections cut': async ({ proxy }) => proxy.breakAll(),
  'receivers failing': async ({ receivers, doors: [path] }, random) => {
    await receivers.behave(path, random.pick(['server error', 'hang', 'reset', 'busy']));
    await wait(3_000);
    await receivers.behave(path, 'ok');
  },
  'database killed': async ({ cluster, nodes }) => {
    await cluster.kill();
    await cluster.start();
    await Promise.all(nodes.map((node) => node.ready()));
  },
  'node paused past its lease': async ({ nodes: [node] }) => {
    node.pause();
    await wait(7_000);
    node.resume();
  },
  'slow database': async ({ proxy }) => {
    proxy.delayMs = () => 20;
    await wait(3_000);
    proxy.delayMs = () => 0;
  },
};

/**
 * Runs for minutes at 70 % of what this machine can do, with a fault every 20 seconds. Returns a trial like any other,
 * with the capacity and the memory of the node that survives.
 */
export async function soak(seed, forMs, progress) {
  const random = new Random(seed, 'soak');
  const startedMs = performance.now();
  const capacity = await measure(seed);
  progress(`capacity ${capacity} events/s; ${Math.round(capacity * share)} events/s from now on`);
  const load = { perSecond: capacity * share, batchMax: 40, payloadMax: 500 };
  const world = await World.open({ nodes: 2, load }, new Random(seed, 'load of soak'));
  try {
    const [, survivor] = world.nodes;
    const samples = [];
    let isOver = false;
    const sampling = (async () => {
      while (!isOver) {
        samples.push(survivor.memoryMb.now);
        await wait(sampleEveryMs);
      }
    })();
    world.producer.start();
    const loadedMs = performance.now();
    const kinds = Object.keys(faults);
    for (let count = 1; count * faultEveryMs < forMs; count += 1) {
      const dueMs = loadedMs + count * faultEveryMs;
      await wait(Math.max(0, dueMs - performance.now()));
      const kind = kinds[(count - 1) % kinds.length];
      progress(
        `${Math.round((count * faultEveryMs) / 1_000)} s: ${kind}; ${world.producer.acknowledgedCount} events`,
      );
      await world.fault(kind, () => faults[kind](world, random));
    }
    await wait(faultEveryMs / 2);
    isOver = true;
    await sampling;
    const ledger = await world.settle();
    const memory = trendOf(samples);
    const { faulty, ...figures } = ledger;
    if (memory.last - memory.first > growthMbMax)
      faulty.push(`memory grows from ${memory.first} to ${memory.last} MB`);
    return {
      verdict: faulty.length === 0 ? 'held' : 'broken',
      ...{ reasons: faulty, ...figures, capacity, memory, tookMs: Math.round(performance.now() - startedMs) },
    };
  } finally {
    await world.close();
  }
}

/** Offers as much as two nodes take, and returns how many events per second were recorded and delivered. */
async function measure(seed) {
  const load = { perSecond: Number.POSITIVE_INFINITY, batchMax: 40, payloadMax: 500, inFlightMax: 16 };
  const world = await World.open({ nodes: 2, load }, new Random(seed, 'capacity'));
  try {
    world.producer.start();
    await wait(measureMs);
    const arrived = Object.values(await world.receivers.progress());
    return Math.round(Math.min(...arrived) / (measureMs / 1_000));
  } finally {
    await world.producer?.stop();
    await world.close();
  }
}

/** Returns the median memory of the first and of the last third of a run, and the highest. */
function trendOf(samples) {
  const third = Math.max(1, Math.floor(samples.length / 3));
  return {
    first: medianOf(samples.slice(0, third)),
    last: medianOf(samples.slice(-third)),
    highest: Math.max(...samples),
  };
}

function medianOf(values) {
  return [...values].sort((one, other) => one - other)[values.length >> 1];
}
