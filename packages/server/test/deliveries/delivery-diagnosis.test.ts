import { describe, expect, it } from 'vitest';
import { babbles, hangs, type Reply, resets, startReceiver, switchesProtocols } from '../support/receiver.js';
import { startTestService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';

const service = await startTestService({
  ...{ POSTHORN_RETRY_SCHEDULE: '1h,1h,1h,1h', POSTHORN_DELIVERY_TIMEOUT: '1s' },
});

const detailOf = (tenant: Tenant, { webhook_id, id }: { webhook_id: string; id: string }) =>
  tenant.data('GET', `/v1/webhooks/${webhook_id}/deliveries/${id}`);

async function failedWith(reply: Reply, fields: Record<string, unknown> = {}) {
  const tenant = await newTenant(service);
  const { receiver, webhook } = await tenant.connect(reply, fields);
  const event = await tenant.record();
  const [delivery] = await tenant.settled(webhook);
  return { tenant, receiver, webhook, event, detail: await detailOf(tenant, delivery) };
}

describe.concurrent('a failed attempt', () => {
  it.each<[string, Reply, string, string]>([
    ['closes the connection', resets, 'was closed before a response arrived', 'Check whether the receiver'],
    ['does not speak HTTP', babbles, 'was not HTTP/1.1', 'Check that the port'],
    [
      'sends enormous headers',
      { status: 200, headers: { 'x-much': 'x'.repeat(20_000) } },
      'are larger than 16 KiB',
      'Send fewer or shorter headers',
    ],
    ['switches protocols', switchesProtocols, '(status 101)', 'Respond with a final status'],
    ['responds 404', 404, 'There is no handler for POST /hook', 'Correct the path'],
    [
      'responds 500',
      { status: 500, body: 'out of luck' },
      'its response begins "out of luck"',
      'Look at its logs',
    ],
  ])('of a receiver that %s says what happened and what to do', async (_name, reply, detail, remedy) => {
    const [attempt] = (await failedWith(reply)).detail.attempt_log;
    expect(attempt.error_detail).toContain(detail);
    expect(attempt.remedy).toContain(remedy);
  });

  it('of a receiver that is down says on which port nothing listens', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    const { host } = new URL(receiver.url);
    await receiver.close();
    await tenant.record();
    const [delivery] = await tenant.settled(webhook);
    const [attempt] = (await detailOf(tenant, delivery)).attempt_log;
    expect(attempt.error_detail).toBe(`Nothing is listening on ${host}.`);
  });

  it('keeps the headers that explain it, bounded, and no others', async () => {
    const { detail } = await failedWith({
      status: 302,
      headers: {
        ...{
          location: 'https://elsewhere.test/hook',
          server: `nginx/${'9'.repeat(2_000)}`,
          'set-cookie': 'secret=1',
        },
        ...{ 'content-type': 'text/plain', 'retry-after': '120' },
      },
    });
    const [attempt] = detail.attempt_log;
    expect(attempt.response_headers).toEqual({
      ...{ 'content-type': 'text/plain', location: 'https://elsewhere.test/hook', 'retry-after': '120' },
      server: expect.stringMatching(/^nginx\/9+…$/),
    });
    expect(attempt.response_headers.server.length).toBeLessThanOrEqual(512);
    expect(attempt.error_detail).toContain('The receiver redirected to https://elsewhere.test/hook');
  });

  it('is explained as it was, although the webhook now points elsewhere and other attempts followed', async () => {
    const { tenant, receiver, webhook, detail } = await failedWith(404);
    const { host } = new URL(receiver.url);
    await receiver.close();
    await tenant.bringForward(webhook);
    await tenant.settled(webhook, 1, (one) => one.attempts === 2);
    const elsewhere = await startReceiver();
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { url: elsewhere.url });
    await tenant.bringForward(webhook);
    const [done] = await tenant.settled(webhook, 1, (one) => one.final);
    const { attempt_log: log } = await detailOf(tenant, done);
    expect(log[0]).toEqual(detail.attempt_log[0]);
    expect(log[1].error_detail).toBe(`Nothing is listening on ${host}.`);
    expect(log[2]).not.toHaveProperty('error_detail');
  });
});

describe.concurrent('an attempt whose time is up', () => {
  it('has no http_status, and the error timeout, if there was no response', async () => {
    const { detail } = await failedWith(hangs);
    expect(detail).toMatchObject({ status: 'failed', http_status: null, error: 'timeout' });
    expect(detail.duration_ms).toBeGreaterThan(900);
    const [attempt] = detail.attempt_log;
    expect(attempt.error_detail).toContain('No response within 1 s.');
    expect(attempt.remedy).toContain('Store the event, respond with 2xx');
  });

  it('has the received status if only the body had not ended', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect((response) => response.writeHead(200).write('and so on'));
    await tenant.record();
    const [delivery] = await tenant.settled(webhook);
    expect(delivery).toMatchObject({ status: 'success', http_status: 200, error: null });
  });
});

