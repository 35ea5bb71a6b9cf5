import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { createListener } from '../../src/web/listener.js';
import { type Answer, ask, event } from '../support/client.js';
import { makeToken, platformToken, startTestService } from '../support/service.js';
import { newTenant } from '../support/tenant.js';

const service = await startTestService();
const token = await makeToken(service.database);

const create = (raw: string) =>
  ask(`${service.publicUrl}/v1/webhooks`, {
    ...{ method: 'POST', token, raw, headers: { 'content-type': 'application/json' } },
  });
const post = (raw: string) =>
  ask(`${service.platformUrl}/platform/events`, {
    ...{ method: 'POST', token: platformToken, raw, headers: { 'content-type': 'application/json' } },
  });

function expectRefused({ status, body, text }: Answer): void {
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
    expect((await ask(`${service.platformUrl}/readyz`)).status).toBe(200);
  });
});

describe('a text that makes a careless pattern backtrack', () => {
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
        const answer = await create(
          JSON.stringify(field === 'event_types' ? { ...body, [field]: [text] } : body),
        );
        expect([403, 422], answer.text.slice(0, 300)).toContain(answer.status);
      }
    },
  );

  it('is refused at once in headers and query strings', async () => {
    const text = `${' '.repeat(6_000)}x`;
    const headers = { authorization: `Bearer${text}`, 'x-request-id': 'a'.repeat(6_000) };
    expect((await ask(`${service.publicUrl}/v1/events`, { headers })).status).toBe(401);
    for (const name of ['from', 'cursor', 'type', 'limit']) {
      const query = new URLSearchParams({ organization_id: 'ORG-acme', [name]: '1'.repeat(12_000) });
      const { status } = await ask(`${service.publicUrl}/v1/events?${query}`, { token });
      expect([200, 400]).toContain(status);
    }
  });
});

describe('a request that arrives slowly', () => {
  it('is cut off: its head and body must arrive within 30 s', async () => {
    const app = await createListener({ name: 'public', logger: pino({ level: 'silent' }), bodyLimit: 1 });
    expect(app.server.requestTimeout).toBe(30_000);
    expect(app.server.headersTimeout).toBeLessThanOrEqual(60_000);
    expect(app.server.timeout).toBe(70_000);
    await app.close();
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

  it.each([
    ['headers', { 'X-A': injected }],
    ['headers', { 'X-A: 1\r\nX-Injected': '1' }],
    ['url', `https://a.test/${injected}`],
    ['secret', `${injected}${'x'.repeat(16)}`],
  ])('is refused or removed in a webhook: %s', async (field, value) => {
    const tenant = await newTenant(service);
    const { status, headers, body } = await tenant.create({ url: 'https://a.invalid/', [field]: value });
    expect([201, 422]).toContain(status);
    if (status === 201) expect(body.data.url).not.toMatch(/[\r\n]/);
    expect(headers.has('x-injected')).toBe(false);
  });

  it('in a request id is not sent back', async () => {
    const { headers } = await ask(`${service.publicUrl}/healthz`, {
      headers: { 'x-request-id': 'a b\tc: d' },
    });
    expect(headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{8,128}$/);
  });
});
