import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Cluster } from '../cluster.js';
import { until } from '../waiting.js';

/**
 * Kills the primary and lets its standby take over at another address. The standby is synchronous: with an asynchronous
 * one PostgreSQL itself would lose what it has acknowledged.
 */
export const failover = {
  name: 'failover',
  summary: 'the primary killed, and a synchronous standby promoted at another address',
  shape: () => {
    let standby;
    return {
      ...{ nodes: 2, load: { perSecond: 200 } },
      prepare: async (world) => {
        standby = await Cluster.at(join(world.path, 'standby'));
        standby.copy(world.cluster);
        standby.follow(world.cluster);
        world.cluster.set({ synchronous_standby_names: '*', synchronous_commit: 'on' });
        world.standby = standby;
        world.closeLater(() => standby.kill());
      },
      started: async (world) => {
        await standby.start();
        const isSynchronous = async () =>
          (await world.cluster.query("select from pg_stat_replication where sync_state = 'sync'")).length > 0;
        await until('the replication', isSynchronous, 20_000);
      },
    };
  },
  async run(world, random) {
    await wait(random.between(1_000, 3_000));
    await world.fault('failover to the standby', async () => {
      await world.cluster.kill();
      await wait(random.between(0, 1_000));
      world.standby.set({ synchronous_standby_names: '' });
      await world.standby.promote();
      world.cluster = world.standby;
      world.proxy.target = world.standby.socket;
      world.proxy.heal();
      await Promise.all(world.nodes.map((node) => node.ready()));
    });
    await wait(1_500);
  },
};
