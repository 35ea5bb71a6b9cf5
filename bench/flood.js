import { median, percentile } from './figures.js';
import { makeEvent, recordMany, spread, steady } from './load.js';
import { progress } from './progress.js';
import { startReceiver } from './receivers.js';
import { startServer } from './server.js';

const flooding = 'ORG-flood';
const perSecond = 100;
const perRound = 500;
const warmUp = 10_000;
/** Alone and beside a flood take turns, and the medians count, because the speed of the machine varies. */
const rounds = 5;
/** What the flooding producer sends: batches over few connections, or single events over many. */
const floods = {
  'batches of 100, 4 connections': [4, 100],
  'single events, 32 connections': [32, 1],
};

/** Measures the events of one organization, alone and beside another one whose producer sends as fast as it can. */
export async function benchFlood(print) {
  const receiver = await startReceiver();
  const others = await startReceiver();
  const server = await startServer();
  const own = async () =>
    percentile(
      await steady(server, receiver, perRound, perSecond, { type: 'invoice.paid', payload: {} }),
      0.99,
    );
  try {
    await server.openOrganizations([flooding]);
    await server.createWebhook(`${receiver.url}/timed`, ['invoice.paid']);
    await server.createWebhook(`${others.url}/ok`, '*', { organization_id: flooding });
    progress('warming up');
    await recordMany(server, warmUp, { organization_id: flooding });
    await own();
    const alone = [];
    const beside = Object.fromEntries(Object.keys(floods).map((name) => [name, { p99s: [], rates: [] }]));
    for (let round = 1; round <= rounds; round += 1) {
      progress(`round ${round} of ${rounds}`);
      alone.push(await own());
      for (const [name, [connections, size]] of Object.entries(floods)) {
        const flood = startFlood(server, connections, size);
        beside[name].p99s.push(await own());
        beside[name].rates.push(await flood.stop());
        // What the flood has left waiting must not count against the next round.
        await own();
      }
    }
    print(`alone at ${perSecond} events/s, p99`, `${median(alone)} ms`, '');
    for (const [name, { p99s, rates }] of Object.entries(beside)) {
      print(`beside ${name}, p99`, `${median(p99s)} ms`, '');
      print('  the flood', `${Math.round(median(rates))} events/s`, '');
      print('  ratio of the medians', (median(p99s) / median(alone)).toFixed(2), 'aim: at most 2');
    }
  } finally {
    await server.stop();
    receiver.stop();
    others.stop();
  }
}

/** Records events until it is stopped. Returns how many it has recorded per second. */
function startFlood(server, connections, size) {
  let [isOver, recorded] = [false, 0];
  const startedMs = performance.now();
  const done = spread(connections, connections, async () => {
    while (!isOver) {
      await server.record(Array.from({ length: size }, () => makeEvent({ organization_id: flooding })));
      recorded += size;
    }
  });
  return {
    async stop() {
      const rate = (recorded / (performance.now() - startedMs)) * 1_000;
      isOver = true;
      await done;
      return rate;
    },
  };
}
