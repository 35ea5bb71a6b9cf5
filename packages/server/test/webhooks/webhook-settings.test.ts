import { describe, expect, it } from 'vitest';
import { event, record } from '../support/client.js';
import { startReceiver } from '../support/receiver.js';
import { sharedService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';

const service = await sharedService();

const patch = (tenant: Tenant, webhook: { id: string }, body: unknown) =>
  tenant.request('PATCH', `/v1/webhooks/${webhook.id}`, { body });
const read = (tenant: Tenant, webhook: { id: string }) => tenant.data('GET', `/v1/webhooks/${webhook.id}`);
const value = 'Bearer very secret value';

/** A new event's request, as the receiver gets it. */
async function sent(tenant: Tenant, receiver: { deliveries: { next: () => Promise<{ headers: object }> } }) {
  const next = receiver.deliveries.next();
  await tenant.record();
  return (await next).headers;
}

let unchanged: ReturnType<typeof connect> | undefined;
async function connect() {
  const tenant = await newTenant(service);
  return { tenant, ...(await tenant.connect()) };
}

/** Creates and changes a webhook with a field that is at fault. Neither does anything, so one webhook is enough. */
async function refused(field: string, wrong: unknown) {
  unchanged ??= connect();
  const { tenant, receiver, webhook } = await unchanged;
  const responses = [
    await tenant.create({ url: receiver.url, [field]: wrong }),
    await patch(tenant, webhook, { [field]: wrong }),
  ];
  const none = { description: null, rate_limit: null, headers: {} };
  expect(await tenant.data('GET', '/v1/webhooks')).toMatchObject([{ id: webhook.id, ...none }]);
  return responses.map(({ status, body }) => [
    status,
    body.errors.map(({ pointer }: { pointer: string }) => pointer),
  ]);
}

const recordMany = (tenant: Tenant, count: number) =>
  record(service, ...Array.from({ length: count }, () => event({ organization_id: tenant.organization })));

describe.concurrent('description and rate_limit', () => {
  it('are returned as they were given, changed by PATCH, and removed with null', async () => {
    const tenant = await newTenant(service);
    const given = { description: 'Orders – EU <b>\n"x" 🚚', rate_limit: 1_000 };
    const { webhook } = await tenant.connect(200, given);
    expect(webhook).toMatchObject(given);
    expect(await read(tenant, webhook)).toMatchObject(given);
    expect((await tenant.data('GET', '/v1/webhooks'))[0]).toMatchObject(given);
    const { body } = await patch(tenant, webhook, { description: '', rate_limit: 1 });
    expect(body.data).toMatchObject({ description: '', rate_limit: 1, status: 'active' });
    await patch(tenant, webhook, { description: null });
    expect(await read(tenant, webhook)).toMatchObject({ description: null, rate_limit: 1 });
  });

  it.each([
    ['description', 'x'.repeat(257)],
    ['description', 7],
    ['description', 'a\0b'],
    ['rate_limit', 0],
    ['rate_limit', 1_001],
    ['rate_limit', 1.5],
    ['rate_limit', '5'],
    ['headers', []],
    ['headers', 'X-A: 1'],
  ])('%s %j is 422, on creation and change', async (field, wrong) => {
    expect(await refused(field, wrong)).toEqual([
      [422, [`/${field}`]],
      [422, [`/${field}`]],
    ]);
  });

  it('accept the longest description, counted in characters', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect(200, { description: '🚚'.repeat(256) });
    expect((await read(tenant, webhook)).description).toBe('🚚'.repeat(256));
  });
});

describe.concurrent('rate_limit', () => {
  it('is how many requests per second a new webhook gets, from the first one on', async () => {
    const tenant = await newTenant(service);
    const { receiver } = await tenant.connect(200, { rate_limit: 5 });
    const startedMs = performance.now();
    await recordMany(tenant, 20);
    await receiver.deliveries.nth(7);
    // The sixth interval ends 1.2 s after the first request; 50 ms of lateness are made up for.
    expect(performance.now() - startedMs).toBeGreaterThan(1_100);
  });

  it('holds for the first burst after a change, however many requests the webhook got before', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    for (let round = 1; round <= 2; round += 1) {
      await recordMany(tenant, 100);
      await receiver.deliveries.nth(round * 100);
    }
    await patch(tenant, webhook, { rate_limit: 5 });
    const startedMs = performance.now();
    await recordMany(tenant, 100);
    await receiver.deliveries.nth(207);
    const tookMs = performance.now() - startedMs;
    expect(tookMs).toBeGreaterThan(1_100);
    // The requests before the change would have taken 40 s at this rate.
    expect(tookMs).toBeLessThan(20_000);
  });
});

