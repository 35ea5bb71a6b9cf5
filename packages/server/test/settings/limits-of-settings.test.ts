import { describe, expect, it } from 'vitest';
import { startReceiver } from '../support/receiver.js';
import { startTestService } from '../support/service.js';
import { newTenant } from '../support/tenant.js';

const service = await startTestService({
  POSTHORN_EVENT_RETENTION: '36h',
  POSTHORN_WEBHOOKS_PER_ORGANIZATION: '2',
  POSTHORN_RETRY_SCHEDULE: '1h,1h',
});
const retentionMs = 36 * 3_600_000;

describe('POSTHORN_EVENT_RETENTION', () => {
  it('is how long events and deliveries can be read, to the millisecond', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    const { id, created_at } = await tenant.record();
    const [delivery] = await tenant.settled(webhook, 1);
    const statuses = async () => {
      const paths = [`/v1/events/${id}`, `/v1/webhooks/${webhook.id}/deliveries/${delivery.id}`];
      const responses = await Promise.all(paths.map((path) => tenant.request('GET', path)));
      return responses.map(({ status }) => status);
    };
    try {
      service.clock.stoppedAtMs = Date.parse(created_at) + retentionMs;
      expect(await statuses()).toEqual([200, 200]);
      expect(await tenant.events()).toHaveLength(1);
      expect(await tenant.deliveries(webhook)).toHaveLength(1);
      service.clock.stoppedAtMs += 1;
      expect(await statuses()).toEqual([404, 404]);
      expect(await tenant.events()).toEqual([]);
      expect(await tenant.deliveries(webhook)).toEqual([]);
    } finally {
      service.clock.stoppedAtMs = undefined;
    }
  });
});

describe('POSTHORN_WEBHOOKS_PER_ORGANIZATION', () => {
  it('is how many webhooks an organization can have: the next is 409', async () => {
    const tenant = await newTenant(service);
    const { url } = await startReceiver();
    const statuses: number[] = [];
    for (let n = 0; n < 3; n += 1) statuses.push((await tenant.create({ url })).status);
    expect(statuses).toEqual([201, 201, 409]);
    const { body } = await tenant.create({ url });
    expect([body.code, body.detail]).toEqual([
      'too_many_webhooks',
      'An organization can have at most 2 webhooks.',
    ]);
  });
});

describe('POSTHORN_RETRY_SCHEDULE', () => {
  it('gives one attempt more than it has waits', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect(500);
    await tenant.record();
    for (let attempts = 1; attempts <= 3; attempts += 1) {
      await tenant.settled(webhook, 1, (one) => one.attempts === attempts);
      if (attempts < 3) await tenant.bringForward(webhook);
    }
    const [delivery] = await tenant.deliveries(webhook);
    expect(delivery).toMatchObject({ status: 'failed', attempts: 3, next_attempt_at: null });
    const [failed] = await tenant.events({ type: 'webhook.delivery_failed' });
    expect(failed.payload.attempts).toBe(3);
  });
});
