import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { cpuMsOfFamily } from './cpu.js';

export const hasRedis = () => spawnSync('redis-server', ['--version']).status === 0;

/**
 * Starts a Redis that nobody else uses. It is as durable as the documentation of BullMQ recommends: every write goes to
 * the append-only file, which is synced once per second, and nothing is evicted.
 */
export async function startRedis() {
  const place = await mkdtemp(join(tmpdir(), 'posthorn-bench-'));
  const socket = join(place, 'redis.sock');
  const settings = { port: 0, unixsocket: socket, dir: place, save: '', appendonly: 'yes' };
  const options = Object.entries({ ...settings, appendfsync: 'everysec', 'maxmemory-policy': 'noeviction' });
  const child = spawn(
    'redis-server',
    options.flatMap(([name, value]) => [`--${name}`, String(value)]),
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const end = () => child.kill();
  process.once('exit', end);
  while (
    await access(socket).then(
      () => false,
      () => true,
    )
  ) {
    if (child.exitCode !== null) throw new Error(`redis-server ended with exit code ${child.exitCode}`);
    await wait(20);
  }
  return {
    socket,
    cpuMs: () => cpuMsOfFamily(child.pid),
    async stop() {
      process.off('exit', end);
      child.kill();
      await once(child, 'exit');
      await rm(place, { recursive: true, force: true });
    },
  };
}
