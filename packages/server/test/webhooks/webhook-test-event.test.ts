import { verify } from '@posthorn/receiver';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { catalogue } from '../support/catalogue.js';
import { babbles, hangs, type Reply, resets, startReceiver } from '../support/receiver.js';
import { startTestService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

const service = await startTestService();
/** For a receiver that uses up the time of an attempt. */
const hasty = await startTestService({ POSTHORN_DELIVERY_TIMEOUT: '1s' });

const test = (tenant: Tenant, webhook: { id: string }, event_type: unknown = 'invoice.paid') =>
  tenant.request('POST', `/v1/webhooks/${webhook.id}/test`, { body: { event_type } });

describe('POST /v1/webhooks/{id}/test', () => {
  it('returns exactly the fields of the contract', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect({ status: 202, body: 'thanks' });
    const before = Date.now();
    const { status, body } = await test(tenant, webhook);
    const { headers, envelope, body: sent } = receiver.deliveries.last;
    expect(status).toBe(200);
    expect(body).toEqual({
      data: {
        id: headers['x-service-delivery'],
        webhook_id: webhook.id,
        event_id: envelope.id,
        event_type: 'invoice.paid',
        status: 'success',
        http_status: 202,
        response_time_ms: expect.any(Number),
        error: null,
        attempted_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        ...{ error_detail: null, remedy: null, response: 'thanks', response_headers: {} },
        request: { url: receiver.url, headers: expect.any(Object), body: sent.toString() },
      },
    });
    expect(body.data.id).toMatch(/^WDLV-/);
    expect(Number.isInteger(body.data.response_time_ms)).toBe(true);
    expect(Date.parse(body.data.attempted_at)).toBeGreaterThanOrEqual(before);
  });

  it('sends one signed attempt of the sample, marked as a test', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(200, { workspace_id: 'WS-1' });
    await test(tenant, webhook, 'incident.opened');
    const { headers, envelope, body } = await receiver.deliveries.nth(1);
    expect(envelope).toEqual({
      id: expect.stringMatching(/^EVT-[0-9A-HJKMNP-TV-Z]{26}$/),
      type: 'incident.opened',
      created_at: expect.any(String),
      organization_id: tenant.organization,
      workspace_id: 'WS-1',
      test: true,
      data: catalogue.get('incident.opened')!.sample,
    });
    expect(headers).toMatchObject({ 'webhook-id': envelope.id, 'x-service-attempt': '1' });
    expect(verify(body, headers, webhook.secret)).toMatchObject({ ok: true });
    new Webhook(webhook.secret).verify(body.toString(), headers as Record<string, string>);
  });

  it('has a sample of every type in the catalogue', async () => {
    const tenant = await newTenant(service);
    const types: { type: string; sample: unknown }[] = await tenant.data('GET', '/v1/event-types');
    const receiver = await startReceiver();
    // Ten a webhook and minute.
    for (let done = 0; done < types.length; done += 10) {
      const webhook = await tenant.webhook(receiver);
      for (const { type, sample } of types.slice(done, done + 10)) {
        expect((await test(tenant, webhook, type)).status).toBe(200);
        expect(receiver.deliveries.last.envelope).toMatchObject({ type, data: sample });
      }
    }
    expect(receiver.deliveries.count).toBe(types.length);
  });

  it.each<[string, Reply, number | null, string | null]>([
    ['responds with 500', 500, 500, null],
    ['responds with 410', 410, 410, null],
    ['redirects', { status: 302, headers: { location: 'https://elsewhere.example/' } }, 302, null],
    ['breaks the connection off', resets, null, 'reset'],
    ['does not speak HTTP', babbles, null, 'protocol'],
  ])('is 200 if the receiver %s: failed, with the outcome', async (_name, reply, status, error) => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(reply);
    const response = await test(tenant, webhook);
    expect(response.status).toBe(200);
    expect(response.body.data).toMatchObject({ status: 'failed', http_status: status, error });
    // The one that breaks off on the connection of its verification gets the same event once more.
    expect(new Set(receiver.deliveries.all.map(({ envelope }) => envelope.id)).size).toBe(1);
    expect((await tenant.data('GET', `/v1/webhooks/${webhook.id}`)).status).toBe('active');
  });

  it('has the timeout of a delivery, and then fails with the error timeout', async () => {
    const tenant = await newTenant(hasty);
    const { webhook } = await tenant.connect(hangs);
    const { status, body } = await test(tenant, webhook);
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ status: 'failed', http_status: null, error: 'timeout' });
    expect(body.data.response_time_ms).toBeGreaterThan(900);
  });

  it('works for a webhook that is unverified', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver({ onVerification: 500 });
    const webhook = (await tenant.create({ url: receiver.url })).body.data;
    expect(webhook.status).toBe('unverified');
    expect((await test(tenant, webhook)).body.data.status).toBe('success');
    expect((await tenant.data('GET', `/v1/webhooks/${webhook.id}`)).status).toBe('unverified');
  });

  it('works for a webhook that is disabled', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'disabled' });
    expect((await test(tenant, webhook)).body.data.status).toBe('success');
    expect((await tenant.data('GET', `/v1/webhooks/${webhook.id}`)).status).toBe('disabled');
  });

  it('works for types the webhook does not subscribe to', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect(200, { event_types: ['task.created'] });
    expect((await test(tenant, webhook, 'invoice.paid')).body.data.status).toBe('success');
  });

  it('never appears in the event stream, the deliveries, the statistics or the health', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    const results = [];
    for (const status of [200, 500]) {
      receiver.onDelivery = status;
      results.push((await test(tenant, webhook)).body.data);
    }
    // What is recorded behind them is seen everywhere, so they would be too.
    receiver.onDelivery = 200;
    const event = await tenant.record();
    await eventually(
      () => tenant.data('GET', `/v1/webhooks/${webhook.id}`),
      (body) => body.last_delivery_at !== null,
    );
    expect((await tenant.events()).map(({ id }) => id)).toEqual([event.id]);
    expect((await tenant.settled(webhook)).map((delivery) => delivery.event_id)).toEqual([event.id]);
    for (const { id, event_id } of results) {
      expect((await tenant.request('GET', `/v1/events/${event_id}`)).status).toBe(404);
      expect((await tenant.request('GET', `/v1/webhooks/${webhook.id}/deliveries/${id}`)).status).toBe(404);
    }
    await eventually(
      () => tenant.data('GET', `/v1/webhooks/${webhook.id}/stats`),
      ({ success, failed, pending }) => success === 1 && failed + pending === 0,
    );
  });

  it.each([
    ['invoice.payed', 'did you mean invoice.paid?'],
    ['invoice.*', 'is not a known event type'],
    ['*', 'is not a known event type'],
    ['webhook.verification', 'is not a known event type'],
  ])('is 422 for the unknown type %s', async (type, detail) => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    const { status, body } = await test(tenant, webhook, type);
    expect([status, body.errors[0].pointer, body.errors[0].code]).toEqual([
      422,
      '/event_type',
      'unknown_event_type',
    ]);
    expect(body.errors[0].detail).toContain(detail);
    expect(receiver.deliveries.count).toBe(0);
  });

  it.each([
    ['no event_type', {}, '/event_type'],
    ['an event_type that is no text', { event_type: 7 }, '/event_type'],
    ['an empty one', { event_type: '' }, '/event_type'],
    ['an unknown field', { event_type: 'invoice.paid', payload: {} }, '/payload'],
  ])('is 422 for %s', async (_name, body, pointer) => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    const response = await tenant.request('POST', `/v1/webhooks/${webhook.id}/test`, { body });
    expect([
      response.status,
      response.body.errors?.map((fault: { pointer: string }) => fault.pointer),
    ]).toEqual([422, [pointer]]);
  });

  it('can be sent 10 times per minute per webhook, even without rate limits: then 429 with Retry-After', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    const startedMs = Date.now();
    try {
      service.clock.stoppedAtMs = startedMs;
      const responses = await Promise.all(Array.from({ length: 12 }, () => test(tenant, webhook)));
      const refused = responses.filter(({ status }) => status === 429);
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(10);
      expect(refused).toHaveLength(2);
      expect(refused[0]!.body.code).toBe('rate_limited');
      const retryAfter = Number(refused[0]!.headers.get('retry-after'));
      expect(retryAfter).toBeGreaterThan(0);
      expect(retryAfter).toBeLessThanOrEqual(60);
      expect(receiver.deliveries.count).toBe(10);

      const other = await tenant.webhook(receiver);
      expect((await test(tenant, other)).status).toBe(200);
      service.clock.stoppedAtMs = startedMs + 59_999;
      expect((await test(tenant, webhook)).status).toBe(429);
      service.clock.stoppedAtMs = startedMs + retryAfter * 1_000;
      expect((await test(tenant, webhook)).status).toBe(200);
    } finally {
      service.clock.stoppedAtMs = undefined;
    }
  });

  it('can be sent again as soon as a clock that was half an hour ahead is set right', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    const startedMs = Date.now();
    try {
      service.clock.stoppedAtMs = startedMs + 1_800_000;
      for (let n = 0; n < 10; n += 1) expect((await test(tenant, webhook)).status).toBe(200);
      expect((await test(tenant, webhook)).status).toBe(429);
      service.clock.stoppedAtMs = startedMs;
      expect((await test(tenant, webhook)).status).toBe(200);
    } finally {
      service.clock.stoppedAtMs = undefined;
    }
  });
});
