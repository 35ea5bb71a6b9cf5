import { beforeAll, describe, expect, it } from 'vitest';
import { scopes } from '../../src/access/token.js';
import { limits } from '../../src/engine/limits.js';
import { countEvents } from '../../src/stats/count-store.js';
import { event, sendRequest } from '../support/client.js';
import type { Received } from '../support/receiver.js';
import { makeToken, startTestService, type TestService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

// Read once, when the service starts.
Object.assign(limits, { tallyEveryMs: 200 });
const service = await startTestService({ POSTHORN_RETRY_SCHEDULE: '1h' });
Object.assign(limits, { tallyEveryMs: 8_000 });

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];
const read = (tenant: Tenant, query: Record<string, string> = {}) =>
  tenant.data('GET', `/v1/stats?${new URLSearchParams(query)}`);

/** The figures once they are as wanted: the node writes them a moment after the attempts. */
const counted = (tenant: Tenant, query: Record<string, string>, wanted: Record<string, number>) =>
  eventually(
    () => read(tenant, query),
    ({ totals }) => Object.entries(wanted).every(([name, value]) => totals[name] === value),
  );

/** Fails what is of type task.created, and takes everything else. */
const failsTasks = (response: import('node:http').ServerResponse, { envelope }: Received) =>
  response.writeHead(envelope.type === 'task.created' ? 500 : 200).end();

