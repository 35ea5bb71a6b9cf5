import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { cpuMsOfProcess } from './cpu.js';
import { startDatabase } from './database.js';
import { startRedis } from './redis.js';
import { startServer } from './server.js';
import { settled } from './store.js';

const askEveryMs = 200;
/** The receiver's path for each event type. */
const paths = { 'agent.run.completed': '/ok', 'invoice.paid': '/timed', 'task.created': '/flaky' };

/** Starts Posthorn with a webhook for each type. */
export async function startPosthorn(receiver) {
  const server = await startServer({ POSTHORN_RETRY_SCHEDULE: '1s,2s,4s,8s' });
  for (const [type, path] of Object.entries(paths))
    await server.createWebhook(`${receiver.url}${path}`, [type]);
  const { rows } = await server.database.query('select count(*)::int as before from posthorn.deliveries');
  return {
    record: (body) => server.record(body),
    database: server.database,
    settled: () => settled(server.database),
    memoryMb: () => server.memoryMb(),
    async cpuMs() {
      const { server: service, database } = await server.cpuMs();
      return { service, stores: database };
    },
    async logged() {
      const { rows: now } = await server.database.query(
        "select count(*)::int as logged from posthorn.deliveries where status = 'success'",
      );
      return now[0].logged - rows[0].before;
    },
    stop: () => server.stop(),
  };
}

/** Starts the service around a job queue, with the stores that it needs. */
export async function startPeer(name, receiver, needs) {
  const database = needs.database ? await startDatabase() : undefined;
  const redis = needs.redis ? await startRedis() : undefined;
  const given = { receiverUrl: receiver.url, paths, databaseUrl: database?.url, redis: redis?.socket };
  const child = fork(new URL('./peers/service.js', import.meta.url), [name, JSON.stringify(given)]);
  child.once('exit', (code) => {
    if (code) throw new Error(`the service around ${name} ended with exit code ${code}`);
  });
  const received = (key) =>
    new Promise((found) => {
      const look = (message) => {
        if (!(key in message)) return;
        child.off('message', look);
        found(message[key]);
      };
      child.on('message', look);
    });
  const request = (key) => {
    const response = received(key);
    child.send({ ask: key });
    return response;
  };
  const pool = new Pool(`http://127.0.0.1:${await received('port')}`, { connections: 64 });
  return {
    database: database?.client,
    async record(body) {
      const { statusCode, body: response } = await pool.request({
        path: '/events',
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
      const text = await response.text();
      if (statusCode !== 201) throw new Error(`${name} returned ${statusCode}: ${text}`);
    },
    async settled() {
      while (!(await request('idle'))) await wait(askEveryMs);
    },
    logged: () => request('logged'),
    async memoryMb() {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)[1]) / 1024);
    },
    async cpuMs() {
      const stores = ((await database?.cpuMs()) ?? 0) + ((await redis?.cpuMs()) ?? 0);
      return { service: await cpuMsOfProcess(child.pid), stores };
    },
    async stop() {
      await pool.close();
      child.disconnect();
      await once(child, 'exit');
      await redis?.stop();
      await database?.stop();
    },
  };
}
