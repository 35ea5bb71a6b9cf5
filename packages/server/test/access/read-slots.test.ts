import { once } from 'node:events';
import type { FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import { limitReads, type ReadLimits, readLimits } from '../../src/access/read-slots.js';
import { sendRequest } from '../support/client.js';
import { appByOrganization } from '../support/limited-app.js';
import { openSocket } from '../support/raw-http.js';

/** Starts a listener whose requests end when the test says so. */
async function startApp(limits: ReadLimits) {
  const handled: { path: string; end: () => void }[] = [];
  const app = appByOrganization();
  let count = 0;
  app.addHook('preValidation', (_request, _reply, done) => {
    done();
    count += 1;
    app.server.emit('arrived');
  });
  limitReads(app, limits);
  const handler = (request: FastifyRequest) =>
    new Promise((resolve) => {
      handled.push({ path: request.url, end: () => resolve({}) });
      app.server.emit('handled');
    });
  for (const method of ['GET', 'POST']) {
    app.route({ method, url: '/:organization/:number', config: { scopes: [] }, handler });
  }
  app.get('/:organization/static', { config: { scopes: [], withoutDatabase: true } }, async () => ({}));
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  /** Waits until these requests are being handled. */
  const started = async (...paths: string[]) => {
    while (!paths.every((path) => handled.some((one) => one.path === path)))
      await once(app.server, 'handled');
  };
  const arrived = async (expected: number) => {
    while (count < expected) await once(app.server, 'arrived');
  };
  const end = async (path: string) => {
    await started(path);
    handled.find((one) => one.path === path)!.end();
  };
  return { url, arrived, handled, started, end, get: (path: string) => sendRequest(`${url}${path}`) };
}

test('a few reads are in progress at once, and writes do not wait for them', async () => {
  const { url, get, started, end } = await startApp({ reads: 2, readsEach: 2, tails: 1, waitMsMax: 100 });
  const reads = [get('/ORG-a/1'), get('/ORG-a/2')];
  await started('/ORG-a/1', '/ORG-a/2');
  const refused = await get('/ORG-a/3');
  expect([refused.status, refused.body.code]).toEqual([503, 'unavailable']);
  expect(refused.headers.get('retry-after')).toBe('1');
  const write = sendRequest(`${url}/ORG-a/4`, { method: 'POST' });
  await end('/ORG-a/4');
  expect((await write).status).toBe(200);
  for (const path of ['/ORG-a/1', '/ORG-a/2']) await end(path);
  expect((await Promise.all(reads)).map(({ status }) => status)).toEqual([200, 200]);
});

test('an organization leaves slots for the reads of others', async () => {
  const { get, started, end } = await startApp({ reads: 2, readsEach: 1, tails: 1, waitMsMax: 100 });
  const slow = get('/ORG-a/1');
  await started('/ORG-a/1');
  expect((await get('/ORG-a/2')).status).toBe(503);
  const other = get('/ORG-b/1');
  await end('/ORG-b/1');
  await end('/ORG-a/1');
  expect([(await other).status, (await slow).status]).toEqual([200, 200]);
});

test('a read that uses no database does not wait for others', async () => {
  const { get, started, end } = await startApp({ reads: 1, readsEach: 1, tails: 1, waitMsMax: 100 });
  const read = get('/ORG-a/1');
  await started('/ORG-a/1');
  const other = await get('/ORG-a/static');
  await end('/ORG-a/1');
  expect([other.status, (await read).status]).toEqual([200, 200]);
});

test('a read that waits gets the slot of one that ends, even if the client of that one has gone away', async () => {
  const { url, get, started, end } = await startApp({ reads: 2, readsEach: 2, tails: 1, waitMsMax: 60_000 });
  const leaving = await openSocket(url);
  leaving.write('GET /ORG-a/1 HTTP/1.1\r\nHost: x\r\n\r\n');
  const second = get('/ORG-a/2');
  await started('/ORG-a/1', '/ORG-a/2');
  const waiting = [get('/ORG-a/3'), get('/ORG-a/4')];
  leaving.destroy();
  for (const path of ['/ORG-a/1', '/ORG-a/3', '/ORG-a/4', '/ORG-a/2']) await end(path);
  expect((await Promise.all([second, ...waiting])).map(({ status }) => status)).toEqual([200, 200, 200]);
});

test('the organization with the fewest reads in progress is next', async () => {
  const { arrived, get, started, end } = await startApp({
    reads: 2,
    readsEach: 2,
    tails: 1,
    waitMsMax: 60_000,
  });
  const reads = ['/ORG-a/1', '/ORG-a/2'].map(get);
  await started('/ORG-a/1', '/ORG-a/2');
  reads.push(get('/ORG-a/3'));
  await arrived(3);
  reads.push(get('/ORG-b/4'));
  await arrived(4);
  await end('/ORG-a/1');
  for (const path of ['/ORG-b/4', '/ORG-a/2', '/ORG-a/3']) await end(path);
  expect((await Promise.all(reads)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

test('a read whose client has gone away while it waited does not start', async () => {
  const { url, arrived, handled, get, started, end } = await startApp({
    reads: 1,
    readsEach: 1,
    tails: 1,
    waitMsMax: 60_000,
  });
  const first = get('/ORG-a/1');
  await started('/ORG-a/1');
  const leaving = await openSocket(url);
  leaving.write('GET /ORG-a/2 HTTP/1.1\r\nHost: x\r\n\r\n');
  await arrived(2);
  const last = get('/ORG-a/3');
  await arrived(3);
  const closed = once(leaving, 'close');
  leaving.destroy();
  await closed;
  // By the time the service has handled this connection, it has noticed that the other one was closed.
  await sendRequest(`${url}/ORG-a/4`, { method: 'OPTIONS' });
  for (const path of ['/ORG-a/1', '/ORG-a/3']) await end(path);
  await Promise.all([first, last]);
  expect(handled.map(({ path }) => path)).toEqual(['/ORG-a/1', '/ORG-a/3']);
});

test.each([4, 5, 10])('of %i connections, reads and tails leave some to writes', (connections) => {
  const { reads, tails } = readLimits(connections);
  expect(Math.min(reads, tails)).toBeGreaterThan(0);
  expect(reads + tails).toBeLessThan(connections);
});
