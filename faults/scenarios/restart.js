import { setTimeout as wait } from 'node:timers/promises';

/** Restarts the database under load, and pauses all its processes. */
export const restart = {
  name: 'restart',
  summary: 'the database restarted, and paused (SIGSTOP) for up to 6 s',
  shape: () => ({ nodes: 1, load: { perSecond: 200 } }),
  async run(world, random) {
    for (const kind of random.shuffle(['database restarted', 'database paused'])) {
      await wait(random.between(500, 1_500));
      await world.fault(kind, async () => {
        if (kind === 'database restarted') {
          await world.cluster.stop();
          await wait(random.between(0, 1_500));
          await world.cluster.start();
        } else {
          world.cluster.pause();
          await wait(random.between(500, 6_000));
          world.cluster.resume();
        }
        await world.nodes[0].ready();
      });
    }
    await wait(500);
  },
};
