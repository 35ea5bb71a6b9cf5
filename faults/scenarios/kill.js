import { setTimeout as wait } from 'node:timers/promises';

/** Kills a node, the database or both at random moments, and starts them again. */
export const kill = {
  name: 'kill',
  summary: 'kill -9 of a node, of the database and of both, at random moments',
  shape: () => ({ nodes: 1, load: { perSecond: 250 } }),
  async run(world, random) {
    const [node] = world.nodes;
    for (const victim of random.shuffle(['node', 'database', 'both'])) {
      await wait(random.between(300, 1_500));
      await world.fault(`${victim} killed`, async () => {
        const downMs = random.between(0, 800);
        await Promise.all([victim !== 'database' && node.kill(), victim !== 'node' && world.cluster.kill()]);
        await wait(downMs);
        if (victim !== 'node') await world.cluster.start();
        if (victim !== 'database') await node.start();
        else await node.ready();
      });
    }
    await wait(500);
  },
};
