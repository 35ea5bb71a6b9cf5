import { setTimeout as wait } from 'node:timers/promises';

/** Makes the database slow, as an overloaded one or a bad network does. */
export const slow = {
  name: 'slow',
  summary: 'a slow database: all data is delayed by up to 150 ms, and then nothing gets through',
  shape: () => ({ nodes: 2, load: { perSecond: 150 } }),
  async run(world, random) {
    await wait(random.between(300, 800));
    await world.fault('slow database', async () => {
      const mostMs = random.between(30, 150);
      // Jitter is not part of the plan: how many pieces there are depends on the machine.
      world.proxy.delayMs = () => Math.random() * mostMs;
      await wait(3_000);
      world.proxy.delayMs = () => 0;
    });
    await wait(random.between(300, 800));
    await world.fault('silent network', async () => {
      world.proxy.silence();
      await wait(random.between(500, 5_500));
      world.proxy.heal();
      await Promise.all(world.nodes.map((node) => node.ready()));
    });
    await wait(300);
  },
};
