import { setTimeout as wait } from 'node:timers/promises';
import { accepting, refusing } from '../behaviors.js';

const hostile = ['/hook-1', '/hook-2', '/hook-3'];
const rounds = 3;

/** Lets receivers behave in every hostile way in turn, next to one that behaves well. */
export const receivers = {
  name: 'receivers',
  summary:
    'receivers that hang, reset connections, redirect, flood, speak another protocol and fail, alongside a healthy one',
  shape: () => ({ nodes: 1, doors: 4, load: { perSecond: 100 } }),
  async run(world, random) {
    const kinds = random.shuffle([...refusing, ...accepting]);
    for (let round = 0; round < rounds; round += 1) {
      await wait(random.between(300, 800));
      const chosen = hostile.map((_, index) => kinds[(round * hostile.length + index) % kinds.length]);
      await world.fault(`receivers: ${chosen.join(', ')}`, async () => {
        await Promise.all(hostile.map((path, index) => world.receivers.behave(path, chosen[index])));
        await wait(random.between(1_000, 2_500));
        await Promise.all(hostile.map((path) => world.receivers.behave(path, 'ok')));
      });
    }
  },
};
