import { setTimeout as wait } from 'node:timers/promises';
import { leaseMs } from '../node.js';

/** Kills one of several nodes for longer than its lease, so that the others attempt its deliveries. */
export const takeover = {
  name: 'takeover',
  summary: 'two or three nodes, one killed at a time: the others deliver what it held',
  shape: (random) => ({ nodes: random.between(2, 3), load: { perSecond: 200 } }),
  async run(world, random) {
    await wait(random.between(500, 1_500));
    const victim = random.pick(world.nodes);
    await world.fault('node killed', async () => {
      await victim.kill();
      await wait(leaseMs + random.between(0, 1_000));
    });
    await victim.start();
    await wait(random.between(300, 800));
    const another = random.pick(world.nodes.filter((node) => node !== victim));
    await world.fault('node killed', async () => {
      await another.kill();
      await another.start();
    });
  },
};
