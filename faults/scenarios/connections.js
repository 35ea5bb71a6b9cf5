import { setTimeout as wait } from 'node:timers/promises';

const connectionsMax = 40;

/** Lets other programs take every connection that the database has. */
export const connections = {
  name: 'connections',
  summary: 'a database without free connections',
  shape: () => ({
    ...{ nodes: 2, load: { perSecond: 150 } },
    prepare: ({ cluster }) =>
      cluster.set({ max_connections: connectionsMax, superuser_reserved_connections: 0 }),
  }),
  async run(world, random) {
    await wait(random.between(300, 1_000));
    await world.fault('out of connections', async () => {
      const taken = [];
      let isFull = false;
      const grab = async () => {
        while (taken.length < connectionsMax) {
          const client = await world.cluster.connect().catch(() => undefined);
          if (client === undefined) break;
          taken.push(client);
        }
        isFull ||= taken.length >= connectionsMax - 1;
      };
      await grab();
      // The nodes lose theirs, and whoever is faster gets them.
      const untilMs = performance.now() + random.between(2_000, 4_000);
      while (performance.now() < untilMs) {
        world.proxy.breakAll();
        await grab();
        await wait(100);
      }
      if (!isFull) throw new Error(`only ${taken.length} connections could be taken`);
      await Promise.all(taken.map((client) => client.end()));
      await Promise.all(world.nodes.map((node) => node.ready()));
    });
    await wait(500);
  },
};