describe.concurrent('headers', () => {
  it('are sent with verification, deliveries and tests, and never returned', async () => {
    const tenant = await newTenant(service);
    const headers = { Authorization: value, 'X-~tenant': 'a b' };
    const { receiver, webhook } = await tenant.connect(200, { headers });
    const wire = { authorization: value, 'x-~tenant': 'a b' };
    expect(receiver.verifications.last.headers).toMatchObject(wire);
    expect(await sent(tenant, receiver)).toMatchObject(wire);
    const result = await tenant.request('POST', `/v1/webhooks/${webhook.id}/test`, {
      body: { event_type: 'invoice.paid' },
    });
    expect(receiver.deliveries.last.headers).toMatchObject(wire);
    const names = { Authorization: null, 'X-~tenant': null };
    expect(webhook.headers).toEqual(names);
    const shown = [await read(tenant, webhook), await tenant.data('GET', '/v1/webhooks'), result.body];
    expect(shown[0].headers).toEqual(names);
    expect(JSON.stringify(shown)).not.toContain(value);
  });

  it('are encrypted at rest', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect(200, { headers: { 'X-Key': value } });
    const { rows } = await service.database.query<{ headers: Buffer }>({
      text: 'select headers from posthorn.webhooks where id = $1',
      values: [webhook.id],
    });
    expect(rows[0]!.headers.toString('latin1')).not.toContain('very secret');
  });

  it('are replaced as a whole by PATCH; null keeps a value, {} and null remove all', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(200, { headers: { 'X-One': 'one', 'X-Two': 'two' } });
    const { body } = await patch(tenant, webhook, { headers: { 'x-one': null, 'X-Three': 'three' } });
    expect(body.data.headers).toEqual({ 'x-one': null, 'X-Three': null });
    const kept = await sent(tenant, receiver);
    expect(kept).toMatchObject({ 'x-one': 'one', 'x-three': 'three' });
    expect(kept).not.toHaveProperty('x-two');
    await patch(tenant, webhook, { description: 'another change' });
    expect(await sent(tenant, receiver)).toMatchObject({ 'x-one': 'one' });
    for (const none of [{}, null]) {
      await patch(tenant, webhook, { headers: { 'X-One': 'one' } });
      expect((await patch(tenant, webhook, { headers: none })).body.data.headers).toEqual({});
      expect(await sent(tenant, receiver)).not.toHaveProperty('x-one');
    }
  });

  it('that are new are sent with the verification of a new URL', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    const elsewhere = await startReceiver();
    await patch(tenant, webhook, { url: elsewhere.url, headers: { 'X-Key': value } });
    expect(elsewhere.verifications.last.headers).toMatchObject({ 'x-key': value });
  });

  it('stay with their origin: a URL elsewhere needs them again, whatever the change says', async () => {
    const tenant = await newTenant(service);
    const own = { 'X-Key': value, 'X-Team': 'billing' };
    const { receiver, webhook } = await tenant.connect(200, { headers: own });
    const elsewhere = await startReceiver();
    const url = elsewhere.url;
    const kept = { 'x-key': null, 'X-Team': 'other' };
    for (const [change, names] of [
      [{ url }, ['X-Key', 'X-Team']],
      [{ url, headers: kept }, ['x-key']],
      [{ url, status: 'disabled' }, ['X-Key', 'X-Team']],
      [{ url: receiver.url.replace('http:', 'https:') }, ['X-Key', 'X-Team']],
    ] as const) {
      const { status, body } = await patch(tenant, webhook, change);
      expect([status, body.code]).toEqual([422, 'secrets_required']);
      expect(body.errors.map((one: { pointer: string }) => one.pointer)).toEqual(
        names.map((name) => `/headers/${name}`),
      );
    }
    expect((await read(tenant, webhook)).url).toBe(receiver.url);
    expect(elsewhere.verifications.count).toBe(0);

    const { href } = new URL('/another/path', receiver.url);
    expect((await patch(tenant, webhook, { url: href, headers: kept })).status).toBe(200);
    expect(receiver.verifications.last.headers).toMatchObject({ 'x-key': value, 'x-team': 'other' });
    expect((await patch(tenant, webhook, { url, headers: own })).status).toBe(200);
    expect(elsewhere.verifications.last.headers).toMatchObject({ 'x-key': value, 'x-team': 'billing' });
    expect((await patch(tenant, webhook, { url: receiver.url, headers: {} })).status).toBe(200);
    expect(receiver.verifications.last.headers).not.toHaveProperty('x-key');
  });

  it('replace Accept-Encoding if they name it', async () => {
    const tenant = await newTenant(service);
    const { receiver } = await tenant.connect(200, { headers: { 'accept-encoding': 'gzip' } });
    expect(await sent(tenant, receiver)).toMatchObject({ 'accept-encoding': 'gzip' });
  });

  it('of ten names and 1,024 characters are accepted', async () => {
    const tenant = await newTenant(service);
    const headers = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`X-${n}`, 'v'.repeat(1_024)]));
    const { receiver } = await tenant.connect(200, { headers });
    expect(await sent(tenant, receiver)).toMatchObject({ 'x-9': 'v'.repeat(1_024) });
  });

  it.each<[string, unknown]>([
    ['/headers', Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`X-${n}`, 'v']))],
    ['/headers/Host', { Host: 'a' }],
    ['/headers/content-type', { 'content-type': 'a' }],
    ['/headers/Content-Whatever', { 'Content-Whatever': 'a' }],
    ['/headers/USER-AGENT', { 'USER-AGENT': 'a' }],
    ['/headers/webhook-id', { 'webhook-id': 'a' }],
    ['/headers/X-Service-Foo', { 'X-Service-Foo': 'a' }],
    ['/headers/Connection', { Connection: 'a' }],
    ['/headers/Transfer-Encoding', { 'Transfer-Encoding': 'a' }],
    ['/headers/TE', { TE: 'a' }],
    ['/headers/Upgrade', { Upgrade: 'a' }],
    ['/headers/Proxy-Authorization', { 'Proxy-Authorization': 'a' }],
    ['/headers/Expect', { Expect: '100-continue' }],
    ['/headers/', { '': 'a' }],
    ['/headers/a b', { 'a b': 'a' }],
    ['/headers/a~1b', { 'a/b': 'a' }],
    ['/headers/ü', { ü: 'a' }],
    ['/headers/x-a', { 'X-A': 'a', 'x-a': 'b' }],
    ['/headers/X-A', { 'X-A': '' }],
    ['/headers/X-A', { 'X-A': ' a' }],
    ['/headers/X-A', { 'X-A': 'a ' }],
    ['/headers/X-A', { 'X-A': 'a\tb' }],
    ['/headers/X-A', { 'X-A': 'a\r\nX-B: b' }],
    ['/headers/X-A', { 'X-A': 'ü' }],
    ['/headers/X-A', { 'X-A': 'v'.repeat(1_025) }],
    ['/headers/X-A', { 'X-A': 7 }],
    ['/headers/X-A', { 'X-A': null }],
  ])(
    'with a fault at %s are 422, on creation and change, and nothing is repeated',
    async (pointer, headers) => {
      expect(await refused('headers', headers)).toEqual([
        [422, [pointer]],
        [422, [pointer]],
      ]);
    },
  );

  it('leave their names in the audit log, and that a value changed, but no value', async () => {
    const tenant = await newTenant(service, {
      scopes: ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'],
    });
    const { webhook } = await tenant.connect(200, { headers: { 'X-Key': value }, description: 'first' });
    await patch(tenant, webhook, { headers: { 'X-Key': `${value} 2` }, description: 'second' });
    await patch(tenant, webhook, { rate_limit: 5 });
    await patch(tenant, webhook, { headers: {} });
    const entries = await tenant.data('GET', `/v1/audit-logs?organization_id=${tenant.organization}`);
    const names = ['X-Key'];
    expect(entries.map(({ changes }: { changes: object }) => changes)).toMatchObject([
      { headers: { from: names, to: null } },
      { rate_limit: { from: null, to: 5 } },
      { headers: { from: names, to: names }, description: { from: 'first', to: 'second' } },
      { headers: { from: null, to: names }, description: { from: null, to: 'first' } },
    ]);
    expect(JSON.stringify(entries)).not.toContain(value);
  });
});
