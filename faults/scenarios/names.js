import { setTimeout as wait } from 'node:timers/promises';
import { missingForIsolation } from '../isolation.js';
import { NameServer } from '../name-server.js';
import { attemptMs } from '../node.js';
import { until } from '../waiting.js';

const name = 'receiver.faults.example';
const good = ['127.0.0.1'];
const other = '127.0.0.3';

/** Lets the name of the receivers fail, change, and resolve to addresses that must not be reached. */
export const names = {
  name: 'names',
  summary: 'DNS that fails, does not respond, changes, and returns private addresses',
  isIsolated: true,
  missing: missingForIsolation,
  shape: () => ({
    ...{ nodes: [{ POSTHORN_EGRESS_ALLOW: '127.0.0.0/30' }], load: { perSecond: 80 } },
    base: ({ receivers }) => receivers.url.replace('127.0.0.1', name),
    prepare: async (world) => {
      world.names = await NameServer.start();
      world.names.set(name, good);
      world.closeLater(() => world.names.close());
    },
  }),
  async run(world, random) {
    const states = {
      'no such name': 'no such name',
      'server failure': 'server failure',
      'silent name server': 'silence',
      'a private address': [random.pick(['10.0.0.1', '192.168.1.1', '169.254.169.254', '127.0.1.1'])],
      'a private address next to a good one': [...good, '10.0.0.1'],
    };
    for (const state of random.shuffle(Object.keys(states)).slice(0, 3)) {
      await wait(random.between(300, 800));
      await world.fault(`DNS: ${state}`, async () => {
        world.names.set(name, states[state]);
        // For this long, an attempt may still use the address from before the change.
        await wait(attemptMs);
        await until('the end of requests to the address before', () => isQuiet(world), 20_000);
        const before = await world.receivers.progress();
        await wait(random.between(1_000, 2_000));
        const after = await world.receivers.progress();
        const isSent = world.doors.some((path) => after[path] > before[path]);
        world.expect(`nothing is sent while a name resolves to: ${state}`, !isSent);
        world.names.set(name, good);
      });
    }
    await world.fault('DNS: another address', async () => {
      world.names.set(name, [other]);
      await world.receivers.hangUp();
      const isReached = async () => (await world.receivers.addresses())[other] > 0;
      await until('a delivery to the new address', isReached, 20_000);
    });
  },
};

/** Closes all connections, so that the next request needs the name. Returns whether nothing arrives anymore. */
async function isQuiet(world) {
  await world.receivers.hangUp();
  const before = await world.receivers.progress();
  await wait(300);
  const after = await world.receivers.progress();
  return world.doors.every((path) => after[path] === before[path]);
}
