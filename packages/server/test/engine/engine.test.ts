import { randomBytes } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { setLimits } from '../support/limits.js';
import { Log } from '../support/log.js';
import { Held, hangs, type Received, startReceiver } from '../support/receiver.js';
import { startTestService, type TestService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

// biome-ignore lint/suspicious/noExplicitAny: tests look into deliveries of every shape
type Body = any;

const minuteMs = 60_000;
const dayMs = 86_400_000;

const quick = { POSTHORN_RETRY_SCHEDULE: '20ms,30ms,40ms,50ms', POSTHORN_DELIVERY_TIMEOUT: '5s' };
/** Longer than any test: what waits then goes on waiting. */
const waitsForAnHour = { status: 503, headers: { 'retry-after': '3600' } };

let service: TestService;
beforeAll(async () => {
  service = await startTestService(quick);
});

const isOver = (delivery: Body) => delivery.next_attempt_at === null || delivery.status === 'success';

/** The one delivery of a webhook, with its attempts, once it has ended. */
async function ended(owner: Tenant, webhook: { id: string }): Promise<Body> {
  const [delivery] = await owner.settled(webhook, 1, isOver);
  return owner.data('GET', `/v1/webhooks/${webhook.id}/deliveries/${delivery.id}`);
}

const attemptOf = ({ headers }: Received) => Number(headers['x-service-attempt']);

describe('a delivery that keeps failing', () => {
  test('is attempted five times, then fails, and exactly one webhook.delivery_failed reports it', async () => {
    const owner = await newTenant(service);
    const { receiver, webhook } = await owner.connect(500);
    const recorded = await owner.record({ workspace_id: 'WS-9' });
    const delivery = await ended(owner, webhook);
    expect(delivery).toMatchObject({
      ...{ status: 'failed', final: true, http_status: 500, error: null, attempts: 5, next_attempt_at: null },
      last_attempt_at: expect.any(String),
    });
    expect(delivery).not.toHaveProperty('delivered_at');
    expect(delivery.attempt_log.map(({ attempt }: Body) => attempt)).toEqual([1, 2, 3, 4, 5]);
    expect(receiver.deliveries.all.map(attemptOf)).toEqual([1, 2, 3, 4, 5]);

    const reported = await owner.events({ type: 'webhook.delivery_failed' });
    expect(reported).toEqual([
      {
        id: expect.stringMatching(/^EVT-/),
        type: 'webhook.delivery_failed',
        organization_id: owner.organization,
        workspace_id: null,
        actor: { type: 'system', id: 'posthorn' },
        subject: { type: 'webhook', id: webhook.id },
        payload: {
          webhook_id: webhook.id,
          delivery_id: delivery.id,
          event_id: recorded.id,
          event_type: 'invoice.paid',
          attempts: 5,
          http_status: 500,
          error: null,
          last_attempt_at: delivery.last_attempt_at,
        },
        created_at: expect.any(String),
      },
    ]);
    expect(await owner.webhooksOf(reported[0])).toEqual([]);
  });

  test('reports the error if its last attempt got no status', async () => {
    const owner = await newTenant(service);
    const { webhook } = await owner.connect((response) => response.socket?.destroy(), {
      workspace_id: 'WS-9',
    });
    await owner.record({ workspace_id: 'WS-9' });
    expect(await ended(owner, webhook)).toMatchObject({ http_status: null, error: 'reset', attempts: 5 });
    const [reported] = await owner.events({ type: 'webhook.delivery_failed' });
    expect(reported).toMatchObject({ workspace_id: 'WS-9', payload: { http_status: null, error: 'reset' } });
  });
});

describe('a delivery', () => {
  test('that gets a 410 from a URL that its webhook no longer has fails, and the webhook stays active', async () => {
    const owner = await newTenant(service);
    const held = new Held();
    const { receiver, webhook } = await owner.connect(held.reply);
    await owner.record();
    await receiver.deliveries.nth(1);
    const after = await startReceiver();
    await owner.data('PATCH', `/v1/webhooks/${webhook.id}`, { url: after.url });
    held.release(410);
    expect(await ended(owner, webhook)).toMatchObject({ status: 'failed', http_status: 410, attempts: 1 });
    expect((await owner.data('GET', `/v1/webhooks/${webhook.id}`)).status).toBe('active');
    await owner.record();
    await after.deliveries.nth(1);
  });

  test('that gets a 410 fails and disables its webhook as gone, without a webhook.delivery_failed', async () => {
    const owner = await newTenant(service);
    const witness = await owner.connect(200, { event_types: ['webhook.*'] });
    const { receiver, webhook } = await owner.connect(410, { event_types: ['invoice.*'] });
    await owner.record();
    expect(await ended(owner, webhook)).toMatchObject({
      ...{ status: 'failed', http_status: 410, attempts: 1, next_attempt_at: null },
    });
    expect(await owner.data('GET', `/v1/webhooks/${webhook.id}`)).toMatchObject({
      status: 'disabled',
      disabled_reason: 'gone',
    });
    const reported = await witness.receiver.deliveries.nth(1);
    expect(reported.envelope).toMatchObject({
      type: 'webhook.disabled',
      data: { webhook_id: webhook.id, reason: 'gone' },
    });
    const events = await owner.events();
    expect(events.map(({ type }) => type)).toEqual(['webhook.disabled', 'invoice.paid']);
    expect(events[0]).toMatchObject({
      actor: { type: 'system', id: 'posthorn' },
      subject: { type: 'webhook', id: webhook.id },
    });

    expect(await owner.webhooksOf(await owner.record())).toEqual([]);
    expect(receiver.deliveries.count).toBe(1);
  });

  test('waits as long as the Retry-After of a 503 says', async () => {
    const owner = await newTenant(service);
    const arrivedMs: number[] = [];
    const { webhook } = await owner.connect((response, request) => {
      arrivedMs.push(Date.now());
      if (attemptOf(request) > 1) response.end();
      else response.writeHead(503, { 'retry-after': '1' }).end();
    });
    await owner.record();
    expect(await ended(owner, webhook)).toMatchObject({ status: 'success', attempts: 2 });
    // Times are kept in whole milliseconds.
    expect(arrivedMs[1]! - arrivedMs[0]!).toBeGreaterThanOrEqual(999);
  });
});

describe('a webhook that only fails', () => {
  afterEach(() => {
    service.clock.offsetMs = 0;
  });

  const standing = (owner: Tenant, webhook: { id: string }) =>
    owner.data('GET', `/v1/webhooks/${webhook.id}`);

  /** Records an event, and waits until the webhook shows its attempt. */
  async function attempt(owner: Tenant, webhook: { id: string }): Promise<Body> {
    const from = Date.now() + service.clock.offsetMs;
    await owner.record();
    return eventually(
      () => standing(owner, webhook),
      ({ last_delivery_at: at }) => at !== null && Date.parse(at) >= from - 1,
    );
  }

  /** Makes the failures of a webhook older. */
  const age = (webhook: { id: string }, ms: number) =>
    service.database.query({
      text: `
  update posthorn.webhook_health
     set failing_since = failing_since - $2 * interval '1 millisecond',
         last_failure_at = last_failure_at - $2 * interval '1 millisecond'
   where webhook_id = $1`,
      values: [webhook.id, ms],
    });

  /** Returns for how many days a webhook has failed, by the clock of the database, and the span of its failures. */
  async function failingDays(webhook: { id: string }): Promise<{ days: number; span: number }> {
    const { rows } = await service.database.query<{ days: number; span: number }>({
      text: `
  select extract(epoch from clock_timestamp() - failing_since)::float8 / 86400 as days,
         extract(epoch from last_failure_at - failing_since)::float8 / 86400 as span
    from posthorn.webhook_health where webhook_id = $1`,
      values: [webhook.id],
    });
    return rows[0]!;
  }

  test('is disabled as failing after 5 days without a success, and webhook.disabled reports it', async () => {
    const owner = await newTenant(service);
    const { webhook } = await owner.connect(waitsForAnHour);
    expect(await attempt(owner, webhook)).toMatchObject({
      status: 'active',
      last_delivery_status: 'failed',
    });
    await age(webhook, 5 * dayMs - 10 * minuteMs);
    expect(await attempt(owner, webhook)).toMatchObject({ status: 'active' });
    await age(webhook, 11 * minuteMs);
    await attempt(owner, webhook);
    await eventually(
      () => standing(owner, webhook),
      ({ status, disabled_reason: reason }) => status === 'disabled' && reason === 'failing',
    );
    const reported = await owner.events({ type: 'webhook.disabled' });
    expect(reported).toMatchObject([
      {
        actor: { type: 'system', id: 'posthorn' },
        subject: { type: 'webhook', id: webhook.id },
        payload: { webhook_id: webhook.id, reason: 'failing' },
      },
    ]);
    const deliveries = await owner.settled(webhook, 3, isOver);
    for (const delivery of deliveries)
      expect(delivery).toMatchObject({ status: 'failed', error: 'disabled' });
  });

  test('is not disabled if it succeeded once in the meantime', async () => {
    const owner = await newTenant(service);
    const { receiver, webhook } = await owner.connect(waitsForAnHour);
    await attempt(owner, webhook);
    await age(webhook, 3 * dayMs);
    receiver.onDelivery = 200;
    expect(await attempt(owner, webhook)).toMatchObject({ last_delivery_status: 'success' });
    receiver.onDelivery = waitsForAnHour;
    await attempt(owner, webhook);
    await age(webhook, 2 * dayMs);
    expect(await attempt(owner, webhook)).toMatchObject({ status: 'active' });
    expect((await failingDays(webhook)).span).toBeCloseTo(2, 1);
  });

  test.each([-6 * dayMs, 6 * dayMs])(
    'is not disabled because the clock of the node was wrong by %d ms at first',
    async (offsetMs) => {
      const owner = await newTenant(service);
      const { webhook } = await owner.connect(waitsForAnHour);
      service.clock.offsetMs = offsetMs;
      await attempt(owner, webhook);
      service.clock.offsetMs = 0;
      await owner.record();
      await owner.settled(webhook, 2, ({ attempts }) => attempts === 1);
      const { days, span } = await failingDays(webhook);
      expect(days).toBeCloseTo(0, 1);
      expect(span).toBeCloseTo(0, 1);
      expect(await standing(owner, webhook)).toMatchObject({ status: 'active' });
    },
  );
});

describe('a shutdown', () => {
  test('does not wait for a receiver that hangs: the attempt does not count, the log says why, and the next start makes it again', async () => {
    setLimits({ drainMs: 200 });
    const log = new Log();
    const env = { ...quick, POSTHORN_SECRET_KEY: randomBytes(32).toString('base64') };
    const first = await startTestService(env, log);
    const owner = await newTenant(first);
    const { receiver, webhook } = await owner.connect(hangs);
    const recorded = await owner.record();
    await receiver.deliveries.nth(1);
    await first.stop();
    expect(log.lines.filter(({ event_id }) => event_id === recorded.id)).toMatchObject([
      { level: 30, msg: expect.stringContaining('shutdown'), webhook_id: webhook.id, attempt: 1 },
    ]);

    receiver.onDelivery = 200;
    const second = await startTestService({ ...env, DATABASE_URL: first.databaseUrl });
    expect(attemptOf(await receiver.deliveries.nth(2))).toBe(1);
    const again = await newTenant(second, { organization_id: owner.organization });
    const { attempt_log: attempts } = await ended(again, webhook);
    expect(attempts).toMatchObject([{ attempt: 1, http_status: 200 }]);
  });
});

test.each([-3_600_000, 3_600_000])(
  'a replay ends with the latest event, although the clock of its node differs by %d ms',
  async (offsetMs) => {
    const owner = await newTenant(service);
    const { webhook } = await owner.connect();
    const { created_at } = await owner.record();
    service.clock.offsetMs = offsetMs;
    const body = { from: created_at, to: '2100-01-01' };
    const replay = await owner.data('POST', `/v1/webhooks/${webhook.id}/replay`, body).finally(() => {
      service.clock.offsetMs = 0;
    });
    expect(replay.total).toBe(1);
    expect(Math.abs(Date.parse(replay.created_at) - Date.parse(created_at))).toBeLessThan(minuteMs);
    const { rows } = await service.database.query({
      text: 'select to_at from posthorn.replays where organization_id = $1 and id = $2',
      values: [owner.organization, replay.id],
    });
    expect(rows).toEqual([{ to_at: new Date(replay.created_at) }]);
  },
);
