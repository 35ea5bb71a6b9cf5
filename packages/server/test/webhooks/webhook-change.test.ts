import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ApiResponse } from '../support/client.js';
import { Held, startReceiver } from '../support/receiver.js';
import { sharedService, startTestService } from '../support/service.js';
import { eventually, newTenant, Tenant } from '../support/tenant.js';

const service = await sharedService();

const pathOf = (webhook: { id: string }) => `/v1/webhooks/${webhook.id}`;
const patch = (tenant: Tenant, webhook: { id: string }, body: unknown) =>
  tenant.request('PATCH', pathOf(webhook), { body });

describe('PATCH url', () => {
  it('verifies the new URL and sends events there', async () => {
    const tenant = await newTenant(service);
    const { receiver: before, webhook } = await tenant.connect();
    const after = await startReceiver();
    const { status, body } = await patch(tenant, webhook, { url: after.url });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ id: webhook.id, url: after.url, status: 'active' });
    expect([before.verifications.count, after.verifications.count]).toEqual([1, 1]);
    expect(after.verifications.last.envelope.data.webhook_id).toBe(webhook.id);
    const event = await tenant.record();
    expect((await after.deliveries.nth(1)).envelope.id).toBe(event.id);
    expect(before.deliveries.count).toBe(0);
  });

  it('sends events to the old URL until the new one is verified', async () => {
    const tenant = await newTenant(service);
    const { receiver: before, webhook } = await tenant.connect();
    const held = new Held();
    const after = await startReceiver({ onVerification: held.reply });
    const patching = patch(tenant, webhook, { url: after.url });
    await after.verifications.nth(1);

    const early = await tenant.record();
    expect((await before.deliveries.nth(1)).envelope.id).toBe(early.id);
    expect((await tenant.data('GET', pathOf(webhook))).url).toBe(before.url);

    held.release(200);
    expect((await patching).body.data).toMatchObject({ url: after.url, status: 'active' });
    const late = await tenant.record();
    expect((await after.deliveries.nth(1)).envelope.id).toBe(late.id);
    expect(before.deliveries.count).toBe(1);
  });

  it('makes it unverified if the new URL fails, reports why, and sends events to neither', async () => {
    const tenant = await newTenant(service);
    const { receiver: before, webhook } = await tenant.connect();
    const after = await startReceiver({ onVerification: 404 });
    const { status, body } = await patch(tenant, webhook, { url: after.url });
    expect([status, body.data.status, body.data.url]).toEqual([200, 'unverified', after.url]);
    const [failure] = await tenant.events({ type: 'webhook.verification_failed' });
    expect(failure.payload).toMatchObject({ webhook_id: webhook.id, http_status: 404 });
    expect(await tenant.webhooksOf(await tenant.record())).toEqual([]);
    expect([before.deliveries.count, after.deliveries.count]).toEqual([0, 0]);
  });

  it('sends waiting retries to the new URL', async () => {
    const tenant = await newTenant(service);
    const { receiver: before, webhook } = await tenant.connect(500);
    const event = await tenant.record();
    await tenant.settled(webhook);
    const after = await startReceiver();
    await patch(tenant, webhook, { url: after.url });
    await tenant.bringForward(webhook);
    const { envelope, headers } = await after.deliveries.nth(1);
    expect([envelope.id, headers['x-service-attempt']]).toEqual([event.id, '2']);
    expect(before.deliveries.count).toBe(1);
  });

  it('of a disabled webhook sends no request; it is verified when it is activated', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    await patch(tenant, webhook, { status: 'disabled' });
    const after = await startReceiver();
    const { body } = await patch(tenant, webhook, { url: after.url });
    expect(body.data).toMatchObject({ url: after.url, status: 'disabled', disabled_reason: 'manual' });
    expect(after.verifications.count).toBe(0);
    expect((await patch(tenant, webhook, { status: 'active' })).body.data.status).toBe('active');
    expect(after.verifications.count).toBe(1);
  });

  it('is 409 if the webhook changed while the new URL was verified', async () => {
    const tenant = await newTenant(service);
    const { receiver: before, webhook } = await tenant.connect();
    const held = new Held();
    const after = await startReceiver({ onVerification: held.reply });
    const patching = patch(tenant, webhook, { url: after.url });
    await after.verifications.nth(1);
    await patch(tenant, webhook, { event_types: ['task.created'] });
    held.release(200);
    const { status, body } = await patching;
    expect([status, body.code]).toEqual([409, 'webhook_changed']);
    expect(await tenant.data('GET', pathOf(webhook))).toMatchObject({
      ...{ url: before.url, event_types: ['task.created'], status: 'active' },
    });
  });
});

