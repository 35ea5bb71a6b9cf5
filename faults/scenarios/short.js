import { until } from '../waiting.js';

/** Kills the node and the database together, twice, under a small load: the short form for `npm test`. */
export const short = {
  name: 'short',
  summary: 'kill -9 of node and database twice, in a few seconds',
  shape: () => ({ nodes: 1, doors: 1, load: { perSecond: 150 } }),
  isQuiet: true,
  async run(world, random) {
    const { producer, cluster } = world;
    const [node] = world.nodes;
    for (const kind of ['both killed', 'both killed again']) {
      const settledBefore = (await world.settled()).size;
      producer.start(40);
      const settled = await until('the first outcomes', () => moreThan(world, settledBefore), 20_000);
      const enough = producer.acknowledgedCount + random.between(10, 60);
      // Only this many, because a busy machine takes a long time to start the node again, and the events offered in the
      // meantime must wait.
      producer.start(100);
      await until('an acknowledgement', () => producer.acknowledgedCount >= enough, 20_000, 10);
      const killAndStart = async () => {
        await Promise.all([node.kill(), cluster.kill()]);
        await cluster.start();
        await node.start();
      };
      await world.fault(kind, killAndStart, settled);
    }
    producer.start(20);
  },
};

/** Returns the settled events once there are more than `count`. */
async function moreThan(world, count) {
  const settled = await world.settled();
  return settled.size > count ? settled : undefined;
}