describe('GET /v1/stats', () => {
  let tenant: Tenant;
  let webhook: { id: string };
  beforeAll(async () => {
    tenant = await newTenant(service, { scopes: [...scopes] });
    ({ webhook } = await tenant.connect(failsTasks));
    for (let n = 0; n < 3; n += 1) await tenant.record({ type: 'invoice.paid' });
    await tenant.record({ type: 'task.created' });
    await tenant.settled(webhook, 4);
    await tenant.bringForward(webhook);
    // The second failure is the last one of this schedule; webhook.delivery_failed is not sent to its own webhook.
    await tenant.settled(
      webhook,
      4,
      ({ status, next_attempt_at }) => status === 'success' || !next_attempt_at,
    );
    await countEvents(service.database);
  });

  const sums = { delivered: 3, failed_attempts: 2, given_up: 1 };

  it('counts attempts and deliveries exactly, and events by type', async () => {
    const stats = await counted(tenant, {}, sums);
    expect(stats.totals).toEqual({
      ...sums,
      events: 5,
      p50_ms: expect.any(Number),
      p95_ms: expect.any(Number),
    });
    expect(stats.events_by_type).toEqual([
      { type: 'invoice.paid', count: 3 },
      { type: 'task.created', count: 1 },
      { type: 'webhook.delivery_failed', count: 1 },
    ]);
  });

  it('counts webhooks by status as they are now, also of one workspace or one webhook', async () => {
    const tenant = await newTenant(service, { scopes: [...scopes] });
    const { webhook } = await tenant.connect();
    const { webhook: paused } = await tenant.connect(200, { workspace_id: 'WS-1' });
    await tenant.data('PATCH', `/v1/webhooks/${paused.id}`, { status: 'paused' });
    const none = { active: 0, failing: 0, unverified: 0, paused: 0, disabled: 0 };
    expect((await read(tenant)).webhooks).toEqual({ ...none, active: 1, paused: 1 });
    expect((await read(tenant, { workspace_id: 'WS-1' })).webhooks).toEqual({ ...none, paused: 1 });
    expect((await read(tenant, { webhook_id: webhook.id })).webhooks).toEqual({ ...none, active: 1 });
  });

  it.each([
    ['minute', 2 * hourMs, minuteMs],
    ['hour', dayMs, hourMs],
    ['day', 90 * dayMs, dayMs],
  ])('has every %s of its range, oldest first, and they add up', async (interval, rangeMs, stepMs) => {
    const toMs = Date.now();
    const query = {
      interval,
      from: new Date(toMs - rangeMs).toISOString(),
      to: new Date(toMs).toISOString(),
    };
    const stats = await counted(tenant, query, sums);
    expect(stats).toMatchObject(query);
    const times: number[] = stats.buckets.map(({ at }: { at: string }) => Date.parse(at));
    expect(times[0]).toBe(Math.floor((toMs - rangeMs) / stepMs) * stepMs);
    expect(times.at(-1)).toBe(Math.floor(toMs / stepMs) * stepMs);
    for (const [index, at] of times.entries()) expect(at).toBe(times[0]! + index * stepMs);
    for (const name of ['events', 'delivered', 'failed_attempts', 'given_up'] as const) {
      const sum = stats.buckets.reduce(
        (all: number, bucket: Record<string, number>) => all + bucket[name]!,
        0,
      );
      expect([name, sum]).toEqual([name, stats.totals[name]]);
    }
    const empty = stats.buckets[0];
    expect(empty).toEqual({
      ...{ at: empty.at, events: 0, delivered: 0, failed_attempts: 0, given_up: 0 },
      ...{ p50_ms: null, p95_ms: null },
    });
  });

  it('covers the last 24 hours if no range is given, by hour', async () => {
    const before = Date.now();
    const { interval, from, to, buckets } = await read(tenant);
    expect(interval).toBe('hour');
    expect(Date.parse(to) - Date.parse(from)).toBe(dayMs);
    expect(Date.parse(to)).toBeGreaterThanOrEqual(before);
    expect(buckets.length).toBe(25);
    const short = await read(tenant, { from: new Date(before - hourMs).toISOString() });
    expect(short.interval).toBe('minute');
    const long = await read(tenant, { from: new Date(before - 8 * dayMs).toISOString() });
    expect(long.interval).toBe('day');
  });

  it('counts nothing before it happened', async () => {
    const to = new Date(Date.now() - 2 * hourMs).toISOString();
    const { totals, events_by_type } = await read(tenant, { to });
    expect(totals).toMatchObject({ events: 0, delivered: 0, failed_attempts: 0, given_up: 0 });
    expect(events_by_type).toEqual([]);
  });

  it('counts one webhook, without events', async () => {
    const { webhook: other } = await tenant.connect(200, { event_types: ['incident.opened'] });
    const stats = await counted(tenant, { webhook_id: webhook.id }, sums);
    expect(stats.totals.events).toBeNull();
    expect(stats.buckets[0].events).toBeNull();
    expect(stats.events_by_type).toBeNull();
    const quiet = await read(tenant, { webhook_id: other.id });
    expect(quiet.totals).toMatchObject({ delivered: 0, failed_attempts: 0, given_up: 0, p50_ms: null });
  });

  it('has no events for a token without events:read, and is 403 without webhooks:read', async () => {
    const ask403 = await makeToken(service.database, {
      organization_id: tenant.organization,
      scopes: scopes.filter((scope) => scope !== 'webhooks:read'),
    });
    expect((await tenant.request('GET', '/v1/stats', { token: ask403 })).status).toBe(403);
    const token = await makeToken(service.database, {
      organization_id: tenant.organization,
      scopes: ['webhooks:read'],
    });
    const { data } = (await tenant.request('GET', '/v1/stats', { token })).body;
    expect(data.totals).toMatchObject({ events: null, delivered: 3 });
    expect(data.events_by_type).toBeNull();
    expect(new Set(data.buckets.map(({ events }: { events: unknown }) => events))).toEqual(new Set([null]));
  });

  it('counts nothing of another organization, whatever the request says', async () => {
    const other = await newTenant(service);
    expect((await read(other)).totals).toMatchObject({ events: 0, delivered: 0, failed_attempts: 0 });
    expect((await read(other, { webhook_id: webhook.id })).totals.delivered).toBe(0);
    const { status } = await other.request('GET', `/v1/stats?organization_id=${tenant.organization}`);
    expect(status).toBe(403);
  });

  it.each([
    ['from after to', 'from=2026-11-02&to=2026-11-01', 'from'],
    ['a range of more than 90 days', 'from=2026-01-01&to=2026-04-01T00:00:00.001Z', 'from'],
    [
      'minutes of more than 6 hours',
      'interval=minute&from=2026-11-01&to=2026-11-01T06:00:00.001Z',
      'interval',
    ],
    ['another interval', 'interval=week', 'interval'],
    ['a start in the future', 'from=2999-01-01', 'from'],
    ['a time it cannot read', 'to=yesterday', 'to'],
    ['an unknown parameter', 'limit=5', 'limit'],
  ])('refuses %s', async (_what, query, parameter) => {
    const { status, body } = await tenant.request('GET', `/v1/stats?${query}`);
    expect([status, body.code]).toEqual([400, 'invalid_parameter']);
    expect(body.errors[0].parameter).toBe(parameter);
  });

  it.each([
    ['hour', 90 * dayMs],
    ['minute', dayMs / 4],
  ])('accepts the longest range by the %s if it was computed a moment ago', async (interval, rangeMs) => {
    const at = (ms: number) => new Date(ms).toISOString();
    const fromMs = Date.now() - rangeMs - 1_000;
    const data = await read(tenant, { interval, from: at(fromMs) });
    expect(data.from).toBe(at(fromMs));
    const early = await tenant.request('GET', `/v1/stats?interval=${interval}&from=${at(fromMs - 120_000)}`);
    expect(early.status).toBe(400);
  });

  it.each(['from=2026-01-02&to=2026-04-01', 'interval=minute&from=2026-11-01&to=2026-11-01T06:00:00Z'])(
    'accepts the longest range there is: %s',
    async (query) => {
      expect((await tenant.request('GET', `/v1/stats?${query}`)).status).toBe(200);
    },
  );
});

