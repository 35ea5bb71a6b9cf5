import { setTimeout as wait } from 'node:timers/promises';
import { within } from '../waiting.js';

const statements = ['record batch', 'settle', 'claim'];
const cutsCount = 8;

/** Cuts connections in the middle of statements, and before and after them. */
export const cuts = {
  name: 'cuts',
  summary: 'connections cut in the middle of statements, before they are sent, and before their responses',
  shape: () => ({ nodes: 2, load: { perSecond: 200 } }),
  async run(world, random) {
    for (let cut = 0; cut < cutsCount; cut += 1) {
      const [statement, moment] = [random.pick(statements), random.pick(['before', 'middle', 'after'])];
      const link = await within(`a statement '${statement}'`, world.proxy.stopAt(statement, moment), 15_000);
      await world.fault(`cut ${moment} '${statement}'`, async () => {
        // Sometimes at once, and sometimes so late that the node no longer waits.
        await wait(random.pick([0, 0, 50, 3_000]));
        link.cut();
      });
      await wait(random.between(50, 300));
    }
  },
};
