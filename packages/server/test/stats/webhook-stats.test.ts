import { describe, expect, it } from 'vitest';
import { limits } from '../../src/engine/limits.js';
import type { Received } from '../support/receiver.js';
import { startTestService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

// Read once, when the service starts.
Object.assign(limits, { tallyEveryMs: 200 });
const service = await startTestService({ POSTHORN_RETRY_SCHEDULE: '1h,1h,1h,1h' });
Object.assign(limits, { tallyEveryMs: 8_000 });

const hourMs = 3_600_000;
const statsOf = (tenant: Tenant, webhook: { id: string }) =>
  tenant.data('GET', `/v1/webhooks/${webhook.id}/stats`);

/** The statistics once the node has written these counts, a moment after the attempts. */
const counted = (tenant: Tenant, webhook: { id: string }, success: number, failed = 0) =>
  eventually(
    () => statsOf(tenant, webhook),
    (stats) => stats.success === success && stats.failed === failed,
  );

describe('GET /v1/webhooks/{id}/stats', () => {
  it('has zeros without deliveries', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    expect(await statsOf(tenant, webhook)).toEqual({
      since: expect.any(String),
      success: 0,
      failed: 0,
      pending: 0,
      success_rate: null,
      duration_ms: { p50: null, p95: null },
      oldest_undelivered_at: null,
      hours: expect.any(Array),
    });
  });

  it('counts succeeded, given up and pending deliveries', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect((response, { envelope }: Received) => {
      response.writeHead(envelope.type === 'task.created' ? 500 : 200).end();
    });
    await tenant.record({ type: 'task.created' });
    for (let attempts = 1; attempts <= 5; attempts += 1) {
      await tenant.settled(webhook, 1, (one) => one.attempts === attempts);
      if (attempts < 5) await tenant.bringForward(webhook);
    }
    const oldest = await tenant.record({ type: 'task.created' });
    await tenant.record({ type: 'task.created' });
    for (let n = 0; n < 3; n += 1) await tenant.record({ type: 'invoice.paid' });
    const deliveries = await tenant.settled(webhook, 6);

    const stats = await counted(tenant, webhook, 3, 1);
    expect(stats).toMatchObject({ pending: 2, success_rate: 0.75 });
    expect(stats.oldest_undelivered_at).toBe(oldest.created_at);
    const durations = deliveries
      .filter(({ status }) => status === 'success')
      .map(({ duration_ms }) => duration_ms)
      .sort((a, b) => a - b);
    for (const [name, exact] of [
      ['p50', durations[1]],
      ['p95', durations[2]],
    ])
      expect(Math.abs(stats.duration_ms[name] - exact)).toBeLessThanOrEqual(0.5 + exact / 10);
  });

  it('counts by hour for the last 48, oldest first, including empty hours', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    await tenant.record();
    const [{ delivered_at }] = await tenant.settled(webhook);
    const { since, hours } = await counted(tenant, webhook, 1);
    const times: number[] = hours.map(({ hour }: { hour: string }) => Date.parse(hour));
    expect(times.length).toBeGreaterThanOrEqual(48);
    for (const [index, at] of times.entries()) expect(at).toBe(times[0]! + index * hourMs);
    expect(times[0]).toBeLessThanOrEqual(Date.parse(since));
    expect(times[0]! + hourMs).toBeGreaterThan(Date.parse(since));
    const filled = hours.filter(({ success }: { success: number }) => success > 0);
    const hour = new Date(Math.floor(Date.parse(delivered_at) / hourMs) * hourMs).toISOString();
    expect(filled).toEqual([{ hour, success: 1, failed: 0 }]);
  });

  it('leaves out deliveries that ended more than 48 hours ago', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    await tenant.record();
    await tenant.settled(webhook);
    await counted(tenant, webhook, 1);
    try {
      service.clock.offsetMs = 47 * hourMs;
      expect((await statsOf(tenant, webhook)).success).toBe(1);
      service.clock.offsetMs = 48 * hourMs;
      expect((await statsOf(tenant, webhook)).success).toBe(0);
    } finally {
      service.clock.offsetMs = 0;
    }
  });
});
