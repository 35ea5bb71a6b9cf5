import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { OrganizationLimiter } from '../../src/events/organization-limits.js';
import type { Problem } from '../../src/values/problem.js';
import { event, sendRequest } from '../support/client.js';
import { platformToken, startTestService } from '../support/service.js';
import { eventually, newTenant } from '../support/tenant.js';

const service = await startTestService({
  POSTHORN_EVENTS_PER_SECOND: '10',
  POSTHORN_WAITING_PER_ORGANIZATION: '5',
});

const send = (organization: string, count: number) =>
  sendRequest(`${service.platformUrl}/platform/events`, {
    method: 'POST',
    token: platformToken,
    body: Array.from({ length: count }, () => event({ organization_id: organization })),
  });

describe('POSTHORN_EVENTS_PER_SECOND', () => {
  it('refuses an organization that records faster, says when to try again, and lets others record', async () => {
    expect((await send('ORG-fast', 100)).status).toBe(201);
    const refused = await send('ORG-fast', 1);
    const seconds = Number(refused.headers.get('retry-after'));
    expect([refused.status, refused.body.code, seconds > 5 && seconds <= 9]).toEqual([
      429,
      'rate_limited',
      true,
    ]);
    expect(refused.body.detail).toContain(`ORG-fast can record 10 events per second`);
    expect((await send('ORG-other', 1)).status).toBe(201);
  });

  test('over any time, an organization records no more than its rate allows, beyond a second and a request, and is admitted after Retry-After', () => {
    const request = fc.record({
      afterMs: fc.integer({ max: 5_000, min: 0 }),
      count: fc.integer({ min: 1, max: 1_000 }),
    });
    fc.assert(
      fc.property(fc.array(request, { maxLength: 40 }), (requests) => {
        let nowMs = 0;
        const limits = { eventsPerSecond: 50, waitingMax: 0 };
        const limiter = new OrganizationLimiter(
          limits,
          async () => 0,
          () => nowMs,
        );
        let recorded = 0;
        for (const { afterMs, count } of requests) {
          nowMs += afterMs;
          const admit = () =>
            limiter.admit(Array.from({ length: count }, () => ({ organization_id: 'ORG-a' })));
          try {
            admit();
          } catch (error) {
            nowMs += Number((error as Problem).headers['Retry-After']) * 1_000;
            admit();
          }
          expect(recorded).toBeLessThanOrEqual((nowMs / 1_000 + 1) * 50);
          recorded += count;
        }
      }),
    );
  });
});

describe('POSTHORN_WAITING_PER_ORGANIZATION', () => {
  it('refuses an organization while so many of its deliveries wait, and says what to do', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'paused' });
    await send(tenant.organization, 6);
    const refused = await eventually(
      () => send(tenant.organization, 1),
      ({ body }) => body.detail?.includes('waiting') === true,
    );
    expect([refused.status, refused.headers.get('retry-after'), refused.body.code]).toEqual([
      429,
      '10',
      'rate_limited',
    ]);
    expect(refused.body.detail).toContain('has 5 or more deliveries waiting. Nothing was recorded.');
    expect((await send('ORG-without-webhooks', 1)).status).toBe(201);
  });
});
