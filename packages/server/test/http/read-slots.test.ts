import { once } from 'node:events';
import { type FastifyRequest, fastify } from 'fastify';
import { expect, test } from 'vitest';
import { limitReads } from '../../src/http/read-slots.js';
import { problemOf, sendProblem } from '../../src/web/problems.js';
import { afterFile } from '../support/cleanup.js';
import { ask } from '../support/client.js';
import { openSocket } from '../support/raw-http.js';

/** Starts a listener whose requests end when the test says so. */
async function startApp(waitMsMax: number) {
  const handled: { path: string; end: () => void }[] = [];
  const app = fastify();
  afterFile(() => app.close());
  app.setErrorHandler((error, request, reply) => sendProblem(problemOf(error, 0), request, reply));
  app.decorateRequest('token', null as never);
  app.addHook('onRequest', async (request) => {
    request.token = { organization_id: request.url.split('/')[1] } as never;
  });
  limitReads(app, 2, waitMsMax);
  const handler = (request: FastifyRequest) =>
    new Promise((resolve) => {
      handled.push({ path: request.url, end: () => resolve({}) });
      app.server.emit('handled');
    });
  for (const method of ['GET', 'POST']) {
    app.route({ method, url: '/:organization/:number', config: { scopes: [] }, handler });
  }
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  /** Waits until these requests are being handled. */
  const started = async (...paths: string[]) => {
    while (!paths.every((path) => handled.some((one) => one.path === path)))
      await once(app.server, 'handled');
  };
  const end = async (path: string) => {
    await started(path);
    handled.find((one) => one.path === path)!.end();
  };
  return { url, started, end, get: (path: string) => ask(`${url}${path}`) };
}

test('an organization has a few reads in progress at once; others and its writes do not wait for them', async () => {
  const { url, get, started, end } = await startApp(100);
  const reads = [get('/ORG-a/1'), get('/ORG-a/2')];
  await started('/ORG-a/1', '/ORG-a/2');
  const refused = await get('/ORG-a/3');
  expect([refused.status, refused.body.code]).toEqual([503, 'unavailable']);
  expect(refused.headers.get('retry-after')).toBe('1');
  const write = ask(`${url}/ORG-a/4`, { method: 'POST' });
  await end('/ORG-a/4');
  expect((await write).status).toBe(200);
  const other = get('/ORG-b/5');
  await end('/ORG-b/5');
  expect((await other).status).toBe(200);
  for (const path of ['/ORG-a/1', '/ORG-a/2']) await end(path);
  expect((await Promise.all(reads)).map(({ status }) => status)).toEqual([200, 200]);
});

test('a read that waits gets the slot of one that ends, even if the client of that one has gone away', async () => {
  const { url, get, started, end } = await startApp(60_000);
  const leaving = await openSocket(url);
  leaving.write('GET /ORG-a/1 HTTP/1.1\r\nHost: x\r\n\r\n');
  const second = get('/ORG-a/2');
  await started('/ORG-a/1', '/ORG-a/2');
  const waiting = [get('/ORG-a/3'), get('/ORG-a/4')];
  leaving.destroy();
  for (const path of ['/ORG-a/1', '/ORG-a/3', '/ORG-a/4', '/ORG-a/2']) await end(path);
  expect((await Promise.all([second, ...waiting])).map(({ status }) => status)).toEqual([200, 200, 200]);
});
