import { until } from '../waiting.js';
import { stopAndKill } from './point.js';

/** Kills between sending and settling: before the response, before the settlement, and after its commit. */
export const settlePoints = {
  name: 'settle-points',
  summary: 'kill -9 between a request and its response, before its settlement, and after the settlement',
  shape: () => ({ nodes: 1, doors: 1 }),
  isQuiet: true,
  async run(world, random) {
    const [path] = world.doors;
    const accepted = async (number) => {
      const look = async () => (await world.receivers.report())[0].succeeded[number] > 0;
      await until('the response of the receiver', look, 10_000);
    };
    const points = {
      'before the response': {
        arm: async () => {
          await world.receivers.behave(path, 'hold');
          const { arrived } = await world.receivers.arrival(path);
          await arrived;
          await world.receivers.behave(path, 'ok');
        },
        requests: 2,
      },
      'before the settlement': {
        arm: () => world.proxy.stopAt('settle', 'before', 'WDLV-'),
        reached: accepted,
        requests: 2,
      },
      'after the settlement': {
        arm: () => world.proxy.stopAt('settle', 'after', 'WDLV-'),
        reached: accepted,
        requests: 1,
      },
    };
    for (const name of random.shuffle(Object.keys(points)))
      await stopAndKill(world, random, name, { ...points[name], isRecorded: true });
  },
};
