import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createReceiver } from '@posthorn/receiver';
import { signedRequest } from '@posthorn/receiver/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { root } from '../../packages/server/test/support/docs.js';
import { freePort, run, Server, snippet, Workshop } from '../../packages/server/test/support/snippets.js';
import { eventually } from '../../packages/server/test/support/tenant.js';

const readme = 'packages/receiver/README.md';
const secret = 'a-secret-of-the-docs';
const workshop = await Workshop.open();

test.each([readme, 'docs/receive-webhooks.md'])('the first program of %s receives events', async (page) => {
  const port = await freePort();
  const file = workshop.path(`${page.replaceAll('/', '-')}.mjs`);
  await writeFile(
    file,
    snippet(page, 'js', 'const receiver = createReceiver({').replace('3000', `${port}, '127.0.0.1'`),
  );
  const receiver = new Server(process.execPath, [file], { WEBHOOK_SECRET: secret });
  await receiver.isListening(port);
  const url = `http://127.0.0.1:${port}/webhooks`;
  expect((await fetch(url, signedRequest('webhook.verification', { secret }))).status).toBe(200);
  expect((await fetch(url, signedRequest('invoice.paid', { secret, data: { id: 'INV-7' } }))).status).toBe(
    200,
  );
  expect((await fetch(url, signedRequest('invoice.paid', { secret, fault: 'wrong_secret' }))).status).toBe(
    401,
  );
  await eventually(
    async () => receiver.output,
    (output) =>
      output.includes('INV-7 is paid\n') && output.includes('signature_mismatch: The secret is not'),
  );
});

test('the program that follows the stream waits while the service is unreachable or busy, then continues', async () => {
  const event = { created_at: '2026-11-15T04:19:32.453Z', type: 'invoice.paid', id: 'EVT-1' };
  const responders: ((response: ServerResponse) => unknown)[] = [
    (response) => response.destroy(),
    (response) => response.writeHead(502).end(),
    (response) => response.writeHead(503).end(),
    (response) => response.writeHead(503, { 'Retry-After': '7' }).end(),
    (response) => response.end(JSON.stringify({ data: [event], meta: { cursor: 'c', has_more: true } })),
  ];
  const service = createServer((_request, response) => {
    const respond = responders.shift();
    if (respond) respond(response);
    else response.writeHead(401).end('No more.');
  }).listen(0, '127.0.0.1');
  await once(service, 'listening');
  onTestFinished(() => void service.close());
  const file = workshop.path('follow.mjs');
  const program = snippet('docs/read-events.md', 'js', "'Retry-After'")
    .replace('127.0.0.1:7400', `127.0.0.1:${(service.address() as AddressInfo).port}`)
    .replace('setTimeout(next, seconds * 1000)', "next(console.log('wait', seconds))");
  await writeFile(file, program);
  const { stdout, stderr } = await run(process.execPath, [file], { TOKEN: 'pht_docs' });
  expect(stdout).toBe('wait 5\nwait 5\nwait 5\nwait 7\n2026-11-15T04:19:32.453Z invoice.paid EVT-1\n');
  expect(stderr).toContain('No more.');
});

test('the receiver of the tour tells the service why it refuses a request', async () => {
  const port = await freePort();
  const file = workshop.path('tour.mjs');
  await writeFile(file, snippet('README.md', 'js', 'createServer(').replace('3000', String(port)));
  const receiver = new Server(process.execPath, [file], {});
  await receiver.isListening(port);
  const forged = signedRequest('invoice.paid', { secret: 'tour-secret-0001', fault: 'wrong_secret' });
  const response = await fetch(`http://127.0.0.1:${port}/`, forged);
  expect([response.status, await response.text()]).toEqual([
    401,
    expect.stringMatching(/^signature_mismatch: /),
  ]);
});

test('the transaction of the README is that of the example', async () => {
  const example = await readFile(join(root, 'examples/exactly-once/receiver.mjs'), 'utf8');
  expect(example).toContain(snippet(readme, 'js', 'on conflict do nothing'));
});

test('the Redis of the README is that of the example', async () => {
  const example = await readFile(join(root, 'examples/redis/redis-seen.mjs'), 'utf8');
  expect(snippet(readme, 'js', 'redisSeen')).toBe(example);
});

describe('deduplication with Redis', async () => {
  const { redisSeen } = await import(join(root, 'examples/redis/redis-seen.mjs'));

  /** What the commands of Redis do, without a server. */
  class Redis {
    readonly values = new Map<string, string>();
    async set(key: string, value: string, { condition }: { condition?: 'NX' }): Promise<string | null> {
      if (condition === 'NX' && this.values.has(key)) return null;
      this.values.set(key, value);
      return 'OK';
    }
    get = async (key: string) => this.values.get(key) ?? null;
    del = async (key: string) => Number(this.values.delete(key));
  }

  const sendTo = (receiver: ReturnType<typeof createReceiver>) => {
    const { body, headers } = signedRequest('invoice.paid', { secret, envelope: { id: 'EVT-1' } });
    return receiver.receive(body, headers);
  };

  test('handles an event once among processes, and again if its handler failed', async () => {
    const redis = new Redis();
    const outcomes = [new Error('at first'), undefined];
    let handled = 0;
    const handler = () => {
      handled += 1;
      const error = outcomes.shift();
      if (error) throw error;
    };
    const on = { 'invoice.paid': handler };
    const [one, other] = [1, 2].map(() =>
      createReceiver({ secret, on, seen: redisSeen(redis), onError: () => {} }),
    );
    const texts = [];
    for (const receiver of [one!, other!, one!, other!]) texts.push((await sendTo(receiver)).text);
    expect(texts).toEqual(['The handler failed.', 'handled', 'duplicate', 'duplicate']);
    expect(handled).toBe(2);
  });

  test('makes a duplicate wait for its turn while another process works', async () => {
    const redis = new Redis();
    redis.values.set('posthorn:EVT-1', 'working');
    const on = { 'invoice.paid': () => {} };
    const receiver = createReceiver({ secret, on, seen: redisSeen(redis), onError: () => {} });
    expect((await sendTo(receiver)).status).toBe(500);
  });
});
