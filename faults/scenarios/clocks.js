import { spawnSync } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import { entry, leaseMs } from '../node.js';

/** Runs nodes whose clocks are minutes to hours apart, and kills one of them. */
export const clocks = {
  name: 'clocks',
  summary: 'the clocks of the nodes are up to two days apart, and one node is killed',
  missing: () =>
    spawnSync('faketime', ['--version']).status === 0 ? undefined : 'the program faketime is not installed',
  shape: (random) => {
    const shifts = random.shuffle(['+1d', '-1d', '+7m', '-3h', '+2s']).slice(0, 2);
    const shifted = (by) => ({
      command: ['faketime', '-f', by, process.execPath, entry],
      // Timers use the monotonic clock, which nobody sets.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    });
    return { nodes: [{}, ...shifts.map(shifted)], load: { perSecond: 150 } };
  },
  async run(world, random) {
    await wait(random.between(1_000, 2_000));
    const victim = random.pick(world.nodes);
    await world.fault('node killed', async () => {
      await victim.kill();
      await wait(leaseMs + 500);
      await victim.start();
    });
    await wait(500);
  },
};