describe.concurrent('the request of a delivery', () => {
  it('is shown as it is sent, without signatures and the values of its own headers', async () => {
    const { receiver, detail, event } = await failedWith(500, { headers: { 'X-Key': 'very-secret-value' } });
    const { headers, body } = receiver.deliveries.last;
    expect(detail.request).toEqual({
      url: receiver.url,
      headers: {
        'Content-Type': 'application/json',
        'Accept-Encoding': 'identity',
        'User-Agent': headers['user-agent'],
        'webhook-id': event.id,
        'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
        'X-Service-Subject': headers['x-service-subject'],
        'X-Service-Actor': headers['x-service-actor'],
        'X-Service-Delivery': detail.id,
        'X-Service-Attempt': '1',
        'X-Key': null,
      },
      body: body.toString(),
    });
    expect(headers['x-key']).toBe('very-secret-value');
    expect(JSON.stringify(detail)).not.toMatch(/very-secret-value|sha256=|v1,/);
  });

  it('that failed shows where it went, although the webhook now points elsewhere', async () => {
    const { tenant, receiver, webhook, detail } = await failedWith(500, { headers: { 'X-Key': 'a value' } });
    const elsewhere = await startReceiver();
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { url: elsewhere.url, headers: {} });
    const { request } = await detailOf(tenant, detail);
    expect(request.url).toBe(receiver.url);
    expect(request.headers).not.toHaveProperty('X-Key');
    expect(request.body).toBe(detail.request.body);
  });

  it('that succeeded shows no URL and no headers of the webhook once these have changed', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(200, { headers: { 'X-Key': 'a value' } });
    await tenant.record();
    const [delivery] = await tenant.settled(webhook);
    const path = `/v1/webhooks/${webhook.id}`;
    await tenant.data('PATCH', path, {
      description: 'another',
      url: receiver.url,
      headers: { 'X-Key': 'b' },
    });
    const same = await detailOf(tenant, delivery);
    expect(same.request).toMatchObject({ url: receiver.url, headers: { 'X-Key': null } });
    await tenant.data('PATCH', path, { headers: { 'X-Other': 'c' } });
    const { request } = await detailOf(tenant, delivery);
    expect(request.url).toBeNull();
    expect(Object.keys(request.headers)).not.toContain('X-Other');
    expect(request.body).toBe(same.request.body);
  });

  it('hides what comes from the event from a token that may not read events', async () => {
    const { tenant, detail } = await failedWith(500);
    const reader = await newTenant(service, {
      ...{ organization_id: tenant.organization, scopes: ['webhooks:read'] },
    });
    const { request, ...rest } = await detailOf(reader, detail);
    expect(request.body).toBeNull();
    expect(Object.keys(request.headers)).not.toContain('X-Service-Subject');
    expect(rest.attempt_log).toEqual(detail.attempt_log);
  });
});

describe.concurrent('a test', () => {
  it('that failed says what happened, with response, response headers and request', async () => {
    const tenant = await newTenant(service);
    const refusal = { status: 401, body: 'bad signature', headers: { 'content-type': 'text/plain' } };
    const { receiver, webhook } = await tenant.connect(refusal, {
      headers: { 'X-Key': 'very-secret-value' },
    });
    const path = `/v1/webhooks/${webhook.id}/test`;
    const result = await tenant.data('POST', path, { event_type: 'invoice.paid' });
    const { headers, body } = receiver.deliveries.last;
    expect(result).toMatchObject({
      ...{ status: 'failed', http_status: 401, response: 'bad signature' },
      response_headers: { 'content-type': 'text/plain' },
      error_detail: 'The receiver refused the request with 401; its response says "bad signature".',
      remedy: expect.stringContaining('raw body'),
      request: { url: receiver.url, body: body.toString() },
    });
    expect(result.request.headers).toMatchObject({
      ...{ 'X-Key': null, 'X-Service-Attempt': '1', 'X-Service-Actor': 'user/USR-test' },
    });
    expect(headers).toMatchObject({ 'x-key': 'very-secret-value', 'x-service-actor': 'user/USR-test' });
    expect(JSON.stringify(result)).not.toMatch(/very-secret-value|sha256=|v1,/);
  });
});
