import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { Pool } from 'undici';

const entry = new URL('../packages/server/bin/posthorn.js', import.meta.url).pathname;
const organization = 'ORG-demo';

/** A server process on an embedded database of its own, with what it takes to talk to it. */
export async function startServer(env = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'posthorn-bench-'));
  // PostgreSQL runs as another user where we are root; it has to get there.
  await chmod(dataDir, 0o711);
  const child = spawn(process.execPath, [entry, 'serve', '--allow-loopback'], {
    env: {
      ...process.env,
      DATABASE_URL: '',
      POSTHORN_DATA_DIR: dataDir,
      POSTHORN_PORT: '0',
      POSTHORN_PLATFORM_PORT: '0',
      POSTHORN_LOG_LEVEL: 'warn',
      POSTHORN_RATE_LIMIT_READS: '0',
      POSTHORN_RATE_LIMIT_WRITES: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const urls = await announced(child);
  const token = (await readFile(join(dataDir, 'demo-token'), 'utf8')).trim();
  const platformToken = (await readFile(join(dataDir, 'platform-token'), 'utf8')).trim();
  const database = new pg.Client({ host: await socketOf(dataDir), user: 'posthorn', database: 'posthorn' });
  await database.connect();
  const platform = new Pool(urls.platform, { connections: 64 });
  return {
    ...urls,
    pid: child.pid,
    database,
    token,
    /** Events, or their JSON where making that should not count. */
    async record(events) {
      const { statusCode, body } = await platform.request({
        path: '/platform/events',
        method: 'POST',
        headers: { authorization: `Bearer ${platformToken}`, 'content-type': 'application/json' },
        body: typeof events === 'string' ? events : JSON.stringify(events),
      });
      const text = await body.text();
      if (statusCode !== 201) throw new Error(`recording answered ${statusCode}: ${text}`);
    },
    async createWebhook(url, eventTypes = '*') {
      const response = await fetch(`${urls.api}/v1/webhooks`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ organization_id: organization, url, event_types: eventTypes }),
      });
      const { data } = await response.json();
      if (data?.status !== 'active') throw new Error(`the webhook is not active: ${JSON.stringify(data)}`);
      return data;
    },
    async memoryMb() {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
      return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    },
    /** Milliseconds of CPU that the server process and PostgreSQL have used so far. */
    async cpuMs() {
      const postmaster = Number(
        (await readFile(join(await clusterOf(dataDir), 'postmaster.pid'), 'utf8')).split('\n')[0],
      );
      const usage = await processes();
      const database = [...usage.values()].filter(
        ({ pid, parent }) => pid === postmaster || parent === postmaster,
      );
      return { server: usage.get(child.pid).ms, database: database.reduce((sum, { ms }) => sum + ms, 0) };
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

/** The readable lines of the start name the addresses; the last of them ends the wait. */
async function announced(child) {
  let text = '';
  await new Promise((ready, ended) => {
    child.stdout.on('data', (chunk) => {
      text += chunk;
      if (text.includes('/v1/events?')) ready();
    });
    child.once('exit', () => ended(new Error(`the server ended before it was ready: ${text}`)));
  });
  child.once('exit', (code) => {
    if (code !== 0) throw new Error(`the server ended with exit code ${code}`);
  });
  return {
    api: /API +(http:\S+)/.exec(text)[1],
    platform: /Platform listener +(http:\S+)/.exec(text)[1],
  };
}

async function socketOf(dataDir) {
  return (await readFile(join(await clusterOf(dataDir), 'postmaster.pid'), 'utf8')).split('\n')[4];
}

async function clusterOf(dataDir) {
  const pointed = (await readFile(join(dataDir, 'database-directory'), 'utf8').catch(() => '')).trim();
  return join(pointed || dataDir, 'postgres');
}

/** Milliseconds of CPU that processes have used so far, added up. */
export async function cpuMsOf(...pids) {
  const usage = await processes();
  return pids.reduce((sum, pid) => sum + usage.get(pid).ms, 0);
}

/** Every process with its parent and the CPU it used, in milliseconds, from /proc. */
async function processes() {
  const found = new Map();
  for (const name of await readdir('/proc')) {
    const stat = /^\d+$/.test(name) ? await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '') : '';
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticksMs = 10;
    if (stat !== '') {
      const ms =
        (Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14])) * ticksMs;
      found.set(Number(name), { pid: Number(name), parent: Number(fields[1]), ms });
    }
  }
  return found;
}

/** A receiver in a process of its own. */
export async function startReceiver() {
  const child = fork(new URL('./receiver.js', import.meta.url));
  const answer = async () => (await once(child, 'message'))[0];
  const { port } = await answer();
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid,
    /** Starts counting anew; resolves to a promise for the moment `count` requests have arrived. */
    async expect(count) {
      child.send({ expect: count });
      await answer();
      return { arrived: count === 0 ? undefined : answer() };
    },
    async report() {
      child.send({ report: true });
      return answer();
    },
    /** From now on `/fickle` hangs. */
    hang: () => child.send({ hang: true }),
    stop: () => child.kill(),
  };
}

let number = 0;

export function makeEvent(fields = {}) {
  number += 1;
  return {
    type: 'agent.run.completed',
    organization_id: organization,
    workspace_id: `WS-${number % 50}`,
    actor: { type: 'agent', id: `AGT-${number % 97}` },
    subject: { type: 'run', id: `RUN-${number}` },
    payload: { service_line_id: 'LIN-1', duration_ms: 48213, tokens_used: 15377, outcome: 'success' },
    ...fields,
  };
}

/** Calls `work` `count` times, `width` at once. */
export async function spread(count, width, work) {
  let next = 0;
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (next < count) {
        next += 1;
        await work(next);
      }
    }),
  );
}

/** What PostgreSQL says it wrote in this database, settled to the moment. */
export async function written(database) {
  await database.query('select pg_stat_force_next_flush()');
  // A backend that falls idle publishes its figures after ten seconds at the latest.
  await new Promise((waited) => setTimeout(waited, 11_000));
  const { rows } = await database.query(`
    select (select xact_commit::float8 from pg_stat_database where datname = current_database()) as commits,
           (select sum(n_tup_ins + n_tup_upd + n_tup_del)::float8 from pg_stat_user_tables
             where schemaname = 'posthorn') as rows`);
  return rows[0];
}

export function median(values) {
  return percentile(values, 0.5);
}

export function percentile(values, fraction) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))];
}
