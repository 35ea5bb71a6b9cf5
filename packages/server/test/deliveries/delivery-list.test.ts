import { describe, expect, it } from 'vitest';
import { babbles, Held, type Received, type Reply, resets, startReceiver } from '../support/receiver.js';
import { sharedService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';

const service = await sharedService();
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const hourMs = 3_600_000;

const listOf = (tenant: Tenant, webhook: { id: string }, query = '') =>
  tenant.request('GET', `/v1/webhooks/${webhook.id}/deliveries${query}`);
const detailOf = (tenant: Tenant, webhook: { id: string }, delivery: { id: string }) =>
  tenant.data('GET', `/v1/webhooks/${webhook.id}/deliveries/${delivery.id}`);
const attemptFields = [
  ...['attempt', 'attempted_at', 'http_status', 'error', 'duration_ms', 'response'],
  ...['error_detail', 'remedy', 'response_headers'],
];
const idsOf = (deliveries: { id: string }[]) => deliveries.map(({ id }) => id);

/** Waits until the one delivery of this webhook has had as many attempts. */
async function attempted(tenant: Tenant, webhook: { id: string }, attempts: number) {
  const [delivery] = await tenant.settled(webhook, 1, (one) => one.attempts === attempts);
  return delivery;
}

/** One event, attempted as often as there are replies. */
async function deliveredWith(...replies: Reply[]) {
  const tenant = await newTenant(service);
  const { receiver, webhook } = await tenant.connect(replies[0]);
  const event = await tenant.record();
  let delivery = await attempted(tenant, webhook, 1);
  for (const [index, reply] of replies.slice(1).entries()) {
    receiver.onDelivery = reply;
    await tenant.bringForward(webhook);
    delivery = await attempted(tenant, webhook, index + 2);
  }
  return { tenant, receiver, webhook, event, delivery };
}

describe.concurrent('a delivery in the list', () => {
  it('that succeeded has exactly the fields of the contract', async () => {
    const { delivery, event, receiver, webhook } = await deliveredWith(204);
    expect(delivery).toEqual({
      id: receiver.deliveries.last.headers['x-service-delivery'],
      webhook_id: webhook.id,
      event_id: event.id,
      event_type: 'invoice.paid',
      status: 'success',
      final: true,
      http_status: 204,
      error: null,
      duration_ms: expect.any(Number),
      attempts: 1,
      created_at: time,
      delivered_at: time,
    });
    expect(delivery.id).toMatch(/^WDLV-[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(delivery.created_at <= delivery.delivered_at).toBe(true);
  });

  it('that is between two attempts is failed, with the attempts so far and next_attempt_at', async () => {
    const { delivery, event, webhook } = await deliveredWith(503);
    expect(delivery).toEqual({
      id: expect.stringMatching(/^WDLV-/),
      webhook_id: webhook.id,
      event_id: event.id,
      event_type: 'invoice.paid',
      status: 'failed',
      final: false,
      http_status: 503,
      error: null,
      duration_ms: expect.any(Number),
      attempts: 1,
      created_at: time,
      last_attempt_at: time,
      next_attempt_at: time,
    });
  });

  it('has no next attempt while its webhook is unverified, wherever it is shown, and has one again afterwards', async () => {
    const { tenant, receiver, webhook, event, delivery } = await deliveredWith(503);
    const shown = async () => [
      ...(await tenant.deliveries(webhook)),
      await detailOf(tenant, webhook, delivery),
      ...(await tenant.data('GET', '/v1/deliveries')),
      ...(await tenant.data('GET', `/v1/events/${event.id}/deliveries`)),
    ];
    const nextOnes = async () => (await shown()).map(({ final, next_attempt_at: next }) => [final, next]);
    const next = [false, delivery.next_attempt_at];
    expect(await nextOnes()).toEqual([next, next, next, next]);
    receiver.onVerification = 500;
    await tenant.data('POST', `/v1/webhooks/${webhook.id}/verify`);
    const none = [false, null];
    expect(await nextOnes()).toEqual([none, none, none, none]);
    const [attempt] = (await detailOf(tenant, webhook, delivery)).attempt_log;
    expect(attempt.remedy).toMatch(/^The service will try again when the webhook is active\. /);
    receiver.onVerification = 200;
    await tenant.data('POST', `/v1/webhooks/${webhook.id}/verify`);
    expect(await nextOnes()).toEqual([next, next, next, next]);
  });

  it('waits as scheduled and up to 20% longer', async () => {
    const { tenant, webhook, delivery } = await deliveredWith(500);
    await tenant.bringForward(webhook);
    for (const [{ last_attempt_at: last, next_attempt_at: next }, hours] of [
      [delivery, 1],
      [await attempted(tenant, webhook, 2), 2],
    ]) {
      const waitMs = Date.parse(next) - Date.parse(last);
      // The wait begins when the attempt has ended, which takes what it takes.
      expect(waitMs).toBeGreaterThanOrEqual(hours * hourMs);
      expect(waitMs).toBeLessThan(1.2 * hours * hourMs + 30_000);
    }
  });

  it.each<[string, string, Reply]>([
    ['breaks the connection off', 'reset', resets],
    ['does not speak HTTP', 'protocol', babbles],
  ])('of a receiver that %s has no http_status, and the error %s', async (_name, error, reply) => {
    const { delivery } = await deliveredWith(reply);
    expect(delivery).toMatchObject({ status: 'failed', http_status: null, error });
    expect(delivery.duration_ms).toEqual(expect.any(Number));
  });

  it('of a receiver whose port is closed has no http_status, and the error connect', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    await receiver.close();
    await tenant.record();
    expect(await attempted(tenant, webhook, 1)).toMatchObject({ http_status: null, error: 'connect' });
  });

  it.each([304, 408, 429, 599])(
    'of a receiver that responds with %i has it as http_status, and no error',
    async (status) => {
      const { delivery } = await deliveredWith(status);
      expect(delivery).toMatchObject({ status: 'failed', http_status: status, error: null });
    },
  );

  it('appears with its first attempt', async () => {
    const tenant = await newTenant(service);
    const held = new Held();
    const { receiver, webhook } = await tenant.connect(held.reply);
    await tenant.record();
    await receiver.deliveries.nth(1);
    expect(await tenant.deliveries(webhook)).toEqual([]);
    expect(await tenant.deliveries(webhook, '?status=failed')).toEqual([]);
    held.release(200);
    await attempted(tenant, webhook, 1);
  });

  it('stays unchanged while its next attempt is in flight', async () => {
    const { tenant, receiver, webhook, delivery } = await deliveredWith(500);
    const held = new Held();
    receiver.onDelivery = held.reply;
    await tenant.bringForward(webhook);
    await receiver.deliveries.nth(2);
    const [during] = await tenant.deliveries(webhook, '?status=failed');
    expect(during).toEqual({ ...delivery, next_attempt_at: time });
    held.release(200);
    await attempted(tenant, webhook, 2);
  });
});

describe('a webhook that is gone', () => {
  it('ends its waiting deliveries as failed, with the error disabled', async () => {
    const { tenant, receiver, webhook, delivery } = await deliveredWith(500);
    receiver.onDelivery = 410;
    await tenant.record();
    await tenant.settled(webhook, 2);
    const [gone, waiting] = await tenant.deliveries(webhook);
    expect(gone).toMatchObject({ http_status: 410, error: null, next_attempt_at: null });
    expect(waiting).toMatchObject({
      ...{ id: delivery.id, status: 'failed', error: 'disabled', attempts: 1, next_attempt_at: null },
    });
  });
});

describe('webhook.delivery_failed', () => {
  it('is not recorded before the fifth attempt', async () => {
    const { tenant } = await deliveredWith(500, 500, 500, 500);
    expect(await tenant.events({ type: 'webhook.delivery_failed' })).toEqual([]);
  });
});

describe('GET /v1/webhooks/{id}/deliveries', () => {
  let shared: ReturnType<typeof withHistory> | undefined;
  /** The same history for all tests that only read it. */
  const readHistory = () => {
    shared ??= withHistory();
    return shared;
  };

  /** A webhook with six deliveries, newest first: success and failed by turns, of two types. */
  async function withHistory() {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect((response, { envelope }: Received) => {
      response.writeHead(envelope.type === 'task.created' ? 500 : 200).end();
    });
    const events = [];
    for (let n = 0; n < 6; n += 1) {
      events.unshift(await tenant.record({ type: n % 2 === 0 ? 'invoice.paid' : 'task.created' }));
    }
    const deliveries = await tenant.settled(webhook, 6);
    return { tenant, webhook, events, deliveries };
  }

  it('is newest first, failures included', async () => {
    const { tenant, webhook, events } = await readHistory();
    const { status, body } = await listOf(tenant, webhook);
    expect(status).toBe(200);
    expect(body.data.map((delivery: { event_id: string }) => delivery.event_id)).toEqual(
      events.map(({ id }) => id),
    );
    expect(body.data.map((delivery: { status: string }) => delivery.status)).toEqual([
      ...['failed', 'success', 'failed', 'success', 'failed', 'success'],
    ]);
    expect(body.meta).toEqual({ cursor: expect.any(String), has_more: false });
  });

  it('is empty without deliveries', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    expect((await listOf(tenant, webhook)).body).toEqual({
      ...{ data: [], meta: { cursor: null, has_more: false } },
    });
  });

  it('has only the deliveries of this webhook', async () => {
    const { tenant, webhook } = await withHistory();
    const { webhook: other } = await tenant.connect();
    await tenant.record();
    const [own] = await tenant.settled(other);
    await tenant.settled(webhook, 7);
    expect(idsOf(await tenant.deliveries(other))).toEqual([own.id]);
    expect(idsOf(await tenant.deliveries(webhook))).not.toContain(own.id);
  });

  it('pages with limit and cursor, each delivery once, even while new ones arrive', async () => {
    const { tenant, webhook, deliveries } = await withHistory();
    const first = (await listOf(tenant, webhook, '?limit=4')).body;
    expect(idsOf(first.data)).toEqual(idsOf(deliveries.slice(0, 4)));
    expect(first.meta.has_more).toBe(true);
    await tenant.record();
    await tenant.settled(webhook, 7);
    const second = (await listOf(tenant, webhook, `?limit=2&cursor=${first.meta.cursor}`)).body;
    expect(idsOf(second.data)).toEqual(idsOf(deliveries.slice(4)));
    expect(second.meta.has_more).toBe(false);
    const third = (await listOf(tenant, webhook, `?cursor=${second.meta.cursor}`)).body;
    expect(third).toEqual({ data: [], meta: { cursor: null, has_more: false } });
  });

  it('has 25 on a page by default', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    for (let n = 0; n < 26; n += 1) await tenant.record();
    await receiver.deliveries.nth(26);
    await tenant.settled(webhook, 26);
    const { data, meta } = (await listOf(tenant, webhook)).body;
    expect([data.length, meta.has_more]).toEqual([25, true]);
  });

  it.each(['success', 'failed'])('filters by status=%s, across pages', async (status) => {
    const { tenant, webhook, deliveries } = await readHistory();
    const expected = idsOf(deliveries.filter((one) => one.status === status));
    expect(expected).toHaveLength(3);
    expect(idsOf(await tenant.deliveries(webhook, `?status=${status}`))).toEqual(expected);
    const first = (await listOf(tenant, webhook, `?status=${status}&limit=2`)).body;
    const rest = (await listOf(tenant, webhook, `?status=${status}&cursor=${first.meta.cursor}`)).body;
    expect(idsOf([...first.data, ...rest.data])).toEqual(expected);
  });

  it('counts deliveries between attempts, given up and disabled ones as failed', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect(500);
    await tenant.record();
    for (let attempts = 1; attempts <= 5; attempts += 1) {
      await attempted(tenant, webhook, attempts);
      if (attempts < 5) await tenant.bringForward(webhook);
    }
    await tenant.record();
    await tenant.settled(webhook, 2);
    const filtered = () => tenant.deliveries(webhook, '?status=failed');
    expect((await tenant.deliveries(webhook, '?final=true')).map((one) => one.attempts)).toEqual([5]);
    expect((await tenant.deliveries(webhook, '?final=false')).map((one) => one.attempts)).toEqual([1]);
    expect(await tenant.deliveries(webhook, '?final=false&status=success')).toEqual([]);
    expect((await filtered()).map((one) => one.next_attempt_at === null)).toEqual([false, true]);
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'disabled' });
    expect((await filtered()).map((one) => one.error)).toEqual(['disabled', null]);
    expect(await tenant.deliveries(webhook, '?status=success')).toEqual([]);
  });

  it('filters by event_type', async () => {
    const { tenant, webhook, deliveries } = await readHistory();
    const expected = idsOf(deliveries.filter((one) => one.event_type === 'task.created'));
    expect(idsOf(await tenant.deliveries(webhook, '?event_type=task.created'))).toEqual(expected);
    expect(await tenant.deliveries(webhook, '?event_type=nobody.knows')).toEqual([]);
  });

  it('filters by event_id, redeliveries included', async () => {
    const { tenant, webhook, deliveries } = await withHistory();
    const one = deliveries[3];
    expect(idsOf(await tenant.deliveries(webhook, `?event_id=${one.event_id}`))).toEqual([one.id]);
    const again = await tenant.data('POST', `/v1/webhooks/${webhook.id}/deliveries/${one.id}/redeliver`);
    await tenant.settled(webhook, 7);
    expect(idsOf(await tenant.deliveries(webhook, `?event_id=${one.event_id}`))).toEqual([again.id, one.id]);
    for (const unknown of ['EVT-unknown', 'nonsense', 'EVT-01ARZ3NDEKTSV4RRFFQ69G5FAV']) {
      expect(await tenant.deliveries(webhook, `?event_id=${unknown}`)).toEqual([]);
    }
  });

  it('filters by from and to on created_at, both inclusive', async () => {
    const { tenant, webhook, deliveries } = await readHistory();
    const [to, from] = [deliveries[1].created_at, deliveries[4].created_at];
    const within = deliveries.filter((one) => one.created_at >= from && one.created_at <= to);
    expect(idsOf(await tenant.deliveries(webhook, `?from=${from}&to=${to}`))).toEqual(idsOf(within));
    const today = from.slice(0, 10);
    expect(await tenant.deliveries(webhook, `?from=${today}&to=${to.slice(0, 10)}`)).toHaveLength(6);
    expect(await tenant.deliveries(webhook, '?to=2020-01-01')).toEqual([]);
  });

  it('applies all filters together', async () => {
    const { tenant, webhook, deliveries } = await readHistory();
    const { event_id, event_type, created_at } = deliveries[2];
    const query = `?status=failed&event_type=${event_type}&event_id=${event_id}&from=${created_at}`;
    expect(idsOf(await tenant.deliveries(webhook, query))).toEqual([deliveries[2].id]);
    expect(await tenant.deliveries(webhook, query.replace('failed', 'success'))).toEqual([]);
  });

  it.each([
    ['status=pending', 'status'],
    ['status=', 'status'],
    ['final=yes', 'final'],
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['from=yesterday', 'from'],
    ['to=2026-02-30', 'to'],
    ['from=2026-11-15T09:30:00', 'from'],
    ['from=2026-11-15&to=2026-11-14', 'from'],
    ['cursor=nonsense', 'cursor'],
    ['http_status=500', 'http_status'],
    ['status=failed&status=success', 'status'],
  ])('is 400 for %s', async (query, parameter) => {
    const { tenant, webhook } = await readHistory();
    const { status, body } = await listOf(tenant, webhook, `?${query}`);
    expect([status, body.errors?.map((fault: { parameter: string }) => fault.parameter)]).toEqual([
      400,
      [parameter],
    ]);
  });

  it('is 400 invalid_cursor for a cursor of other filters or of another webhook', async () => {
    const { tenant, webhook } = await withHistory();
    const { webhook: other } = await tenant.connect();
    const { cursor } = (await listOf(tenant, webhook, '?limit=1&status=failed')).body.meta;
    for (const response of [
      await listOf(tenant, webhook, `?cursor=${cursor}`),
      await listOf(tenant, webhook, `?cursor=${cursor}&status=success`),
      await listOf(tenant, other, `?cursor=${cursor}&status=failed`),
    ]) {
      expect([response.status, response.body.code]).toEqual([400, 'invalid_cursor']);
    }
    expect((await listOf(tenant, webhook, `?cursor=${cursor}&status=failed&limit=50`)).status).toBe(200);
  });
});

