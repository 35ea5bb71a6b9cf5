import { once } from 'node:events';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Database } from '../../src/postgres/database.js';
import { createListener } from '../../src/web/listener.js';
import { afterFile } from '../support/cleanup.js';
import { type ApiResponse, event, sendRequest } from '../support/client.js';
import { openSocket } from '../support/raw-http.js';
import { startReceiver } from '../support/receiver.js';
import { makeToken, platformToken, startTestService } from '../support/service.js';
import { newTenant } from '../support/tenant.js';

const service = await startTestService();
const token = await makeToken(service.database);

const create = (raw: string) =>
  sendRequest(`${service.publicUrl}/v1/webhooks`, {
    ...{ method: 'POST', token, raw, headers: { 'content-type': 'application/json' } },
  });
const post = (raw: string) =>
  sendRequest(`${service.platformUrl}/platform/events`, {
    ...{ method: 'POST', token: platformToken, raw, headers: { 'content-type': 'application/json' } },
  });

function expectRefused({ status, body, text }: ApiResponse): void {
  expect([400, 413, 422], text.slice(0, 500)).toContain(status);
  expect(body.request_id).toBeTruthy();
}

describe('JSON that is nested as deep as a body can be', () => {
  const nested = (bytes: number, open: string, close: string) =>
    open.repeat(bytes / 2) + close.repeat(bytes / 2);

  it.each([
    ['arrays', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('is refused by the public listener: %s', async (_what, open, close) => {
    const size = Math.floor(60_000 / (open.length + close.length)) * 2;
    expectRefused(await create(nested(size, open, close || '')));
    expectRefused(await create(`{"headers":${open.repeat(5_000)}1${close.repeat(5_000)}}`));
  });

  it('is refused or recorded by the platform listener, in a payload and around it', async () => {
    const deep = `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`;
    expectRefused(await post(deep));
    const { payload: _, ...rest } = event();
    const around = await post(`{"payload":{"a":${deep}},${JSON.stringify(rest).slice(1)}`);
    expect([201, 400, 422], around.text.slice(0, 500)).toContain(around.status);
    expect((await sendRequest(`${service.platformUrl}/readyz`)).status).toBe(200);
  });
});

describe('text that makes a careless regular expression backtrack', () => {
  const long = 50_000;
  const texts = [
    'a'.repeat(long),
    `${' '.repeat(long)}x`,
    'a.'.repeat(long / 2),
    `${'a-'.repeat(long / 2)}!`,
  ];

  it.each(['url', 'event_types', 'secret', 'description', 'workspace_id', 'organization_id'])(
    'is refused at once as %s',
    async (field) => {
      for (const text of [...texts, `https://${'a.'.repeat(long / 2)}`, `https://a/${'%'.repeat(long)}`]) {
        const body = {
          organization_id: 'ORG-acme',
          url: 'https://a.test/',
          event_types: ['*'],
          [field]: text,
        };
        const response = await create(
          JSON.stringify(field === 'event_types' ? { ...body, [field]: [text] } : body),
        );
        expect([403, 422], response.text.slice(0, 300)).toContain(response.status);
      }
    },
  );

  it('is refused at once in headers and query strings', async () => {
    const text = `${' '.repeat(6_000)}x`;
    const headers = { authorization: `Bearer${text}`, 'x-request-id': 'a'.repeat(6_000) };
    expect((await sendRequest(`${service.publicUrl}/v1/events`, { headers })).status).toBe(401);
    for (const name of ['from', 'cursor', 'type', 'limit']) {
      const query = new URLSearchParams({ organization_id: 'ORG-acme', [name]: '1'.repeat(12_000) });
      const { status } = await sendRequest(`${service.publicUrl}/v1/events?${query}`, { token });
      expect([200, 400]).toContain(status);
    }
  });
});

describe('a request that arrives slowly', async () => {
  const app = await createListener({ name: 'public', logger: pino({ level: 'silent' }), bodyLimit: 100 });
  const { requestTimeout, headersTimeout, timeout } = app.server;
  // As in production, but for the time.
  Object.assign(app.server, { requestTimeout: 400, headersTimeout: 400 });
  app.post('/', async () => ({}));
  const url = await app.listen({ port: 0 });
  afterFile(() => app.close());

  it('has 30 s for its head and body', () => {
    expect(requestTimeout).toBe(30_000);
    expect(headersTimeout).toBeLessThanOrEqual(60_000);
    expect(timeout).toBe(70_000);
  });

  const begun = 'POST / HTTP/1.1\r\nHost: x\r\n';
  it.concurrent.each([
    ['in its head', `${begun}X-Slow: `],
    ['in its body', `${begun}Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{`],
    ['in its chunks', `${begun}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`],
  ])('is cut off with 408, even if it sends a byte now and then: %s', async (_where, start) => {
    const socket = await openSocket(url);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => undefined);
    socket.write(start);
    const dripping = setInterval(() => socket.write(start.endsWith('{') ? ' ' : ''), 50);
    await once(socket, 'close');
    clearInterval(dripping);
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect(text).toContain('"code":"malformed_request"');
  });
});

it('readiness checks need no token, so all of them together use at most one connection to the database', async () => {
  const run = Database.prototype.query;
  const query = vi.spyOn(Database.prototype, 'query');
  onTestFinished(() => query.mockRestore());
  let [running, most] = [0, 0];
  query.mockImplementation(async function counted(this: Database, statement) {
    const isCheck = statement.text.includes('schema_files');
    if (isCheck) most = Math.max(most, ++running);
    try {
      return await run.call(this, statement);
    } finally {
      if (isCheck) running -= 1;
    }
  });
  const responses = await Promise.all(
    Array.from({ length: 50 }, () => sendRequest(`${service.publicUrl}/readyz`)),
  );
  expect(responses.every(({ status }) => status === 200)).toBe(true);
  expect(most).toBe(1);
});

describe('something too large', () => {
  const chunked = (url: string, path: string, bearer: string, bytes: number) =>
    fetch(`${url}${path}`, {
      ...{ method: 'POST', duplex: 'half' },
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      // Without a length, so that only reading shows the size.
      body: new ReadableStream({
        start(controller) {
          for (let sent = 0; sent <= bytes; sent += 16_384)
            controller.enqueue(new Uint8Array(16_384).fill(32));
          controller.close();
        },
      }),
    } as RequestInit);

  it.each([
    ['public', () => chunked(service.publicUrl, '/v1/webhooks', token, 64 * 1024)],
    ['platform', () => chunked(service.platformUrl, '/platform/events', platformToken, 8 * 1024 * 1024)],
  ])('is refused on the %s listener: a body in chunks', async (_name, request) => {
    expect((await request()).status).toBe(413);
  });

  it.each<[string, Record<string, unknown>]>([
    ['a URL', { url: `https://a.test/${'x'.repeat(2_048)}` }],
    ['a list of types', { event_types: Array(101).fill('invoice.paid') }],
    ['a secret', { secret: 'x'.repeat(257) }],
    ['a description', { description: 'x'.repeat(257) }],
    [
      'a number of headers',
      { headers: Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`X-${n}`, '1'])) },
    ],
    ['a header', { headers: { 'X-A': 'x'.repeat(1_025) } }],
    ['a header name', { headers: { [`X-${'a'.repeat(256)}`]: '1' } }],
    ['a rate', { rate_limit: 1_001 }],
    ['a workspace', { workspace_id: `WS-${'x'.repeat(10_000)}` }],
  ])('is refused in a webhook: %s', async (_what, fields) => {
    const body = { organization_id: 'ORG-acme', url: 'https://a.test/', event_types: ['*'], ...fields };
    expect((await create(JSON.stringify(body))).status).toBe(422);
  });

  it.each<[string, Record<string, unknown>]>([
    ['an actor', { actor: { type: 'user', id: 'x'.repeat(10_000) } }],
    ['a subject', { subject: { type: 'x'.repeat(10_000), id: 'INV-1' } }],
    ['a workspace', { workspace_id: 'x'.repeat(10_000) }],
    ['an idempotency key', { idempotency_key: 'x'.repeat(10_000) }],
  ])('is refused in an event: %s', async (_what, fields) => {
    expect((await post(JSON.stringify(event(fields)))).status).toBe(422);
  });

  it('is refused as an idempotency key, and is nothing that exists as an id', async () => {
    const headers = { 'idempotency-key': 'x'.repeat(256), 'content-type': 'application/json' };
    const raw = JSON.stringify({ organization_id: 'ORG-acme', url: 'https://a.test/', event_types: ['*'] });
    const keyed = await sendRequest(`${service.publicUrl}/v1/webhooks`, {
      method: 'POST',
      token,
      raw,
      headers,
    });
    expect(keyed.status).toBe(400);
    const { status } = await sendRequest(`${service.publicUrl}/v1/events/${'x'.repeat(12_000)}`, { token });
    expect(status).toBe(404);
  });
});

