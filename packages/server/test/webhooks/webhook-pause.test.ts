import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Standstill } from '../support/hostile-receiver.js';
import { setLimits } from '../support/limits.js';
import { Held, startReceiver } from '../support/receiver.js';
import { sharedService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';

const service = await sharedService();

type Hook = { id: string };
const pathOf = (webhook: Hook) => `/v1/webhooks/${webhook.id}`;
const setStatus = (tenant: Tenant, webhook: Hook, status: string) =>
  tenant.data('PATCH', pathOf(webhook), { status });
const audited = async (tenant: Tenant) =>
  (await tenant.data('GET', '/v1/audit-logs')).map(({ action }: { action: string }) => action);

describe('a paused webhook', () => {
  it('gets nothing until it is resumed, without a verification, and then all in order', async () => {
    const tenant = await newTenant(service, {
      scopes: ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'],
    });
    const { receiver, webhook } = await tenant.connect(200, { rate_limit: 100 });
    expect(await setStatus(tenant, webhook, 'paused')).toMatchObject({
      status: 'paused',
      disabled_reason: null,
    });
    const events = [await tenant.record(), await tenant.record(), await tenant.record()];
    expect(await tenant.webhooksOf(events[2]!)).toEqual([webhook.id]);
    // A test is sent after everything that could have been sent by mistake.
    expect(
      (await tenant.data('POST', `${pathOf(webhook)}/test`, { event_type: 'invoice.paid' })).status,
    ).toBe('success');
    expect(receiver.deliveries.all.map(({ envelope }) => envelope.test)).toEqual([true]);

    expect((await setStatus(tenant, webhook, 'active')).status).toBe('active');
    await receiver.deliveries.nth(4);
    expect(receiver.deliveries.all.slice(1).map(({ envelope }) => envelope.id)).toEqual(
      events.map(({ id }) => id),
    );
    expect(receiver.verifications.count).toBe(1);
    expect(await tenant.events({ type: 'webhook.disabled' })).toEqual([]);
    expect(await audited(tenant)).toEqual([
      'webhook.resumed',
      'webhook.tested',
      'webhook.paused',
      'webhook.created',
    ]);
  });

  it('keeps retries as they were, and shows that they wait', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(503);
    const event = await tenant.record();
    const [before] = await tenant.settled(webhook);
    await setStatus(tenant, webhook, 'paused');
    const [during] = await tenant.deliveries(webhook);
    expect(during).toMatchObject({ status: 'failed', final: false, attempts: 1, next_attempt_at: null });
    await setStatus(tenant, webhook, 'active');
    expect(await tenant.deliveries(webhook)).toEqual([before]);
    await tenant.bringForward(webhook);
    expect((await receiver.deliveries.nth(2)).envelope.id).toBe(event.id);
  });

  it('gets an old backlog gently when it is resumed', async () => {
    setLimits({ oldBacklogMs: -60_000 });
    const tenant = await newTenant(service);
    const standstill = new Standstill();
    const { receiver, webhook } = await tenant.connect(standstill.reply);
    await setStatus(tenant, webhook, 'paused');
    await Promise.all(Array.from({ length: 20 }, () => tenant.record()));
    await setStatus(tenant, webhook, 'active');
    expect(await standstill.reached(service.platformUrl, receiver)).toBeLessThanOrEqual(4);
    standstill.end(receiver, 200);
    await tenant.settled(webhook, 20, ({ status }) => status === 'success');
  });

  it('finishes an attempt in flight', async () => {
    const tenant = await newTenant(service);
    const held = new Held();
    const { receiver, webhook } = await tenant.connect(held.reply);
    await tenant.record();
    await receiver.deliveries.nth(1);
    await setStatus(tenant, webhook, 'paused');
    held.release(200);
    await tenant.settled(webhook, 1, ({ status }) => status === 'success');
  });

  it('stays paused when it is verified, whatever comes of it', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    await setStatus(tenant, webhook, 'paused');
    const good = await tenant.data('POST', `${pathOf(webhook)}/verify`);
    expect(good).toMatchObject({ status: 'paused', verification_failure: null });
    receiver.onVerification = 500;
    const bad = await tenant.data('POST', `${pathOf(webhook)}/verify`);
    expect(bad).toMatchObject({ status: 'paused', verification_failure: { http_status: 500 } });
    expect(await tenant.events({ type: 'webhook.verification_failed' })).toHaveLength(1);
    expect(await setStatus(tenant, webhook, 'active')).toMatchObject({
      status: 'active',
      verification_failure: null,
    });
  });

  it('stays paused at a new URL, unless that fails', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    await setStatus(tenant, webhook, 'paused');
    const [good, bad] = [await startReceiver(), await startReceiver({ onVerification: 500 })];
    expect((await tenant.data('PATCH', pathOf(webhook), { url: good.url })).status).toBe('paused');
    expect((await tenant.data('PATCH', pathOf(webhook), { url: bad.url })).status).toBe('unverified');
    bad.onVerification = 200;
    expect((await setStatus(tenant, webhook, 'active')).status).toBe('active');
  });

  it('ends what waits when it is disabled', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(500);
    await tenant.record();
    await tenant.settled(webhook);
    await setStatus(tenant, webhook, 'paused');
    await setStatus(tenant, webhook, 'disabled');
    await tenant.settled(webhook, 1, ({ final, error }) => final && error === 'disabled');
    expect(receiver.deliveries.count).toBe(1);
  });

  it('takes a redelivery and a replay, and sends them when it is resumed', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    const from = new Date(Date.now() - 60_000).toISOString();
    const event = await tenant.record();
    const [delivery] = await tenant.settled(webhook, 1, ({ status }) => status === 'success');
    await setStatus(tenant, webhook, 'paused');
    await tenant.data('POST', `${pathOf(webhook)}/deliveries/${delivery.id}/redeliver`);
    await tenant.data('POST', `${pathOf(webhook)}/replay`, { from, to: new Date().toISOString() });
    await setStatus(tenant, webhook, 'active');
    await receiver.deliveries.nth(3);
    expect(receiver.deliveries.all.map(({ envelope }) => envelope.id)).toEqual([
      event.id,
      event.id,
      event.id,
    ]);
  });

  it('sends no event of a pause before its end, then each of them once, and fails none, in any order of steps', async () => {
    const step = fc.constantFrom('record', 'record', 'pause', 'resume', 'fail', 'heal');
    const property = fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
      const tenant = await newTenant(service);
      const { receiver, webhook } = await tenant.connect();
      const succeeded: string[] = [];
      const heal = () => {
        receiver.onDelivery = (response, { envelope }) => {
          succeeded.push(envelope.id);
          response.end();
        };
      };
      const all: string[] = [];
      let held: string[] | undefined;
      const resume = async () => {
        if (held && held.length > 0) {
          // A test is sent after everything that could have been sent by mistake.
          await tenant.data('POST', `${pathOf(webhook)}/test`, { event_type: 'invoice.paid' });
          const arrived = receiver.deliveries.all.map(({ envelope }) => envelope.id);
          expect(arrived.filter((id) => held?.includes(id))).toEqual([]);
        }
        await setStatus(tenant, webhook, 'active');
        held = undefined;
      };
      heal();
      for (const name of steps) {
        if (name === 'record') {
          const { id } = await tenant.record();
          all.push(id);
          held?.push(id);
        } else if (name === 'pause') {
          if (!held) await setStatus(tenant, webhook, 'paused');
          held ??= [];
        } else if (name === 'resume') await resume();
        else if (name === 'heal') heal();
        else receiver.onDelivery = 500;
      }
      heal();
      await resume();
      await tenant.settled(webhook, all.length);
      await tenant.bringForward(webhook);
      await tenant.settled(webhook, all.length, ({ status, final }) => final && status === 'success');
      expect(succeeded.filter((id) => all.includes(id)).sort()).toEqual(all.sort());
      expect(await tenant.events({ type: 'webhook.delivery_failed' })).toEqual([]);
    });
    await fc.assert(property, { numRuns: 8 });
  });

  it('must have been active', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    await setStatus(tenant, webhook, 'disabled');
    const { status, body } = await tenant.request('PATCH', pathOf(webhook), { body: { status: 'paused' } });
    expect([status, body.code]).toEqual([409, 'webhook_not_active']);
  });
});

