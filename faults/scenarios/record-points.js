import { stopAndKill } from './point.js';

const points = {
  before: 'before a recording is sent',
  middle: 'in the middle of a recording',
  after: 'after a recording has committed',
};

/** Kills at the points of a recording: before its commit, in the middle of the statement, and after its commit. */
export const recordPoints = {
  name: 'record-points',
  summary: 'kill -9 before a recording commits, while it is being sent, and after it has committed',
  shape: () => ({ nodes: 1, doors: 1 }),
  isQuiet: true,
  async run(world, random) {
    for (const moment of random.shuffle(Object.keys(points))) {
      await stopAndKill(world, random, points[moment], {
        arm: () => world.proxy.stopAt('record batch', moment),
        // The node never learned about the event, so it cannot have sent it.
        requests: 1,
        isRecorded: moment === 'after',
      });
    }
  },
};
