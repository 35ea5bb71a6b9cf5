import { median } from './figures.js';
import { startFleet } from './fleet.js';
import { makeEvent, spread } from './load.js';
import { progress } from './progress.js';

/** The fleets take turns in short rounds, so that changes in the speed of the machine affect all of them equally. */
const rounds = 4;
/**
 * Every process compiles its code for itself: the first 5,000 requests take three times the CPU of later ones. So each
 * gets this many events before anything counts.
 */
const warmUpEvents = 10_000;
const inBatches = { perRound: 10_000, batch: 100, producers: 8 };
const oneByOne = { perRound: 5_000, batch: 1, producers: 64 };

/** Measures what 1, 2 and 4 processes on one machine and one PostgreSQL cost, and whether anything is lost. */
export function benchProcesses(print) {
  return compare(print, {
    fleets: {
      '1 process': { processes: 1, start: () => startFleet(1) },
      '2 processes': { processes: 2, start: () => startFleet(1, ['--processes', '2']) },
      '4 processes': { processes: 4, start: () => startFleet(1, ['--processes', '4']) },
    },
    forms: { 'batches of 100': inBatches, 'one event per request': oneByOne },
  });
}

/** Measures 1, 2 and 3 nodes on one PostgreSQL. All nodes deliver the events that one of them records. */
export function benchNodes(print) {
  return compare(print, {
    fleets: {
      '1 node': { processes: 1, start: () => startFleet(1) },
      '2 nodes': { processes: 2, start: () => startFleet(2) },
      '3 nodes': { processes: 3, start: () => startFleet(3) },
    },
    forms: {
      'recorded on one node': { ...inBatches, perRound: 20_000 },
      'recorded on all nodes': { ...inBatches, onAll: true },
      'one event per request, on all nodes': { ...oneByOne, onAll: true },
      'the same, with as many producers for each node': { ...oneByOne, onAll: true, eachNode: true },
    },
  });
}

async function compare(print, { fleets, forms }) {
  const running = new Map();
  try {
    for (const [name, { start }] of Object.entries(fleets)) {
      progress(`starting ${name}`);
      running.set(name, await start());
    }
    const [first] = running.keys();
    const figures = Object.fromEntries([...running.keys()].map((name) => [name, {}]));
    for (const [form, load] of Object.entries(forms)) {
      for (const [name, fleet] of running) {
        progress(`${form}: ${name}, warming up`);
        const turns = (warmUpEvents * fleets[name].processes) / load.perRound;
        for (let done = 0; done < turns; done += 1) await turn(fleet, load);
      }
      const turns = new Map([...running.keys()].map((name) => [name, []]));
      for (let round = 1; round <= rounds; round += 1) {
        for (const [name, all] of turns) {
          progress(`${form}: ${name}, round ${round} of ${rounds}`);
          all.push(await turn(running.get(name), load));
        }
      }
      for (const [name, all] of turns) figures[name][form] = together(all, turns.get(first));
    }
    for (const [name, fleet] of running) {
      progress(`${name}: the ledger`);
      figures[name].ledger = await fleet.ledger();
    }
    report(print, Object.keys(forms), figures);
    return figures;
  } finally {
    for (const fleet of running.values()) await fleet.stop();
  }
}

async function turn(fleet, { perRound, batch, producers, onAll, eachNode }) {
  const bodies = Array.from({ length: perRound / batch }, () =>
    JSON.stringify(Array.from({ length: batch }, () => makeEvent())),
  );
  const { arrived } = await fleet.receiver.expect(perRound);
  const deliveredBefore = await deliveredBy(fleet);
  const [before, commitsBefore] = [await fleet.cpuMs(), await fleet.commits()];
  const startedMs = performance.now();
  const atOnce = eachNode ? producers * fleet.nodes.length : producers;
  await spread(bodies.length, atOnce, (number) => fleet.record(bodies[number - 1], onAll));
  await arrived;
  const perSecond = (perRound * 1000) / (performance.now() - startedMs);
  // What is written after the last arrival belongs to these events too.
  await fleet.settled();
  const [after, commitsAfter] = [await fleet.cpuMs(), await fleet.commits()];
  const delivered = await deliveredBy(fleet);
  const each = (name) => ((after[name] - before[name]) * 1000) / perRound;
  return {
    perSecond,
    serviceUs: each('service'),
    databaseUs: each('database'),
    commits: (commitsAfter - commitsBefore) / perRound,
    shares: delivered.map((count, node) => (count - deliveredBefore[node]) / perRound),
  };
}

const deliveredBy = (fleet) => Promise.all(fleet.nodes.map((node) => node.delivered()));

function together(turns, first) {
  const middle = (read) => median(turns.map(read));
  return {
    perSecond: middle((at) => at.perSecond),
    serviceUs: middle((at) => at.serviceUs),
    databaseUs: middle((at) => at.databaseUs),
    commits: middle((at) => at.commits),
    ratio: median(turns.map(({ perSecond }, round) => perSecond / first[round].perSecond)),
    cpuRatio: median(turns.map((at, round) => cpuOf(at) / cpuOf(first[round]))),
    shares: turns[0].shares.map((_, node) => middle(({ shares }) => shares[node])),
  };
}

const cpuOf = ({ serviceUs, databaseUs }) => serviceUs + databaseUs;

function report(print, forms, figures) {
  const percent = (share) => `${Math.round(share * 100)}%`;
  const [first] = Object.keys(figures);
  for (const form of forms) {
    print(form, '', '');
    for (const [name, at] of Object.entries(figures)) {
      const { perSecond, serviceUs, databaseUs, commits, ratio, cpuRatio, shares } = at[form];
      const times = `${ratio.toFixed(2)} x the throughput of ${first}, ${cpuRatio.toFixed(2)} x the CPU`;
      const comparison = name === first ? '' : times;
      print(`  ${name}`, `${Math.round(perSecond)} events/s`, comparison);
      print(
        '    CPU per event: server processes, PostgreSQL',
        `${Math.round(serviceUs)} µs ${Math.round(databaseUs)} µs`,
        '',
      );
      print('    commits per event', commits.toFixed(3), '');
      if (shares.length > 1) print('    deliveries by node', shares.map(percent).join(' '), '');
    }
  }
  for (const [name, { ledger }] of Object.entries(figures)) {
    const { acknowledged, delivered, listed, lost } = ledger;
    const isEven = lost === 0 && delivered === acknowledged && listed === acknowledged;
    print(
      `${name}: acknowledged, delivered, listed`,
      `${acknowledged} ${delivered} ${listed}`,
      isEven ? 'nothing lost' : `LOST: ${lost}`,
    );
  }
}