describe('PATCH event_types', () => {
  it('applies to the next event, without a verification', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(200, { event_types: ['invoice.paid'] });
    const { status, body } = await patch(tenant, webhook, { event_types: ['task.created', 'task.created'] });
    expect([status, body.data.event_types, body.data.status]).toEqual([200, ['task.created'], 'active']);
    expect(receiver.verifications.count).toBe(1);
    expect(await tenant.webhooksOf(await tenant.record({ type: 'invoice.paid' }))).toEqual([]);
    expect(await tenant.webhooksOf(await tenant.record({ type: 'task.created' }))).toEqual([webhook.id]);
  });

  it('accepts "*"', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect(200, { event_types: ['invoice.paid'] });
    expect((await patch(tenant, webhook, { event_types: '*' })).body.data.event_types).toEqual(['*']);
  });
});

describe('PATCH status: disabled', () => {
  it('disables the webhook with the reason manual and records webhook.disabled', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect(200, { workspace_id: 'WS-1' });
    const { status, body } = await patch(tenant, webhook, { status: 'disabled' });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ id: webhook.id, status: 'disabled', disabled_reason: 'manual' });
    expect(await tenant.data('GET', pathOf(webhook))).toEqual(body.data);
    const [event] = await tenant.events();
    expect(event).toMatchObject({
      type: 'webhook.disabled',
      organization_id: tenant.organization,
      workspace_id: 'WS-1',
      subject: { type: 'webhook', id: webhook.id },
      payload: { webhook_id: webhook.id, reason: 'manual' },
    });
    expect(Object.keys(event.payload)).toEqual(['webhook_id', 'reason']);
  });

  it('is recorded once, however often it is requested', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    await patch(tenant, webhook, { status: 'disabled' });
    const { status, body } = await patch(tenant, webhook, { status: 'disabled' });
    expect([status, body.data.status]).toEqual([200, 'disabled']);
    expect(await tenant.events({ type: 'webhook.disabled' })).toHaveLength(1);
  });

  it('is sent to the other webhooks, not to the one it is about', async () => {
    const tenant = await newTenant(service);
    const { receiver: watcher, webhook: watching } = await tenant.connect();
    const { webhook } = await tenant.connect();
    await patch(tenant, webhook, { status: 'disabled' });
    const { envelope } = await watcher.deliveries.nth(1);
    expect([envelope.type, envelope.data]).toEqual([
      'webhook.disabled',
      { webhook_id: webhook.id, reason: 'manual' },
    ]);
    expect(await tenant.webhooksOf(envelope)).toEqual([watching.id]);
  });

  it('gets no events while disabled, and does not get them later', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    await patch(tenant, webhook, { status: 'disabled' });
    expect(await tenant.webhooksOf(await tenant.record())).toEqual([]);
    await patch(tenant, webhook, { status: 'active' });
    const next = await tenant.record();
    expect((await receiver.deliveries.nth(1)).envelope.id).toBe(next.id);
  });

  it('ends waiting deliveries as failed, with the error disabled', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(500);
    await tenant.record();
    await tenant.record();
    await tenant.settled(webhook, 2);
    await patch(tenant, webhook, { status: 'disabled' });
    const list = await tenant.settled(webhook, 2, ({ error }) => error === 'disabled');
    for (const delivery of list) {
      expect(delivery).toMatchObject({ status: 'failed', attempts: 1, next_attempt_at: null });
    }
    // They have ended: made active again, the webhook does not get them any more.
    await patch(tenant, webhook, { status: 'active' });
    receiver.onDelivery = 200;
    await tenant.bringForward(webhook);
    const next = await tenant.record();
    expect((await receiver.deliveries.nth(3)).envelope.id).toBe(next.id);
    expect((await tenant.events({ type: 'webhook.delivery_failed' })).length).toBe(0);
  });

  it('lets an attempt in flight finish, and makes no further one', async () => {
    const tenant = await newTenant(service);
    const held = new Held();
    const { receiver, webhook } = await tenant.connect(held.reply);
    await tenant.record();
    await receiver.deliveries.nth(1);
    await patch(tenant, webhook, { status: 'disabled' });
    held.release(500);
    const [delivery] = await eventually(
      () => tenant.deliveries(webhook),
      (list) => list[0]?.error === 'disabled',
    );
    expect(delivery).toMatchObject({ status: 'failed', http_status: 500, next_attempt_at: null });
    expect(receiver.deliveries.count).toBe(1);
  });

  it('can be combined with other changes', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    const after = await startReceiver();
    const { body } = await patch(tenant, webhook, {
      ...{ status: 'disabled', url: after.url, event_types: ['task.*'] },
    });
    expect(body.data).toMatchObject({ status: 'disabled', url: after.url, event_types: ['task.*'] });
    expect([receiver.verifications.count, after.verifications.count]).toEqual([1, 0]);
  });
});

