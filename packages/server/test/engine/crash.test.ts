import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { event, sendRequest } from '../support/client.js';
import { command } from '../support/command.js';
import { durableDirectory, serverPid } from '../support/data-directory.js';
import { serve } from '../support/process.js';
import { startReceiver } from '../support/receiver.js';
import { platformToken } from '../support/service.js';

const eventsTotal = 400;
const eventsBeforeKill = 200;
const eventsPerRequest = 10;
const producers = 4;
const organization = 'ORG-crash';

type Node = Awaited<ReturnType<typeof serve>>;

/** Ends the service and its PostgreSQL with all processes of it, none of which gets to say a word. */
async function killEverything(node: Node, directory: string): Promise<void> {
  const server = await serverPid(directory);
  if (server === undefined) throw new Error('no server');
  const children = await readFile(`/proc/${server}/task/${server}/children`, 'utf8').catch(() => '');
  node.process.kill('SIGKILL');
  for (const pid of [server, ...children.split(' ').filter(Boolean).map(Number)]) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      // Backends go by themselves once their server is gone.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  await node.process.ended;
}

// `faults.test.ts` kills a service and a PostgreSQL of its own, twice. Here, the service starts its server again.
test('every acknowledged event arrives although the service and its embedded database are killed, and none more than twice', async () => {
  const directory = await durableDirectory();
  const start = () =>
    serve({
      POSTHORN_DATA_DIR: directory,
      POSTHORN_PLATFORM_TOKEN: platformToken,
      POSTHORN_EGRESS_ALLOW: '127.0.0.0/8',
      POSTHORN_LOG_LEVEL: 'info',
    });
  let node = await start();

  const arrivals = new Map<string, number>();
  let heard: () => void = () => undefined;
  const receiver = await startReceiver({
    onDelivery: (response, { envelope }) => {
      arrivals.set(envelope.id, (arrivals.get(envelope.id) ?? 0) + 1);
      response.end();
      heard();
    },
  });
  const { stdout } = await command(['token', 'create', '--organization', organization], {
    POSTHORN_DATA_DIR: directory,
  });
  const created = await sendRequest(`${node.publicUrl}/v1/webhooks`, {
    method: 'POST',
    token: stdout.trim(),
    body: { organization_id: organization, url: receiver.url, event_types: ['*'] },
  });
  expect(created.body.data.status).toBe('active');

  const acknowledged = new Set<string>();
  let progress: () => void = () => undefined;
  let restarted = Promise.resolve();

  async function produce(): Promise<void> {
    while (acknowledged.size < eventsTotal) {
      await restarted;
      const body = Array.from({ length: eventsPerRequest }, () => event({ organization_id: organization }));
      const url = `${node.platformUrl}/platform/events`;
      const response = await sendRequest(url, { method: 'POST', token: platformToken, body }).catch(
        () => undefined,
      );
      if (response?.status !== 201) continue;
      for (const { id } of response.body.data) acknowledged.add(id);
      progress();
    }
  }

  async function untilAcknowledged(count: number): Promise<void> {
    while (acknowledged.size < count) {
      await new Promise<void>((resolve) => {
        progress = resolve;
      });
    }
  }

  const producing = Promise.all(Array.from({ length: producers }, produce));
  await untilAcknowledged(eventsBeforeKill);
  let isRestarted: () => void = () => undefined;
  restarted = new Promise((resolve) => {
    isRestarted = resolve;
  });
  await killEverything(node, directory);
  node = await start();
  isRestarted();
  await producing;

  const missing = () => [...acknowledged].filter((id) => !arrivals.has(id));
  while (missing().length > 0) {
    await new Promise<void>((resolve) => {
      heard = resolve;
    });
  }

  expect(Math.max(...arrivals.values())).toBeLessThanOrEqual(2);

  node.process.kill('SIGTERM');
  expect((await node.process.ended).code).toBe(0);
});
