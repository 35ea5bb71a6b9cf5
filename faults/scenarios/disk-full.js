import { spawnSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { undoAtExit } from '../processes.js';
import { until } from '../waiting.js';

const diskMb = 320;

/** Gives the database a small disk of its own, fills it under load, and frees it again. */
export const diskFull = {
  name: 'disk-full',
  summary: "the database's disk fills up, and later has space again",
  /** Returns why this cannot run here. */
  missing: () => (process.getuid() === 0 ? undefined : 'only root can mount a small file system'),
  shape: () => ({
    ...{ nodes: 1, load: { perSecond: 150, payloadMax: 8_000 } },
    walMb: 1,
    place: (world) => {
      const directory = join(world.path, 'disk');
      mount(directory);
      const unmount = undoAtExit(() => spawnSync('umount', ['-l', directory]));
      world.closeLater(unmount);
      return directory;
    },
    prepare: ({ cluster }) => cluster.set({ min_wal_size: '4MB', max_wal_size: '16MB' }),
  }),
  async run(world, random) {
    const ballast = join(world.path, 'disk', 'ballast');
    await wait(random.between(500, 1_500));
    await world.fault('disk full', async () => {
      fill(ballast, world);
      await until('a refusal', () => (world.producer.statuses.get(503) ?? 0) > 0, 20_000);
      await wait(random.between(500, 2_500));
      rmSync(ballast);
      // PostgreSQL ends itself if it cannot write its log.
      if (!world.cluster.isRunning) await world.cluster.start();
      await world.nodes[0].ready();
    });
    await wait(1_000);
  },
};

function mount(directory) {
  spawnSync('mkdir', ['-p', directory]);
  const { status, stderr } = spawnSync(
    'mount',
    ['-t', 'tmpfs', '-o', `size=${diskMb}m`, 'tmpfs', directory],
    {
      encoding: 'utf8',
    },
  );
  if (status !== 0) throw new Error(`the small file system could not be mounted: ${stderr}`);
}

/** Fills the disk to the last block. */
function fill(ballast, world) {
  const { bavail, bsize } = statfsSync(join(world.path, 'disk'));
  const block = Buffer.alloc(1024 * 1024);
  for (let left = bavail * bsize; left > 0; left -= block.length) {
    try {
      writeFileSync(ballast, block.subarray(0, Math.min(left, block.length)), { flag: 'a' });
    } catch (error) {
      if (error.code === 'ENOSPC') return;
      throw error;
    }
  }
}