describe('PATCH status: active', () => {
  it('verifies a disabled webhook again and makes it active', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    await patch(tenant, webhook, { status: 'disabled' });
    const { status, body } = await patch(tenant, webhook, { status: 'active' });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ status: 'active', disabled_reason: null });
    expect(receiver.verifications.count).toBe(2);
  });

  it('makes it unverified if that fails', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    await patch(tenant, webhook, { status: 'disabled' });
    receiver.onVerification = 503;
    const { status, body } = await patch(tenant, webhook, { status: 'active' });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ status: 'unverified', disabled_reason: null });
    expect(await tenant.events({ type: 'webhook.verification_failed' })).toHaveLength(1);
  });

  it('verifies an unverified webhook', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver({ onVerification: 500 });
    const webhook = (await tenant.create({ url: receiver.url })).body.data;
    receiver.onVerification = 200;
    expect((await patch(tenant, webhook, { status: 'active' })).body.data.status).toBe('active');
  });
});

describe('PATCH', () => {
  const connect = async () => {
    const tenant = await newTenant(service);
    return { tenant, ...(await tenant.connect()) };
  };
  let unchanged: ReturnType<typeof connect> | undefined;

  it.each([
    ['nothing at all', {}, ''],
    ['an unknown field', { name: 'mine' }, '/name'],
    ['a secret, which rotate-secret changes', { secret: 's'.repeat(16) }, '/secret'],
    ['a workspace', { workspace_id: 'WS-1' }, '/workspace_id'],
    ['a status that cannot be set', { status: 'unverified' }, '/status'],
    ['a status that is none', { status: 'asleep' }, '/status'],
    ['an unknown event type', { event_types: ['invoice.payed'] }, '/event_types/0'],
    ['no event types', { event_types: [] }, '/event_types'],
    ['a URL that is none', { url: 'nonsense' }, '/url'],
    ['an address that is not public', { url: 'https://10.0.0.1/' }, '/url'],
  ])('is 422 for %s, and changes nothing', async (_name, body, pointer) => {
    unchanged ??= connect();
    const { tenant, webhook } = await unchanged;
    const before = await tenant.data('GET', pathOf(webhook));
    const response = await patch(tenant, webhook, body);
    expect([response.status, response.body.errors?.[0].pointer]).toEqual([422, pointer]);
    expect(await tenant.data('GET', pathOf(webhook))).toEqual(before);
  });

  it('can keep event types that are no longer in the catalogue, but not add them', async () => {
    const { tenant, webhook } = await connect();
    await service.database.query({
      text: "update posthorn.webhooks set event_types = '{parcel.sent,parcel.*}' where id = $1",
      values: [webhook.id],
    });
    const { event_types } = await tenant.data('GET', pathOf(webhook));
    const extended = await patch(tenant, webhook, { event_types: [...event_types, 'invoice.paid'] });
    expect(extended.body.data?.event_types).toEqual(['parcel.sent', 'parcel.*', 'invoice.paid']);
    const refused = await patch(tenant, webhook, { event_types: [...event_types, 'parcel.lost'] });
    expect(refused.status).toBe(422);
    expect(refused.body.errors).toMatchObject([{ pointer: '/event_types/2', code: 'unknown_event_type' }]);
    const another = await connect();
    expect((await patch(another.tenant, another.webhook, { event_types })).status).toBe(422);
    expect((await patch(tenant, { id: '%00' }, { event_types })).status).toBe(404);
  });

  it('lists all faults at once', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    const { status, body } = await patch(tenant, webhook, {
      ...{ url: 'ftp://x.example/', event_types: ['nope'], status: 'on', more: 1 },
    });
    expect(status).toBe(422);
    expect(body.errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([
      '/event_types/0',
      '/more',
      '/status',
      '/url',
    ]);
  });
});

