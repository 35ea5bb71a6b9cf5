import { getEventListeners, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import { UnsentBytes } from '../../src/web/unsent-bytes.js';
import { sendRequest } from '../support/client.js';
import { readToEnd } from '../support/raw-http.js';
import { startTailApp } from '../support/tail-app.js';
import { eventually } from '../support/tenant.js';

/** More than the system buffers for a connection. */
const large = 16 * 1024 * 1024;

test('a tail reads a small page, which counts as unsent until its client has read it', async () => {
  const unsent = new UnsentBytes({ organizationBytesMax: large });
  const { url, nextRead, openTail } = await startTailApp({ unsent });
  const statusOf = async (organization: string) =>
    (await sendRequest(`${url}/large?organization_id=${organization}`)).status;
  const tail = await openTail('ORG-a');
  const read = await nextRead();
  expect(read.values.at(-1)).toBe(256 * 1024);
  read.finish(large);
  await eventually(
    () => statusOf('ORG-a'),
    (status) => status === 503,
  );
  expect(await statusOf('ORG-b')).toBe(200);
  // It reads the next page only when this one is sent.
  tail.resume();
  await nextRead();
  expect(await statusOf('ORG-a')).toBe(200);
});

test('a tail waits with a page that would be too much for its organization', async () => {
  const unsent = new UnsentBytes({ organizationBytesMax: large });
  const { nextRead, openTail } = await startTailApp({ unsent, readsMax: 2 });
  const unread = await openTail('ORG-a');
  (await nextRead()).finish(large);
  const waiting = await openTail('ORG-a');
  let received = 0;
  waiting.on('data', (data) => {
    received += data.length;
  });
  waiting.resume();
  (await nextRead()).finish(large);
  // It has not sent the page, and reads it again.
  const again = await nextRead();
  expect(received).toBeLessThan(large / 100);
  unread.destroy();
  again.finish();
  while (received < large) (await nextRead()).finish(large);
});

test('a tail whose client does not read it is cut off', async () => {
  const unsent = new UnsentBytes({ graceMs: 0, bytesPerSecondMin: Number.MAX_SAFE_INTEGER });
  const { app, nextRead, openTail } = await startTailApp({ unsent });
  const responses: ServerResponse[] = [];
  app.server.on('request', (_request, response) => responses.push(response));
  await openTail('ORG-a');
  const read = await nextRead();
  const closed = once(responses[0]!, 'close');
  read.finish(large);
  await closed;
  expect(responses[0]!.writableFinished).toBe(false);
});

test("one organization's tails do not keep those of others waiting, nor do reads of clients that have left", async () => {
  const { app, nextRead, openTail } = await startTailApp({ readsMax: 2 });
  const responses: ServerResponse[] = [];
  app.server.on('request', (_request, response) => responses.push(response));
  await openTail('ORG-a');
  await openTail('ORG-a');
  const inProgress = [await nextRead(), await nextRead()];
  const leaving = await openTail('ORG-left');
  await openTail('ORG-a');
  await openTail('ORG-b');
  const left = once(responses[2]!, 'close');
  leaving.destroy();
  await left;
  for (const read of inProgress) read.finish();
  expect([(await nextRead()).organization, (await nextRead()).organization]).toEqual(['ORG-b', 'ORG-a']);
});

test('a revoked token gets no event, even if its tail was waiting for a read or reading', async () => {
  const revoked = new Set<string>();
  const isStillAllowed = async ({ token }: FastifyRequest) => !revoked.has(token.organization_id);
  const { reads, nextRead, openTail } = await startTailApp({ isStillAllowed });
  const reading = await openTail('ORG-a');
  const read = await nextRead();
  const waiting = await openTail('ORG-b');
  revoked.add('ORG-a').add('ORG-b');
  read.finish(10);
  const received = await Promise.all([readToEnd(reading), readToEnd(waiting)]);
  for (const one of received) expect(String(one)).not.toContain('data:');
  expect(reads).toEqual([]);
});

test('a tail leaves nothing behind when its client leaves, and ends when the node stops', async () => {
  const stopping = new AbortController();
  const { app, nextRead, openTail } = await startTailApp({ stopping: stopping.signal, readsMax: 2 });
  const listeners = () => getEventListeners(stopping.signal, 'abort').length;
  const responses: ServerResponse[] = [];
  app.server.on('request', (_request, response) => responses.push(response));
  const leaving = await openTail('ORG-a');
  const staying = await openTail('ORG-b');
  const inProgress = [await nextRead(), await nextRead()];
  expect(listeners()).toBe(2);
  const left = once(responses[0]!, 'close');
  leaving.destroy();
  await left;
  await eventually(
    async () => listeners(),
    (count) => count === 1,
  );
  stopping.abort();
  for (const read of inProgress) read.finish();
  await readToEnd(staying);
  expect(listeners()).toBe(0);
});