describe('a token of one workspace', () => {
  it('counts the events and the webhooks of its workspace only', async () => {
    const tenant = await newTenant(service);
    const { webhook: here } = await tenant.connect(200, { workspace_id: 'WS-here' });
    const { webhook: wide } = await tenant.connect(200);
    await tenant.record({ workspace_id: 'WS-here' });
    await tenant.record({ workspace_id: 'WS-there' });
    await tenant.record({ workspace_id: null });
    await tenant.settled(here, 1);
    await tenant.settled(wide, 3);
    await countEvents(service.database);
    await counted(tenant, {}, { events: 3, delivered: 4 });

    const bound = await newTenant(service, {
      organization_id: tenant.organization,
      workspace_id: 'WS-here',
    });
    await counted(bound, {}, { events: 1, delivered: 1 });
    await counted(bound, { webhook_id: here.id }, { delivered: 1 });
    expect((await read(bound, { webhook_id: wide.id })).totals.delivered).toBe(0);
    expect((await bound.request('GET', '/v1/stats?workspace_id=WS-there')).status).toBe(403);
    await counted(tenant, { workspace_id: 'WS-there' }, { events: 1, delivered: 0 });
  });
});

describe('deliveries that end because their webhook is disabled', () => {
  it('count as given up, not as failed attempts', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect(500);
    await tenant.record();
    await tenant.settled(webhook, 1);
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'disabled' });
    await counted(tenant, {}, { failed_attempts: 1, given_up: 1 });
    await counted(tenant, { webhook_id: webhook.id, interval: 'day' }, { failed_attempts: 1, given_up: 1 });
  });
});

describe('counting events', () => {
  it('counts each one exactly once, however often and wherever it is done', async () => {
    const tenant = await newTenant(service);
    for (let n = 0; n < 4; n += 1) {
      await tenant.record();
      await Promise.all([countEvents(service.database), countEvents(service.database)]);
    }
    await countEvents(service.database);
    expect((await read(tenant)).totals.events).toBe(4);
  });

  it('includes what was recorded from SQL, and waits for transactions that are open', async () => {
    const tenant = await newTenant(service);
    const recorded = [event({ organization_id: tenant.organization })];
    await service.database.transaction(async (client) => {
      await client.query({ text: 'select posthorn.record_events($1)', values: [JSON.stringify(recorded)] });
      await tenant.record();
      await countEvents(service.database);
      expect((await read(tenant)).totals.events).toBe(0);
    });
    await countEvents(service.database);
    expect((await read(tenant)).totals.events).toBe(2);
  });
});

describe('a node that stops', () => {
  it('writes what it has counted, and another one continues from there', async () => {
    const first: TestService = await startTestService();
    const tenant = await newTenant(first);
    const { webhook } = await tenant.connect(200);
    await tenant.record();
    await tenant.settled(webhook, 1);
    await first.stop();
    const env = { DATABASE_URL: first.databaseUrl, POSTHORN_PORT: '0', POSTHORN_PLATFORM_PORT: '0' };
    const second = await startTestService(env);
    const { body } = await sendRequest(`${second.publicUrl}/v1/stats?webhook_id=${webhook.id}`, {
      token: tenant.token,
    });
    expect(body.data.totals).toMatchObject({ delivered: 1, failed_attempts: 0, given_up: 0 });
  });
});
