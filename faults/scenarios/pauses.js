import { setTimeout as wait } from 'node:timers/promises';

const paused = '/hook-1';
const filtered = '/hook-2';
const failing = '/hook-3';
/** Requests that were in flight when the pause began have arrived by then. */
const inFlightMs = 500;

/** Pauses a webhook while nodes and the database are killed, next to one with a filter and one that fails for a while. */
export const pauses = {
  name: 'pauses',
  summary:
    'a webhook is paused while a node or the database is killed, alongside one with a filter and one that fails: nothing is sent meanwhile, and every incident is reported once',
  shape: () => ({
    nodes: 2,
    doors: 3,
    load: { perSecond: 80, batchMax: 10 },
    filters: {
      [filtered]: {
        filter: { workspace_id: ['WS-0', 'WS-3'], payload: { duration_ms: [{ gte: 50 }] } },
        passes: (number) => [0, 3].includes(number % 7) && number >= 50,
      },
    },
  }),
  async run(world, random) {
    for (const victim of random.shuffle(['node', 'database', 'both'])) {
      await wait(random.between(300, 800));
      await world.receivers.behave(failing, 'server error');
      await world.change(paused, { status: 'paused' });
      await wait(inFlightMs);
      const before = await accepted(world);
      await world.fault(`${victim} killed during a pause`, async () => {
        const node = random.pick(world.nodes);
        await Promise.all([victim !== 'database' && node.kill(), victim !== 'node' && world.cluster.kill()]);
        await wait(random.between(0, 800));
        if (victim !== 'node') await world.cluster.start();
        if (victim !== 'database') await node.start();
        await Promise.all(world.nodes.map((each) => each.ready()));
        await wait(random.between(500, 1_500));
      });
      world.expect('nothing is sent to a paused webhook', (await accepted(world)) === before);
      await world.change(paused, { status: 'active' });
      await world.receivers.behave(failing, 'ok');
    }
    world.check('every incident begins and ends once', async () => {
      const types = await world.incidents(failing);
      return types.length > 0 && types.length % 2 === 0 && types.every((type, n) => type === steps[n % 2]);
    });
  },
};

const steps = ['webhook.failing', 'webhook.recovered'];
const accepted = async (world) => (await world.receivers.progress())[paused];
