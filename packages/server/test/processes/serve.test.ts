import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { beforeAll, expect, test } from 'vitest';
import { event } from '../support/client.js';
import { preparedDirectory, serverPid } from '../support/data-directory.js';
import { Posthorn } from '../support/process.js';
import { eventually } from '../support/tenant.js';

const readsMax = 40;
let service: Posthorn;
let directory: string;
let publicUrl: string;
let platformUrl: string;
let platformToken: string;
let recorded = 0;

beforeAll(async () => {
  directory = await preparedDirectory();
  service = start();
  publicUrl = (await service.until(/public API listening on (http:[^"\s]+)/))[1] ?? '';
  platformUrl = (await service.until(/platform listener listening on (http:[^"\s]+)/))[1] ?? '';
  await service.until(/Posthorn is ready/);
  platformToken = (await readFile(join(directory, 'platform-token'), 'utf8')).trim();
});

function start(processes = 2, env: Record<string, string> = {}): Posthorn {
  return new Posthorn(['serve', '--processes', String(processes)], {
    ...env,
    POSTHORN_DATA_DIR: directory,
    POSTHORN_PORT: '0',
    POSTHORN_PLATFORM_PORT: '0',
    POSTHORN_RATE_LIMIT_READS: String(readsMax),
  });
}

/** Sends one request, on a new connection unless there is an agent. Returns its status and text. */
async function send(url: string, token: string, body?: unknown, agent?: Agent) {
  const dispatcher = agent ?? new Agent();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await request(url, {
    ...{ dispatcher, headers },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  const text = await response.body.text();
  if (!agent) await dispatcher.close();
  return { status: response.statusCode, text };
}

async function record(agent?: Agent): Promise<number> {
  const { status } = await send(`${platformUrl}/platform/events`, platformToken, event(), agent);
  if (status === 201) recorded += 1;
  return status;
}

/** Returns the values of a metric by the number of the process; `node` is for the node as a whole. */
async function metric(name: string): Promise<Record<string, number>> {
  const { text } = await send(`${platformUrl}/metrics`, platformToken);
  const series = text.matchAll(new RegExp(`^${name}(?:{process="(\\d+)"})? (.*)$`, 'gm'));
  return Object.fromEntries([...series].map(([, process = 'node', value]) => [process, Number(value)]));
}

test('several processes take turns at the same ports, and name themselves in the log', async () => {
  expect(await Promise.all([record(), record(), record(), record()])).toEqual([201, 201, 201, 201]);
  for (const process of [1, 2]) await service.until(new RegExp(`"process":${process},.*"/platform/events"`));
});

test('each returns the metrics of all, labeled with the number of the process', async () => {
  expect(await metric('posthorn_processes')).toEqual({ node: 2 });
  expect(await metric('posthorn_nodes')).toEqual({ 1: 2, 2: 2 });
  expect(await metric('posthorn_database_up')).toEqual({ 1: 1, 2: 1 });
  const { 1: first = 0, 2: second = 0 } = await metric('posthorn_events_recorded_total');
  expect(first + second).toBe(recorded);
  expect(Object.keys(await metric('process_resident_memory_bytes'))).toEqual(['0', '1', '2']);
});

test('a client with one connection gets the whole rate limit, and all processes together twice as much', async () => {
  const token = (await readFile(join(directory, 'demo-token'), 'utf8')).trim();
  const url = `${publicUrl}/v1/token`;
  const agent = new Agent({ connections: 1 });
  const statuses: number[] = [];
  for (let reads = 0; reads <= readsMax; reads += 1)
    statuses.push((await send(url, token, undefined, agent)).status);
  await agent.close();
  expect(statuses).toEqual([...Array(readsMax).fill(200), 429]);
  // New connections alternate between the processes.
  let accepted = 0;
  for (let reads = 0; reads < 2 * readsMax + 4; reads += 1)
    if ((await send(url, token)).status === 200) accepted += 1;
  expect(accepted).toBe(readsMax);
});

test('SIGHUP restarts them one by one without refusing a request', async () => {
  let isOver = false;
  const statuses = new Map<number, number>();
  const client = async () => {
    const agent = new Agent({ connections: 1 });
    while (!isOver) {
      const status = await record(agent);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      // Leaves the machine to the processes that start.
      await delay(20);
    }
    await agent.close();
  };
  const clients = [client(), client(), client()];
  service.kill('SIGHUP');
  await service.until(/all processes were restarted/);
  isOver = true;
  await Promise.all(clients);
  expect([...statuses.keys()]).toEqual([201]);
}, 60_000);

test('if one is killed, the others continue and another one starts', async () => {
  const started = /"worker":2,"pid":(\d+)(?![\s\S]*"worker":2,"pid")/;
  const pid = Number((await service.until(started))[1]);
  process.kill(pid, 'SIGKILL');
  await service.until(/"worker":2,"reason":"signal SIGKILL"/);
  expect(await record()).toBe(201);
  await eventually(
    () => metric('posthorn_processes'),
    ({ node }) => node === 2,
  );
  expect(await metric('posthorn_process_crashes_total')).toEqual({ node: 1 });
});

test('SIGTERM drains and ends all of them, and the server stops with the service', async () => {
  service.kill('SIGTERM');
  const { code, stdout } = await service.ended;
  expect(code).toBe(0);
  expect(await serverPid(directory)).toBeUndefined();
  for (const process of [0, 1, 2]) expect(stdout).toMatch(new RegExp(`"process":${process},"msg":"stopped"`));
});

test('processes that warm up at the same time do not get requests of each other', async () => {
  const warm = start(3, { NODE_ENV: 'production' });
  await warm.until(/"all processes are running"/);
  warm.kill('SIGTERM');
  expect((await warm.ended).stdout).not.toContain('could not warm up');
}, 60_000);

test('SIGHUP while they are starting restarts them as soon as all of them are running', async () => {
  const starting = start();
  await starting.until(/public API listening/);
  starting.kill('SIGHUP');
  await starting.until(/"all processes are running"[\s\S]*"all processes were restarted"/);
}, 60_000);
