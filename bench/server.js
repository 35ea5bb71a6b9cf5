import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { Pool } from 'undici';
import { addTokens } from './access.js';
import { cpuMsOfFamily, cpuMsOfProcess } from './cpu.js';
import { organization } from './load.js';
import { profiling } from './profile.js';

const own = new URL('../packages/server/bin/posthorn.js', import.meta.url).pathname;
const { POSTHORN_BENCH_ENTRY: other, ...environment } = process.env;
/** The server that is measured: of this checkout, or of another one. */
export const entry = other ? resolve(other) : own;
const pollMs = 20;

/** Starts a server process on its own embedded database. Returns what is needed to use it. */
export async function startServer(env = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'posthorn-bench-'));
  // If we are root, PostgreSQL runs as another user, which must be able to enter the directory.
  await chmod(dataDir, 0o711);
  const [port, platformPort] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, [...profiling, entry, 'serve', '--allow-loopback'], {
    env: {
      ...environment,
      DATABASE_URL: '',
      POSTHORN_DATA_DIR: dataDir,
      POSTHORN_PORT: String(port),
      POSTHORN_PLATFORM_PORT: String(platformPort),
      POSTHORN_LOG_LEVEL: 'warn',
      POSTHORN_RATE_LIMIT_READS: '0',
      POSTHORN_RATE_LIMIT_WRITES: '0',
      ...env,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  // Stops the server and its database even if a benchmark fails.
  process.once('exit', () => child.kill('SIGTERM'));
  const api = `http://127.0.0.1:${port}`;
  const platformUrl = `http://127.0.0.1:${platformPort}`;
  const token = await ready(child, api, join(dataDir, 'demo-token'));
  const platformToken = (await readFile(join(dataDir, 'platform-token'), 'utf8')).trim();
  const { postmaster, socket } = await runningCluster(dataDir);
  const database = new pg.Client({ host: socket, user: 'posthorn', database: 'posthorn' });
  await database.connect();
  const platform = new Pool(platformUrl, { connections: 64 });
  const tokens = new Map([[organization, token]]);
  return {
    api,
    pid: child.pid,
    database,
    token,
    /** Records events. They can be given as JSON, so that creating it is not measured. */
    async record(events) {
      const { statusCode, body } = await platform.request({
        path: '/platform/events',
        method: 'POST',
        headers: { authorization: `Bearer ${platformToken}`, 'content-type': 'application/json' },
        body: typeof events === 'string' ? events : JSON.stringify(events),
      });
      const text = await body.text();
      if (statusCode !== 201) throw new Error(`recording returned ${statusCode}: ${text}`);
    },
    async createWebhook(url, eventTypes = '*', fields = {}) {
      const bearer = tokens.get(fields.organization_id ?? organization);
      const response = await fetch(`${api}/v1/webhooks`, {
        method: 'POST',
        headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
        body: JSON.stringify({ organization_id: organization, url, event_types: eventTypes, ...fields }),
      });
      const body = await response.json();
      if (body.data?.status !== 'active') throw new Error(`no active webhook: ${JSON.stringify(body)}`);
      return body.data;
    },
    /** Lets webhooks be created for further organizations. */
    async openOrganizations(names) {
      for (const [name, text] of await addTokens(database, names)) tokens.set(name, text);
    },
    async memoryMb() {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
      return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    },
    /** Returns how many milliseconds of CPU time the server process and PostgreSQL have used so far. */
    async cpuMs() {
      return { server: await cpuMsOfProcess(child.pid), database: await cpuMsOfFamily(postmaster) };
    },
    async stop() {
      await platform.close();
      await database.end();
      child.kill('SIGTERM');
      await once(child, 'exit');
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Waits until the demo events can be read, which is the last step of startup. Returns the token that can read them. */
async function ready(child, api, tokenFile) {
  child.once('exit', (code) => {
    if (code !== 0) throw new Error(`the server ended with exit code ${code}`);
  });
  for (;;) {
    const token = (await readFile(tokenFile, 'utf8').catch(() => '')).trim();
    const response = await fetch(`${api}/v1/events?organization_id=${organization}`, {
      headers: { authorization: `Bearer ${token}` },
    }).catch(() => undefined);
    const { data = [] } = response?.ok ? await response.json() : {};
    if (data.length > 0) return token;
    await new Promise((waited) => setTimeout(waited, pollMs));
  }
}

export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

async function runningCluster(dataDir) {
  const pointed = (await readFile(join(dataDir, 'database-directory'), 'utf8').catch(() => '')).trim();
  const lines = (await readFile(join(pointed || dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
  return { postmaster: Number(lines[0]), socket: lines[4] };
}