describe('a webhook that is created disabled', () => {
  it('is verified when it is activated, with the secret that was generated before', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const { status, body } = await tenant.create({ url: receiver.url, status: 'disabled' });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({
      status: 'disabled',
      disabled_reason: 'manual',
      secret: expect.any(String),
    });
    expect(receiver.verifications.count).toBe(0);
    expect(await tenant.events({ type: 'webhook.disabled' })).toEqual([]);
    expect((await setStatus(tenant, body.data, 'active')).status).toBe('active');
    expect(receiver.verifications.count).toBe(1);
  });
});

describe('retry_schedule', () => {
  it('replaces the waits of the service until it is null', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(500, { retry_schedule: ['1ms'] });
    expect(webhook.retry_schedule).toEqual(['1ms']);
    await tenant.record();
    await tenant.settled(webhook, 1, ({ final, attempts }) => final && attempts === 2);
    const [failed] = await tenant.events({ type: 'webhook.delivery_failed' });
    expect(failed.payload.attempts).toBe(2);
    expect(receiver.deliveries.count).toBe(2);
    expect((await tenant.data('PATCH', pathOf(webhook), { retry_schedule: null })).retry_schedule).toBeNull();
    await tenant.record();
    const [delivery] = await tenant.settled(webhook, 2, ({ attempts }) => attempts > 0);
    expect(delivery).toMatchObject({ final: false, attempts: 1 });
  });

  it('is refused with each fault', async () => {
    const tenant = await newTenant(service);
    const url = 'https://example.com/';
    const { status, body } = await tenant.create({ url, retry_schedule: ['5s', '0s', '31d', 'soon'] });
    expect(status).toBe(422);
    const pointers = body.errors.map(({ pointer }: { pointer: string }) => pointer);
    expect(pointers).toEqual(['/retry_schedule/1', '/retry_schedule/2', '/retry_schedule/3']);
    const counts = [[], Array(20).fill('1s')].map((retry_schedule) => tenant.create({ url, retry_schedule }));
    expect((await Promise.all(counts)).map((one) => one.status)).toEqual([422, 422]);
  });
});

it('413 ends a delivery at once, and the webhook stays active', async () => {
  const tenant = await newTenant(service);
  const { webhook } = await tenant.connect(413);
  await tenant.record();
  await tenant.settled(webhook, 1, ({ final, attempts }) => final && attempts === 1);
  const [failed] = await tenant.events({ type: 'webhook.delivery_failed' });
  expect(failed.payload).toMatchObject({ attempts: 1, http_status: 413 });
  expect((await tenant.data('GET', pathOf(webhook))).status).toBe('active');
});
