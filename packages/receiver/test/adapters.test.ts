import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { serve } from '@hono/node-server';
import express from 'express';
import Fastify from 'fastify';
import { Hono } from 'hono';
import { describe, expect, onTestFinished, test } from 'vitest';
import { expressHandler, keepRawBody } from '../src/express.js';
import { fastifyReceiver } from '../src/fastify.js';
import { honoHandler } from '../src/hono.js';
import { createReceiver, type Outcome, sign } from '../src/index.js';
import { nextRoute } from '../src/next.js';
import { nodeHandler } from '../src/node.js';
import { signedRequest, signedWebRequest } from '../src/testing.js';
import { webHandler } from '../src/web.js';

const secret = 'a-secret-of-the-adapters';
const maxBytes = 1024;

/** A body that no parser gives back as it was: a number, an escape and white space change. */
const awkward = '{"id":"EVT-1", "type":"invoice.paid","data":{"amount":1.0,"title":"\\u00dcberlast"}}';

function awkwardRequest() {
  const headers = sign(awkward, { id: 'EVT-1', timestamp: new Date(), key: secret });
  return { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: awkward };
}

function newReceiver(options: { respondFirst?: boolean } = {}) {
  const handled: unknown[] = [];
  const log: Outcome[] = [];
  const on = { '*': (event: unknown) => handled.push(event) };
  const receiver = createReceiver({ secret, on, log: (outcome) => log.push(outcome), ...options });
  return { receiver, handled, log };
}

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Each of these serves a receiver at a URL, as an application of that framework would. */
const adapters: Record<string, (receiver: ReturnType<typeof createReceiver>) => Promise<string>> = {
  'node:http': (receiver) => listening(nodeHandler(receiver, { maxBytes })),
  Express: (receiver) =>
    listening(express().post('/', expressHandler(receiver, { maxBytes })).use(express.json())),
  'Express, after express.json() with keepRawBody': (receiver) =>
    listening(
      express()
        .use(express.json({ verify: keepRawBody, limit: maxBytes }))
        .post('/', expressHandler(receiver, { maxBytes })),
    ),
  'Express, after express.raw()': (receiver) =>
    listening(
      express()
        .use(express.raw({ type: '*/*', limit: maxBytes }))
        .post('/', expressHandler(receiver)),
    ),
  Fastify: async (receiver) => {
    const app = Fastify();
    app.register(fastifyReceiver, { receiver, url: '/', maxBytes });
    onTestFinished(() => app.close());
    return app.listen({ port: 0, host: '127.0.0.1' });
  },
  Hono: async (receiver) => honoServer(new Hono().post('/', honoHandler(receiver, { maxBytes }))),
  'Hono, after a middleware that parsed the body': async (receiver) => {
    const app = new Hono().use(async (context, next) => {
      await context.req.json().catch(() => undefined);
      await next();
    });
    return honoServer(app.post('/', honoHandler(receiver, { maxBytes })));
  },
};

/** Takes only the function: the compiler would compare two applications of Hono member by member, in 0.3 s. */
async function honoServer({ fetch }: Pick<Hono, 'fetch'>): Promise<string> {
  const { port } = await new Promise<AddressInfo>((resolve) => {
    const server = serve({ fetch, port: 0, hostname: '127.0.0.1' }, resolve);
    onTestFinished(() => {
      server.close();
    });
  });
  return `http://127.0.0.1:${port}`;
}

describe.each(Object.entries(adapters))('%s', (_name, start) => {
  test('verifies the bytes that arrived, and the handler gets the event', async () => {
    const { receiver, handled } = newReceiver();
    const url = await start(receiver);
    const response = await fetch(url, awkwardRequest());
    expect([response.status, await response.text()]).toEqual([200, 'handled']);
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(handled).toEqual([JSON.parse(awkward)]);
    const { status } = await fetch(url, signedRequest('webhook.verification', { secret }));
    expect(status).toBe(200);
  });

  test('refuses what is not signed, and says why', async () => {
    const { receiver, handled } = newReceiver();
    const url = await start(receiver);
    for (const fault of ['unsigned', 'wrong_secret', 'tampered'] as const) {
      const response = await fetch(url, signedRequest('invoice.paid', { secret, fault }));
      expect(response.status).toBe(401);
      expect(await response.text()).toMatch(/^(missing_signature|signature_mismatch): .*\.$/);
    }
    expect((await fetch(url, { method: 'POST' })).status).toBeGreaterThanOrEqual(400);
    expect(handled).toEqual([]);
  });

  test('says that the secret is wrong or the body was changed in transit, without advice on raw bodies', async () => {
    const { receiver, log } = newReceiver();
    const url = await start(receiver);
    const detail = "The secret is not the webhook's secret, or the body was changed in transit.";
    const response = await fetch(url, signedRequest('invoice.paid', { secret, fault: 'wrong_secret' }));
    expect(await response.text()).toBe(`signature_mismatch: ${detail}`);
    expect(log).toMatchObject([{ detail }]);
  });

  test('refuses a body that is too large', async () => {
    const { receiver } = newReceiver();
    const url = await start(receiver);
    const large = { secret, data: { title: 'x'.repeat(maxBytes) } };
    expect((await fetch(url, signedRequest('task.created', large))).status).toBe(413);
  });
});