describe('DELETE', () => {
  it('is 204 without a body, then the webhook is 404 everywhere', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    const deleted = await tenant.request('DELETE', pathOf(webhook));
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    for (const [method, path] of [
      ['DELETE', ''],
      ['GET', ''],
      ['GET', '/deliveries'],
      ['GET', '/stats'],
      ['POST', '/verify'],
    ] as const) {
      expect((await tenant.request(method, `${pathOf(webhook)}${path}`)).status).toBe(404);
    }
    expect(await tenant.data('GET', '/v1/webhooks')).toEqual([]);
  });

  it('stops new events at once', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    await tenant.request('DELETE', pathOf(webhook));
    expect(await tenant.webhooksOf(await tenant.record())).toEqual([]);
  });

  /** The status of each delivery in storage, where those of deleted webhooks stay. */
  async function storedStatuses(tenant: Tenant, webhook: { id: string }): Promise<string[]> {
    const { rows } = await service.database.query<{ status: string }>({
      text: 'select status from posthorn.deliveries where organization_id = $1 and webhook_id = $2',
      values: [tenant.organization, webhook.id],
    });
    return rows.map(({ status }) => status);
  }

  it('sends nothing after the response, even if retries were waiting; their deliveries stay in storage', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(500);
    for (let recorded = 0; recorded < 3; recorded += 1) await tenant.record();
    await tenant.settled(webhook, 3);
    expect((await tenant.request('DELETE', pathOf(webhook))).status).toBe(204);
    await tenant.bringForward(webhook);
    await eventually(
      () => storedStatuses(tenant, webhook),
      (statuses) => statuses.every((status) => status === 'cancelled'),
    );
    expect(await storedStatuses(tenant, webhook)).toHaveLength(3);
    expect(receiver.deliveries.count).toBe(3);
  });

  it('lets an attempt in flight finish, and makes no further one', async () => {
    const tenant = await newTenant(service);
    const held = new Held();
    const { receiver, webhook } = await tenant.connect(held.reply);
    await tenant.record();
    await receiver.deliveries.nth(1);
    expect((await tenant.request('DELETE', pathOf(webhook))).status).toBe(204);
    held.release(500);
    await eventually(
      () => storedStatuses(tenant, webhook),
      (statuses) => statuses[0] === 'cancelled',
    );
    expect(receiver.deliveries.count).toBe(1);
    expect(await tenant.events({ type: 'webhook.delivery_failed' })).toEqual([]);
  });

  it('needs webhooks:write', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    const reader = await newTenant(service, {
      ...{ organization_id: tenant.organization, scopes: ['events:read', 'webhooks:read'] },
    });
    const { status, body } = await reader.request('DELETE', pathOf(webhook));
    expect([status, body.code]).toEqual([403, 'insufficient_scope']);
    expect((await tenant.request('GET', pathOf(webhook))).status).toBe(200);
  });
});

describe('two changes on two nodes, which read the webhook before either of them writes it', async () => {
  const key = { POSTHORN_SECRET_KEY: randomBytes(32).toString('base64') };
  const one = await startTestService(key);
  const other = await startTestService({ ...key, DATABASE_URL: one.databaseUrl });

  const untilWaiting = (count: number) =>
    eventually(
      async () => {
        const { rows } = await one.database.query<{ waiting: number }>({
          text: `select count(*) as waiting from pg_stat_activity
                  where datname = current_database() and wait_event_type = 'Lock'`,
        });
        return rows[0]!.waiting;
      },
      (waiting) => waiting === count,
    );

  /** Sends the first change to one node, then the second to the other. Returns the second response. */
  async function inTurn(
    tenant: Tenant,
    webhook: { id: string },
    first: unknown,
    second: unknown,
  ): Promise<ApiResponse> {
    const changes = await one.database.transaction(async (client) => {
      await client.query({
        text: 'select from posthorn.audit_chains where organization_id = $1 for update',
        values: [tenant.organization],
      });
      const earlier = patch(tenant, webhook, first);
      await untilWaiting(1);
      const later = patch(new Tenant(other, tenant.organization, tenant.token), webhook, second);
      await untilWaiting(2);
      return [earlier, later] as const;
    });
    expect((await changes[0]).status).toBe(200);
    return changes[1];
  }

  it('activate it and give it a URL: the URL is not used without being verified', async () => {
    const tenant = await newTenant(one);
    const { receiver, webhook } = await tenant.connect();
    await patch(tenant, webhook, { status: 'disabled' });
    const victim = await startReceiver();
    const { status, body } = await inTurn(tenant, webhook, { status: 'active' }, { url: victim.url });
    expect([status, body.code]).toEqual([409, 'webhook_changed']);
    expect(await tenant.data('GET', pathOf(webhook))).toMatchObject({ status: 'active', url: receiver.url });
  });

  it.each([
    ['disabled', { status: 'disabled' }],
    ['changed', {}],
  ])(
    'replace a header and keep it: the old value does not come back if the webhook is %s',
    async (_, more) => {
      const tenant = await newTenant(one);
      const { receiver, webhook } = await tenant.connect(200, { headers: { 'X-Key': 'old' } });
      const replaced = { headers: { 'X-Key': 'new' } };
      const { status, body } = await inTurn(tenant, webhook, replaced, {
        ...more,
        headers: { 'X-Key': null },
      });
      expect([status, body.code]).toEqual([409, 'webhook_changed']);
      await tenant.data('POST', `${pathOf(webhook)}/verify`);
      expect(receiver.verifications.last.headers['x-key']).toBe('new');
    },
  );
});
