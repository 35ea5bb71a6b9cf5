import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../waiting.js';

/** Kills the node and the database together once, under a small load: the short form for `npm test`. */
export const short = {
  name: 'short',
  summary: 'kill -9 of node and database once, in a few seconds',
  // Bounded, because a busy machine takes longer to start the node again, and more would wait for it.
  shape: () => ({ nodes: 1, load: { perSecond: 150, eventsMax: 300 } }),
  async run(world, random) {
    const [node] = world.nodes;
    const enough = random.between(50, 150);
    await until('the first events', () => world.producer.acknowledgedCount >= enough, 20_000, 10);
    await world.fault('both killed', async () => {
      await Promise.all([node.kill(), world.cluster.kill()]);
      await world.cluster.start();
      await node.start();
    });
    await wait(300);
  },
};