test('an Express application with express.json() before the route is told what to change', async () => {
  const { receiver, log } = newReceiver();
  const url = await listening(express().use(express.json()).post('/', expressHandler(receiver)));
  const response = await fetch(url, signedRequest('webhook.verification', { secret }));
  expect(response.status).toBe(500);
  expect(await response.text()).toMatch(/^body_not_raw: .*register the route before express\.json\(\)/);
  expect(log).toMatchObject([{ outcome: 'refused', reason: 'body_not_raw' }]);
});

test('other routes of a Fastify application get parsed JSON as before', async () => {
  const app = Fastify();
  app.register(fastifyReceiver, { receiver: newReceiver().receiver });
  app.post('/other', async (request) => request.body);
  onTestFinished(() => app.close());
  const response = await app.inject({ method: 'POST', url: '/other', payload: { a: 1 } });
  expect(response.json()).toEqual({ a: 1 });
  const { body, headers } = signedRequest('invoice.paid', { secret });
  expect((await app.inject({ method: 'POST', url: '/webhooks', payload: body, headers })).statusCode).toBe(
    200,
  );
});

test('a Fastify application that closes waits for the work', async () => {
  const finished: string[] = [];
  const on = {
    '*': async () => {
      await new Promise(setImmediate);
      finished.push('work');
    },
  };
  const receiver = createReceiver({ secret, respondFirst: true, on });
  const app = Fastify();
  app.register(fastifyReceiver, { receiver });
  const { body, headers } = signedRequest('invoice.paid', { secret });
  await app.inject({ method: 'POST', url: '/webhooks', payload: body, headers });
  await app.close();
  expect(finished).toEqual(['work']);
});

describe('a Web Request', () => {
  const url = 'https://example.com/webhooks';

  test('is verified and handled, by webHandler and as a route of Next.js', async () => {
    const { receiver, handled } = newReceiver();
    for (const handle of [webHandler(receiver), nextRoute(receiver).POST]) {
      expect((await handle(new Request(url, awkwardRequest()))).status).toBe(200);
    }
    expect(handled).toHaveLength(2);
  });

  test('that was already read, is too large or is not a POST is refused', async () => {
    const handle = webHandler(newReceiver().receiver, { maxBytes });
    const read = signedWebRequest(url, 'invoice.paid', { secret });
    await read.json();
    const response = await handle(read);
    expect(response.status).toBe(500);
    expect(await response.text()).toMatch(/^body_not_raw: /);
    const large = { secret, data: { title: 'x'.repeat(maxBytes) } };
    expect((await handle(signedWebRequest(url, 'task.created', large))).status).toBe(413);
    const get = await handle(new Request(url));
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('with respondFirst hands its work to the host', async () => {
    const { receiver, handled } = newReceiver({ respondFirst: true });
    const works: Promise<void>[] = [];
    const waitUntil = (work: Promise<void>) => works.push(work);
    const { POST } = nextRoute(receiver, { waitUntil });
    expect((await POST(signedWebRequest(url, 'invoice.paid', { secret }))).status).toBe(200);
    const app = new Hono().post('/webhooks', honoHandler(receiver));
    const context = { waitUntil, passThroughOnException: () => {}, props: {} };
    await app.fetch(signedWebRequest(url, 'invoice.paid', { secret }), {}, context);
    await Promise.all(works);
    expect([works.length, handled.length]).toEqual([2, 2]);
  });
});

test('node:http survives a request that is cut off, and responds with 405 to a GET', async () => {
  const { receiver, handled } = newReceiver();
  const { promise: broken, resolve } = gate();
  const url = await listening((request, response) => {
    request.once('close', resolve);
    return nodeHandler(receiver)(request, response);
  });
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{');
  await new Promise((done) => socket.once('connect', done));
  await new Promise(setImmediate);
  socket.destroy();
  await broken;
  expect((await fetch(url)).status).toBe(405);
  expect(handled).toEqual([]);
});

function gate() {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
