import { createHash, randomBytes } from 'node:crypto';
import { verify } from '@posthorn/receiver';
import { describe, expect, it, onTestFinished } from 'vitest';
import { releaseRequestKey, storeResponse, takeRequestKey } from '../../src/access/idempotency-store.js';
import type { ApiResponse } from '../support/client.js';
import { Held, startReceiver } from '../support/receiver.js';
import { startTestService } from '../support/service.js';
import { newTenant, Tenant } from '../support/tenant.js';

const service = await startTestService({ POSTHORN_RETRY_SCHEDULE: '1h,1h,1h,1h' });
const headers = (key: string, more: Record<string, string> = {}) => ({
  headers: { 'idempotency-key': key, ...more },
});
const dayMs = 86_400_000;

/** A response without what differs with every request. */
const comparable = ({ status, headers, body }: ApiResponse) => ({
  status,
  location: headers.get('location'),
  body,
});

const count = async (tenant: Tenant) => (await tenant.data('GET', '/v1/webhooks')).length;

describe('a POST with an Idempotency-Key', () => {
  it('that is retried gets the same response, including status and Location, and does nothing again', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const fields = { url: receiver.url, secret: 'a-secret-of-16-characters-or-more' };
    const first = await tenant.create(fields, headers('key-1'));
    const second = await tenant.create(fields, headers('key-1'));
    expect(first.status).toBe(201);
    expect(comparable(second)).toEqual(comparable(first));
    expect(await count(tenant)).toBe(1);
    expect(receiver.verifications.count).toBe(1);
  });

  it('leaves nothing in the database from which its body could be guessed, and is recognized after a change of keys', async () => {
    const [older, newer] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'));
    // Without the role `delivery`: these nodes cannot decrypt the secrets of the webhooks in other tests, and would
    // delay their deliveries.
    const settings = { DATABASE_URL: service.databaseUrl, POSTHORN_ROLES: 'api' };
    const before = await startTestService({ ...settings, POSTHORN_SECRET_KEY: `${older}` });
    const tenant = await newTenant(before);
    const receiver = await startReceiver();
    const fields = { url: receiver.url, secret: 'a-secret-of-16-characters-or-more' };
    const first = await tenant.create(fields, headers('key-1'));
    const { rows } = await service.database.query<{ fingerprint: Buffer }>({
      text: 'select fingerprint from posthorn.request_keys where organization_id = $1',
      values: [tenant.organization],
    });
    const body = JSON.stringify(tenant.creation(fields));
    expect(rows).toHaveLength(1);
    expect(rows[0]!.fingerprint).not.toEqual(createHash('sha256').update(body).digest());
    const after = await startTestService({ ...settings, POSTHORN_SECRET_KEY: `${newer},${older}` });
    const second = await new Tenant(after, tenant.organization, tenant.token).create(
      fields,
      headers('key-1'),
    );
    expect(comparable(second)).toEqual(comparable(first));
    const changed = { ...fields, secret: 'another-secret-of-16-characters' };
    expect(
      (await new Tenant(after, tenant.organization, tenant.token).create(changed, headers('key-1'))).status,
    ).toBe(422);
  });

  it('gets the original response, even if things have changed since', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const first = await tenant.create({ url: receiver.url, secret: 's'.repeat(16) }, headers('key-1'));
    await tenant.data('DELETE', `/v1/webhooks/${first.body.data.id}`);
    const second = await tenant.create({ url: receiver.url, secret: 's'.repeat(16) }, headers('key-1'));
    expect(comparable(second)).toEqual(comparable(first));
    expect(await count(tenant)).toBe(0);
  });

  it('never returns a generated secret twice', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const first = await tenant.create({ url: receiver.url }, headers('key-1'));
    const second = await tenant.create({ url: receiver.url }, headers('key-1'));
    const { secret, ...rest } = first.body.data;
    expect(secret).toMatch(/^whsec_/);
    expect(second.body).toEqual({ data: rest });
  });

  it('rotates a secret once, and does not return it again', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    const rotate = () => tenant.request('POST', `/v1/webhooks/${webhook.id}/rotate-secret`, headers('key-1'));
    const { secret, ...rest } = (await rotate()).body.data;
    expect(secret).toMatch(/^whsec_/);
    expect((await rotate()).body.data).toEqual(rest);
    await tenant.record();
    const { body, headers: signed } = await receiver.deliveries.nth(1);
    const current = { 'x-service-signature': signed['x-service-signature'] };
    expect(verify(body, current, secret)).toMatchObject({ ok: true });
  });

  it('redelivers once and replays once', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    await tenant.record();
    const [delivery] = await tenant.settled(webhook);
    const path = `/v1/webhooks/${webhook.id}`;
    const redeliver = () =>
      tenant.request('POST', `${path}/deliveries/${delivery.id}/redeliver`, headers('key-1'));
    expect(comparable(await redeliver())).toEqual(comparable(await redeliver()));
    expect((await receiver.deliveries.nth(2)).envelope.id).toBe(delivery.event_id);
    await tenant.settled(webhook, 2);

    const body = { from: delivery.created_at, to: delivery.created_at };
    const replay = () => tenant.request('POST', `${path}/replay`, { body, ...headers('key-1') });
    const [one, other] = [await replay(), await replay()];
    expect(one.status).toBe(202);
    expect(comparable(other)).toEqual(comparable(one));
    await receiver.deliveries.nth(3);
    await tenant.settled(webhook, 3);
  });

  it('is 422 if the key was used with another body, and does nothing', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    await tenant.create({ url: receiver.url }, headers('key-1'));
    const other = await tenant.create({ url: receiver.url, event_types: ['task.*'] }, headers('key-1'));
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused']);
    expect(await count(tenant)).toBe(1);
  });

  it('is 409 while the first is still running, and gets its response afterwards', async () => {
    const tenant = await newTenant(service);
    const held = new Held();
    const receiver = await startReceiver({ onVerification: held.reply });
    const creating = tenant.create({ url: receiver.url, secret: 's'.repeat(16) }, headers('key-1'));
    await receiver.verifications.nth(1);
    const early = await tenant.create({ url: receiver.url, secret: 's'.repeat(16) }, headers('key-1'));
    expect([early.status, early.body.code]).toEqual([409, 'idempotency_in_progress']);
    held.release(200);
    const first = await creating;
    expect(first.body.data.status).toBe('active');
    const late = await tenant.create({ url: receiver.url, secret: 's'.repeat(16) }, headers('key-1'));
    expect(comparable(late)).toEqual(comparable(first));
    expect(receiver.verifications.count).toBe(1);
  });

  it('runs once if many arrive at the same time', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const responses = await Promise.all(
      Array.from({ length: 6 }, () => tenant.create({ url: receiver.url }, headers('key-1'))),
    );
    for (const { status } of responses) expect([201, 409]).toContain(status);
    expect(responses.filter(({ body }) => body.data?.secret)).toHaveLength(1);
    expect(await count(tenant)).toBe(1);
  });

  it('counts as still running if the first fails at this moment, instead of running without a key', async () => {
    const key = { organization_id: 'ORG-1', token_id: 'TOK-1', route: 'POST /', key: 'key-1' };
    // The key is taken when it is wanted, and released when it is looked at.
    const database = { query: async () => ({ rows: [], rowCount: 0 }) };
    const earlier = await takeRequestKey(database, key, Buffer.from('body'), 60_000);
    expect(earlier).toMatchObject({ fingerprint: Buffer.from('body'), status: null });
  });

  it('is 201 even if the result of the verification cannot be stored, and creates one webhook', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    await service.database.query({
      text: `
  create function refuse() returns trigger language plpgsql as
  $$ begin raise exception using errcode = '55P03', message = 'refused'; end $$;
  create trigger refuse before update on posthorn.webhooks
     for each row when (new.url = '${receiver.url}') execute function refuse()`,
    });
    onTestFinished(async () => {
      await service.database.query({ text: 'drop function refuse cascade' });
    });
    const fields = { url: receiver.url, secret: 's'.repeat(16) };
    const first = await tenant.create(fields, headers('key-1'));
    expect([first.status, first.body.data.status]).toEqual([201, 'unverified']);
    expect(comparable(await tenant.create(fields, headers('key-1')))).toEqual(comparable(first));
    expect(await count(tenant)).toBe(1);
  });

  it('gets the response that was stored with the write if the first never ended, after a minute', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const fields = { url: receiver.url, secret: 's'.repeat(16) };
    const first = await tenant.create(fields, headers('key-1'));
    await service.database.query({
      text: 'update posthorn.request_keys set running = true where organization_id = $1',
      values: [tenant.organization],
    });
    expect((await tenant.create(fields, headers('key-1'))).body.code).toBe('idempotency_in_progress');
    await age(tenant, 61_000);
    expect(comparable(await tenant.create(fields, headers('key-1')))).toEqual(comparable(first));
    expect(await count(tenant)).toBe(1);
  });

  it('that fails after its write is committed gets the response that was stored with the write', async () => {
    const { database } = service;
    const key = { organization_id: 'ORG-1', token_id: 'TOK-1', route: 'POST /', key: 'key-1' };
    const take = () => takeRequestKey(database, key, Buffer.from('body'), 60_000);
    expect(await take()).toBeUndefined();
    await releaseRequestKey(database, key);
    expect(await take()).toBeUndefined();
    await storeResponse(database, key, { status: 200, body: '{}', location: null }, true);
    expect(await take()).toMatchObject({ status: 200, running: true });
    await releaseRequestKey(database, key);
    expect(await take()).toMatchObject({ status: 200, running: false });
  });

  it('can be retried with its key if it did not succeed: only 2xx are stored', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    await tenant.record();
    const [delivery] = await tenant.settled(webhook);
    const path = `/v1/webhooks/${webhook.id}`;
    const redeliver = () =>
      tenant.request('POST', `${path}/deliveries/${delivery.id}/redeliver`, headers('key-1'));
    await tenant.data('PATCH', path, { status: 'disabled' });
    expect((await redeliver()).status).toBe(409);
    await tenant.data('PATCH', path, { status: 'active' });
    expect((await redeliver()).status).toBe(202);
    await receiver.deliveries.nth(2);

    const faulty = await tenant.create({ url: 'nonsense' }, headers('key-2'));
    expect(faulty.status).toBe(422);
    const mended = await tenant.create({ url: receiver.url }, headers('key-2'));
    expect(mended.status).toBe(201);

    const foreign = await tenant.create(
      { organization_id: 'ORG-other', url: receiver.url },
      headers('key-3'),
    );
    expect(foreign.status).toBe(403);
    expect((await tenant.create({ url: receiver.url }, headers('key-3'))).status).toBe(201);
  });

  it('is 404 for an ID that does not exist, however long it is', async () => {
    const tenant = await newTenant(service);
    for (const bytes of [5, 250, 1_500, 6_000]) {
      const id = randomBytes(bytes).toString('hex');
      const response = await tenant.request('POST', `/v1/webhooks/${id}/verify`, headers('key-1'));
      expect([response.status, response.body.code]).toEqual([404, 'not_found']);
    }
  });

  it('does not share its key with other tokens', async () => {
    const tenant = await newTenant(service);
    const colleague = await newTenant(service, { organization_id: tenant.organization });
    const receiver = await startReceiver();
    const one = await tenant.create({ url: receiver.url }, headers('key-1'));
    const other = await colleague.create({ url: receiver.url }, headers('key-1'));
    expect([one.status, other.status]).toEqual([201, 201]);
    expect(other.body.data.id).not.toBe(one.body.data.id);
  });

  it('does not share its key with other routes', async () => {
    const tenant = await newTenant(service);
    const { webhook: one } = await tenant.connect();
    const { webhook: other } = await tenant.connect();
    const post = async (path: string) => {
      const { status, body } = await tenant.request('POST', path, headers('key-1'));
      return [status, body.data.id];
    };
    expect(await post(`/v1/webhooks/${one.id}/verify`)).toEqual([200, one.id]);
    expect(await post(`/v1/webhooks/${other.id}/verify`)).toEqual([200, other.id]);
    expect(await post(`/v1/webhooks/${one.id}/rotate-secret`)).toEqual([200, one.id]);
  });

  /** Makes the keys of an organization older than they are. */
  const age = (tenant: Tenant, ms: number) =>
    service.database.query({
      text: `
  update posthorn.request_keys set created_at = created_at - make_interval(secs => $2 / 1000.0)
   where organization_id = $1`,
      values: [tenant.organization, ms],
    });

  it('keeps its key for 24 hours', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const create = async () => (await tenant.create({ url: receiver.url }, headers('key-1'))).body.data.id;
    const first = await create();
    await age(tenant, dayMs - 600_000);
    expect(await create()).toBe(first);
    await age(tenant, 600_000);
    expect(await create()).not.toBe(first);
  });

  it('keeps its key on a node whose clock is two days ahead', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const create = async () => (await tenant.create({ url: receiver.url }, headers('key-1'))).body.data.id;
    const first = await create();
    service.clock.stoppedAtMs = Date.now() + 2 * dayMs;
    onTestFinished(() => {
      service.clock.stoppedAtMs = undefined;
    });
    expect(await create()).toBe(first);
  });

  it('stores a response that was sent compressed', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const types: { type: string }[] = await tenant.data('GET', '/v1/event-types');
    const fields = {
      ...{ url: `${receiver.url}?${'x'.repeat(1_500)}`, secret: 's'.repeat(16) },
      event_types: types.map(({ type }) => type),
    };
    const first = await tenant.create(fields, headers('key-1', { 'accept-encoding': 'gzip' }));
    expect(first.headers.get('content-encoding')).toBe('gzip');
    const second = await tenant.create(fields, headers('key-1', { 'accept-encoding': 'gzip' }));
    expect(first.body.data.id).toMatch(/^WHK-/);
    expect(comparable(second)).toEqual(comparable(first));
    const plain = await tenant.create(fields, headers('key-1', { 'accept-encoding': 'identity' }));
    expect(comparable(plain)).toEqual(comparable(first));
  });

  it.each(['', 'with space', 'ü', 'x'.repeat(256)])('is 400 for the key %j', async (key) => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const response = await tenant.create(
      { url: receiver.url },
      { headers: { 'idempotency-key': Buffer.from(key).toString('latin1') } },
    );
    expect(response.status).toBe(400);
    expect(receiver.verifications.count).toBe(0);
  });

  it('that is not valid is reported together with all other faults of the request', async () => {
    const tenant = await newTenant(service);
    const { status, body } = await tenant.request('POST', '/v1/webhooks?x=1', {
      body: { organization_id: tenant.organization, url: 'nowhere', event_types: [] },
      ...headers('with space'),
    });
    expect([status, body.code]).toEqual([400, 'invalid_parameter']);
    const places = body.errors.map((fault: Record<string, string>) => fault.parameter ?? fault.pointer);
    expect(places).toEqual(expect.arrayContaining(['x', 'Idempotency-Key', '/url', '/event_types']));
  });

  it('that is not valid is reported even if the body has more faults than are listed', async () => {
    const tenant = await newTenant(service);
    const unknown = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`f${n}`, 0]));
    const { status, body } = await tenant.create(unknown, headers('with space'));
    expect([status, body.code]).toEqual([400, 'invalid_parameter']);
    expect(body.detail).toMatch(/^'Idempotency-Key' must be /);
    expect(body.errors).toHaveLength(100);
    expect(body.errors[0].parameter).toBe('Idempotency-Key');
  });
});

describe('an Idempotency-Key', () => {
  it('is ignored by the test endpoint: each test is sent', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    const test = (event_type: string) =>
      tenant.request('POST', `/v1/webhooks/${webhook.id}/test`, {
        body: { event_type },
        ...headers('key-1'),
      });
    const [one, other] = [await test('invoice.paid'), await test('task.created')];
    expect([one.status, other.status]).toEqual([200, 200]);
    expect(other.body.data.id).not.toBe(one.body.data.id);
    expect(receiver.deliveries.count).toBe(2);
  });
});