describe('a line break in a stored field', () => {
  const injected = 'x\r\nX-Injected: 1\r\n\r\nGET / HTTP/1.1';
  const places = ['actor.type', 'actor.id', 'subject.type', 'subject.id', 'workspace_id', 'payload'] as const;

  function withInjection(organization_id: string, place: (typeof places)[number]): Record<string, unknown> {
    const fields: Record<string, unknown> = { organization_id, type: 'invoice.paid' };
    const [name = '', part] = place.split('.');
    if (part === undefined) fields[name] = name === 'payload' ? { note: injected } : injected;
    else fields[name] = { type: 'user', id: 'USR-1', [part]: injected };
    return event(fields);
  }

  it('never becomes a header of a delivery, however the event was recorded', async () => {
    const tenant = await newTenant(service);
    const { receiver } = await tenant.connect();
    let delivered = 0;
    for (const place of places) {
      const one = withInjection(tenant.organization, place);
      const { status } = await post(JSON.stringify(one));
      expect([201, 422]).toContain(status);
      if (status === 201) delivered += 1;
      await service.database
        .query({ text: 'select posthorn.record_events($1)', values: [JSON.stringify([one])] })
        .then(
          () => {
            delivered += 1;
          },
          () => undefined,
        );
    }
    // A marker after all of them: deliveries of a webhook are started in order.
    expect(delivered).toBeGreaterThan(0);
    await receiver.deliveries.nth(delivered);
    for (const { headers } of receiver.deliveries.all) {
      expect(headers).not.toHaveProperty('x-injected');
      for (const value of Object.values(headers)) expect(String(value)).not.toMatch(/[\r\n]/);
    }
  });

  it.each<[string, Record<string, unknown>]>([
    ...['\r\n', '\n', '\r', '\0', '\t', '\u0085', '\u2028', '\u010a', '\ud83d\ude00'].map(
      (breaking): [string, Record<string, unknown>] => [
        `a header's value with ${JSON.stringify(breaking)}`,
        { headers: { 'X-A': `x${breaking}X-Injected: 1` } },
      ],
    ),
    ["a header's name", { headers: { 'X-A: 1\r\nX-Injected': '1' } }],
    ['a secret', { secret: `${injected}${'x'.repeat(16)}` }],
    ['a workspace', { workspace_id: injected }],
    ['a URL', { url: `https://a.invalid/${injected}` }],
  ])('is refused when a webhook is created or changed: %s', async (_what, fields) => {
    const tenant = await newTenant(service);
    expect((await tenant.create({ url: 'https://a.invalid/', ...fields })).status).toBe(422);
    const { id } = (await tenant.create({ url: 'https://a.invalid/' })).body.data;
    const changed = await tenant.request('PATCH', `/v1/webhooks/${id}`, { body: fields });
    expect(changed.status).toBe(422);
    if ('secret' in fields)
      expect(
        (await tenant.request('POST', `/v1/webhooks/${id}/rotate-secret`, { body: fields })).status,
      ).toBe(422);
  });

  it('that is encoded in a URL, or stands in a text that is never sent, adds nothing to any request', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const url = `${receiver.url}x%0d%0aX-Injected:%201?a=%0d%0aX-Injected:%201`;
    const { status, headers, body } = await tenant.create({ url, headers: { 'X-Own': 'own' } });
    expect([status, headers.has('x-injected')]).toEqual([201, false]);
    const described = { description: injected };
    expect((await tenant.request('PATCH', `/v1/webhooks/${body.data.id}`, { body: described })).status).toBe(
      200,
    );
    await tenant.request('POST', `/v1/webhooks/${body.data.id}/test`, {
      body: { event_type: 'invoice.paid' },
    });
    for (const sent of [...receiver.verifications.all, ...receiver.deliveries.all]) {
      expect(sent.headers).not.toHaveProperty('x-injected');
      expect(sent.headers['x-own']).toBe('own');
    }
    expect(receiver.verifications.count + receiver.deliveries.count).toBe(2);
  });

  it('in a request id is not sent back', async () => {
    const { headers } = await sendRequest(`${service.publicUrl}/healthz`, {
      headers: { 'x-request-id': 'a b\tc: d' },
    });
    expect(headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{8,128}$/);
  });
});

it('a header that is named like a part of JavaScript is shown like any other', async () => {
  const tenant = await newTenant(service);
  const { url } = await startReceiver();
  const raw = JSON.stringify(tenant.creation({ url, headers: {} })).replace(
    '"headers":{}',
    '"headers":{"__proto__":"a","constructor":"b"}',
  );
  const more = { raw, headers: { 'content-type': 'application/json' } };
  const { body } = await tenant.request('POST', '/v1/webhooks', more);
  expect(Object.keys(body.data.headers)).toEqual(['__proto__', 'constructor']);
  const result = await tenant.data('POST', `/v1/webhooks/${body.data.id}/test`, {
    event_type: 'invoice.paid',
  });
  expect(Object.keys(result.request.headers)).toEqual(expect.arrayContaining(['__proto__', 'constructor']));
});