describe('GET /v1/webhooks/{id}/deliveries/{delivery_id}', () => {
  it('returns the delivery with a log of every attempt', async () => {
    const { tenant, webhook, delivery } = await deliveredWith({ status: 500, body: 'no such luck' }, resets, {
      status: 200,
      body: 'ok',
    });
    const detail = await detailOf(tenant, webhook, delivery);
    const { attempt_log: log, request: _request, ...rest } = detail;
    expect(rest).toEqual(delivery);
    expect(rest).toMatchObject({ status: 'success', attempts: 3, http_status: 200, error: null });
    expect(rest).not.toHaveProperty('last_attempt_at');
    expect(rest).not.toHaveProperty('next_attempt_at');
    const duration_ms = expect.any(Number);
    const failed = { error_detail: expect.any(String), remedy: expect.any(String), response_headers: {} };
    expect(log).toEqual([
      {
        ...{ attempt: 1, attempted_at: time, http_status: 500, error: null, duration_ms },
        response: 'no such luck',
        ...failed,
      },
      {
        ...{ attempt: 2, attempted_at: time, http_status: null, error: 'reset', duration_ms, response: null },
        ...failed,
      },
      { attempt: 3, attempted_at: time, http_status: 200, error: null, duration_ms, response: 'ok' },
    ]);
    const times = log.map(({ attempted_at }: { attempted_at: string }) => attempted_at);
    expect([...times].sort()).toEqual(times);
    expect(await tenant.events({ type: 'webhook.delivery_failed' })).toEqual([]);
  });

  it.each<[string, string | Buffer, string | null]>([
    ['the first 1 KiB of a longer body', `${'x'.repeat(1_024)}yyyy`, 'x'.repeat(1_024)],
    ['no half character at its end', `${'x'.repeat(1_023)}ü`, 'x'.repeat(1_023)],
    ['null where there was none', '', null],
    ['text that can be stored, of a body that is none', Buffer.from([0x61, 0, 0xff, 0x62]), 'a\uFFFD\uFFFDb'],
    ['64 KiB and more cut short', 'z'.repeat(200_000), 'z'.repeat(1_024)],
  ])('has as response %s', async (_name, body, response) => {
    const { tenant, webhook, delivery } = await deliveredWith({ status: 200, body });
    const { attempt_log } = await detailOf(tenant, webhook, delivery);
    expect(attempt_log[0].response).toBe(response);
    expect(delivery.status).toBe('success');
  });

  it.each<[string, Reply, Record<string, unknown>]>([
    ['status', { status: 500, body: 'no' }, { http_status: 500, error: null, response: 'no' }],
    ['error', resets, { http_status: null, error: 'reset', response: null }],
  ])('keeps the %s of the last attempt if the webhook was disabled', async (_what, reply, outcome) => {
    const { tenant, webhook, delivery } = await deliveredWith(reply, reply);
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'disabled' });
    const detail = await detailOf(tenant, webhook, delivery);
    expect(detail).toMatchObject({ status: 'failed', error: 'disabled', attempts: 2 });
    expect(detail.attempt_log).toMatchObject([
      { attempt: 1, ...outcome },
      { attempt: 2, ...outcome },
    ]);
    for (const attempt of detail.attempt_log) expect(Object.keys(attempt)).toEqual(attemptFields);
  });

  it('is 404 for a delivery that does not exist', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    for (const id of ['WDLV-unknown', 'nonsense', 'WDLV-01ARZ3NDEKTSV4RRFFQ69G5FAV']) {
      const { status } = await tenant.request('GET', `/v1/webhooks/${webhook.id}/deliveries/${id}`);
      expect(status, id).toBe(404);
    }
  });
});

describe('a receiver', () => {
  it('that sends Retry-After with 429 or 503 gets no request for that long, at most 4 h', async () => {
    for (const [status, seconds, hours] of [
      [429, 7_200, 2],
      [503, 864_000, 4],
      [500, 7_200, 1],
    ] as const) {
      const receiver = await startReceiver({
        onDelivery: { status, headers: { 'retry-after': String(seconds) } },
      });
      const tenant = await newTenant(service);
      const webhook = await tenant.webhook(receiver);
      await tenant.record();
      const delivery = await attempted(tenant, webhook, 1);
      const waitMs = Date.parse(delivery.next_attempt_at) - Date.parse(delivery.last_attempt_at);
      expect(waitMs).toBeGreaterThanOrEqual(hours * hourMs);
      expect(waitMs).toBeLessThan((hours === 1 ? 1.2 : hours) * hourMs + 30_000);
    }
  });
});
