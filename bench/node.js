import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { cpuMsOfFamily } from './cpu.js';
import { profiling } from './profile.js';

const own = new URL('../packages/server/bin/posthorn.js', import.meta.url).pathname;
const { POSTHORN_BENCH_ENTRY: other, ...environment } = process.env;
/** The server that is measured: of this checkout, or of another one. */
export const entry = other ? resolve(other) : own;
export const platformToken = 'bench-platform-token';
const pollMs = 20;

/** Starts `posthorn serve` on a database that it is given, with further arguments and settings. */
export async function startNode(databaseUrl, args = [], env = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'posthorn-bench-'));
  const [port, platformPort] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, [...profiling, entry, 'serve', ...args], {
    env: {
      ...environment,
      // As in the image.
      NODE_ENV: 'production',
      DATABASE_URL: databaseUrl,
      POSTHORN_DATA_DIR: dataDir,
      POSTHORN_PORT: String(port),
      POSTHORN_PLATFORM_PORT: String(platformPort),
      POSTHORN_PLATFORM_TOKEN: platformToken,
      // A key that protects nothing but this run.
      POSTHORN_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      POSTHORN_EGRESS_ALLOW: '127.0.0.0/8',
      POSTHORN_LOG_LEVEL: 'warn',
      POSTHORN_RATE_LIMIT_READS: '0',
      POSTHORN_RATE_LIMIT_WRITES: '0',
      ...env,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const end = () => child.kill('SIGTERM');
  process.once('exit', end);
  const [api, platformUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${platformPort}`];
  const platform = new Pool(platformUrl, { connections: 64 });
  const call = async (method, path, body) => {
    const headers = { authorization: `Bearer ${platformToken}`, 'content-type': 'application/json' };
    const response = await platform.request({ method, path, headers, body });
    const text = await response.body.text();
    if (response.statusCode >= 300)
      throw new Error(`${method} ${path} returned ${response.statusCode}: ${text}`);
    return text;
  };
  while (!(await isReady(api))) {
    if (child.exitCode !== null) throw new Error(`posthorn serve ended with exit code ${child.exitCode}`);
    await wait(pollMs);
  }
  return {
    api,
    platformUrl,
    /** Records events, given as JSON, and returns their IDs. */
    record: async (body) => JSON.parse(await call('POST', '/platform/events', body)).data.map(({ id }) => id),
    async createToken(organization) {
      const body = JSON.stringify({ organization_id: organization });
      return JSON.parse(await call('POST', '/platform/tokens', body)).data.token;
    },
    /** Returns how many deliveries this node has made so far. */
    async delivered() {
      const metrics = await call('GET', '/metrics');
      const counts = metrics.matchAll(
        /^posthorn_delivery_attempts_total\{[^}]*verdict="delivered"[^}]*\} (\d+)/gm,
      );
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    },
    /** Returns the CPU time of the process and its children. */
    cpuMs: () => cpuMsOfFamily(child.pid),
    async memoryMb() {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)[1]) / 1024);
    },
    async stop() {
      process.off('exit', end);
      await platform.close();
      child.kill('SIGTERM');
      await once(child, 'exit');
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function isReady(api) {
  const response = await fetch(`${api}/readyz`).catch(() => undefined);
  return response?.status === 200;
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}
