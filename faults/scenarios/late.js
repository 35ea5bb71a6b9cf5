import { setTimeout as wait } from 'node:timers/promises';
import { leaseMs } from '../node.js';
import { until } from '../waiting.js';

const held = '/hook-1';

/** Pauses a node in the middle of its attempts until the other has taken over, and wakes it. */
export const late = {
  name: 'late',
  summary: 'a node paused until its lease has expired, then resumed: its late settlements do not count',
  shape: () => ({ nodes: 2, load: { perSecond: 60, batchMax: 5 } }),
  async run(world, random) {
    const [sleeper, other] = world.nodes;
    await wait(random.between(300, 800));
    await world.receivers.behave(held, 'hold');
    const { arrived } = await world.receivers.arrival(held);
    await arrived;
    // Meanwhile, both nodes send requests that get no response.
    await wait(random.between(100, 400));
    await world.fault('node paused past its lease', async () => {
      world.producer.only([other]);
      sleeper.pause();
      await world.receivers.behave(held, 'ok');
      await wait(leaseMs + random.between(500, 1_500));
      const before = await accepted(world);
      await until('deliveries by the other node', async () => (await accepted(world)) > before, 15_000);
      // In half of the runs, responses wait in the sockets of the paused node; in the others they never come.
      if (random.next() < 0.5) await world.receivers.release(held);
      sleeper.resume();
      // The node now tries to write its late outcomes, which must be refused.
      await wait(1_500);
      world.producer.only(world.nodes);
    });
    // If a late failure counted, the delivery would be attempted again although the other node has settled it.
    world.check('late settlements do not count', ({ duplicates }) => duplicates.retried === 0);
  },
};

const accepted = async (world) => (await world.receivers.progress())[held];
