import { verify } from '@posthorn/receiver';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { sendRequest } from '../support/client.js';
import { platformToken, startTestService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';

const service = await startTestService({ POSTHORN_RETRY_SCHEDULE: '10ms,10ms,10ms,10ms' });

/** Records an event whose payload is this text, not a character of it touched. */
async function recordPayload(tenant: Tenant, payload: string): Promise<string> {
  const raw =
    `{"type":"invoice.paid","organization_id":"${tenant.organization}","workspace_id":null,` +
    `"actor":{"type":"user","id":"USR-1"},"subject":{"type":"invoice","id":"INV-1"},"payload":${payload}}`;
  const { status, text, body } = await sendRequest(`${service.platformUrl}/platform/events`, {
    ...{ method: 'POST', token: platformToken, raw, headers: { 'content-type': 'application/json' } },
  });
  if (status !== 201) throw new Error(text);
  return body.data[0].id;
}

describe('a delivery', () => {
  it('contains exactly the envelope: the event with its payload as data', async () => {
    const tenant = await newTenant(service);
    const { receiver } = await tenant.connect();
    const payload = { service_line_id: 'LIN-1', severity: 'p1', title: 'Überlast – läuft', id: 'INC-1' };
    const recorded = await tenant.record({ type: 'incident.opened', workspace_id: 'WS-1', payload });
    const { method, path, envelope } = await receiver.deliveries.nth(1);
    expect([method, path]).toEqual(['POST', '/hook']);
    expect(envelope).toEqual({
      id: recorded.id,
      type: 'incident.opened',
      created_at: recorded.created_at,
      organization_id: tenant.organization,
      workspace_id: 'WS-1',
      data: payload,
    });
  });

  it('has workspace_id null for an event of the whole organization', async () => {
    const tenant = await newTenant(service);
    const { receiver } = await tenant.connect();
    await tenant.record({ workspace_id: null });
    expect((await receiver.deliveries.nth(1)).envelope.workspace_id).toBeNull();
  });

  it('has exactly the headers of the contract', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    const before = Math.floor(Date.now() / 1000);
    const event = await tenant.record();
    const { headers, body } = await receiver.deliveries.nth(1);
    expect(Object.keys(headers).sort()).toEqual([
      'accept-encoding',
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
      'webhook-id',
      'webhook-signature',
      'webhook-timestamp',
      'x-service-actor',
      'x-service-attempt',
      'x-service-delivery',
      'x-service-signature',
      'x-service-subject',
    ]);
    const [delivery] = await tenant.settled(webhook);
    expect(headers).toMatchObject({
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'content-length': String(body.length),
      host: new URL(receiver.url).host,
      'user-agent': expect.stringMatching(/^Posthorn\/\d+\.\d+\.\d+/),
      'webhook-id': event.id,
      'x-service-attempt': '1',
      'x-service-actor': 'user/USR-ada',
      'x-service-subject': expect.stringMatching(/^invoice\/INV-\d+$/),
      'x-service-delivery': delivery.id,
      'x-service-signature': expect.stringMatching(/^sha256=[0-9a-f]{64}$/),
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    });
    expect(Number(headers['webhook-timestamp'])).toBeGreaterThanOrEqual(before);
    expect(Number(headers['webhook-timestamp'])).toBeLessThanOrEqual(Date.now() / 1000);
  });

  it.each([
    ['a generated secret', undefined],
    ['a secret as text', 'a secret with blanks, and ümlauts'],
    ['a whsec_ secret of their own', `whsec_${Buffer.alloc(24, 9).toString('base64')}`],
  ])('is signed with %s for @posthorn/receiver and for standardwebhooks', async (_name, secret) => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(200, secret === undefined ? {} : { secret });
    const key: string = secret ?? webhook.secret;
    await tenant.record();
    const { headers, body } = await receiver.deliveries.nth(1);
    expect(verify(body, headers, key, { requireTimestamp: true })).toMatchObject({ ok: true });
    expect(verify(body, { 'x-service-signature': headers['x-service-signature'] }, key).ok).toBe(true);
    expect(verify(body, headers, 'a secret of somebody else').ok).toBe(false);

    // That package takes base64 alone; a secret as text is signed with its UTF-8 bytes.
    const standard = key.startsWith('whsec_') ? key : Buffer.from(key).toString('base64');
    const sent = headers as Record<string, string>;
    expect(new Webhook(standard).verify(body.toString(), sent)).toMatchObject({ type: 'invoice.paid' });
    expect(() => new Webhook(standard).verify(`${body} `, sent)).toThrow();
  });

  it.each([
    ['numbers beyond 2^53', '{"n":12345678901234567890123}'],
    [
      'decimals as they were written',
      '{"a":1.0,"b":1.10,"c":1e2,"d":-0.0,"e":0.1000000000000000055511151231257827}',
    ],
    ['the order of keys, those that look like numbers included', '{"z":1,"10":2,"2":3,"a":{"9":0,"1":0}}'],
    ['escapes', '{"a":"\\u00e9\\/\\n","\\u0061b":"\\ud83d\\ude00"}'],
    ['characters beyond ASCII', '{"ü":"Zürich – 東京 😀"}'],
    ['nothing', '{}'],
    ['depth', `{"a":${'['.repeat(50)}${']'.repeat(50)}}`],
  ])('contains the payload byte for byte: %s', async (_name, payload) => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    const id = await recordPayload(tenant, payload);
    const { headers, body } = await receiver.deliveries.nth(1);
    expect(body.toString()).toMatch(/^\{"id":"EVT-[^{]*,"data":/);
    expect(body.toString().endsWith(`,"data":${payload}}`)).toBe(true);
    expect(verify(body, headers, webhook.secret).ok).toBe(true);
    const { text } = await tenant.request('GET', `/v1/events/${id}`);
    expect(text).toContain(`"payload":${payload}`);
  });

  it('contains the same payload if it was recorded by SQL and claimed by a node', async () => {
    const tenant = await newTenant(service);
    const { receiver } = await tenant.connect();
    const payload = '{"z":1.0,"10":12345678901234567890,"2":"\\u00e9"}';
    await service.database.query({
      text: `select posthorn.record_event('invoice.paid', $1, '{"type":"user","id":"USR-1"}',
                                         '{"type":"invoice","id":"INV-1"}', $2)`,
      values: [tenant.organization, payload],
    });
    const { body } = await receiver.deliveries.nth(1);
    expect(body.toString().endsWith(`,"data":${payload}}`)).toBe(true);
  });

  it('has the same bytes and ids on every attempt, each signed again and counted', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(500);
    const payload = '{"zebra":1,"amount":12345678901234567890.10,"2":"b","1":"a","ü":"\u{1F600}"}';
    const id = await recordPayload(tenant, payload);
    await receiver.deliveries.nth(5);
    const [first, ...later] = receiver.deliveries.all;
    expect(first!.body.toString().endsWith(`,"data":${payload}}`)).toBe(true);
    for (const { body } of later) expect(body.equals(first!.body)).toBe(true);
    const of = (name: string) => receiver.deliveries.all.map(({ headers }) => headers[name]);
    expect(of('x-service-attempt')).toEqual(['1', '2', '3', '4', '5']);
    expect(new Set(of('x-service-delivery')).size).toBe(1);
    expect(new Set(of('webhook-id'))).toEqual(new Set([id]));
    for (const { body, headers } of receiver.deliveries.all) {
      expect(verify(body, headers, webhook.secret, { requireTimestamp: true }).ok).toBe(true);
    }
  });

  it('ends with the first 2xx', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect((response) => {
      response.writeHead(receiver.deliveries.count < 3 ? 503 : 204).end();
    });
    await tenant.record();
    const [delivery] = await tenant.settled(webhook, 1, ({ status }) => status === 'success');
    expect([delivery.attempts, delivery.http_status, receiver.deliveries.count]).toEqual([3, 204, 3]);
  });

  it.each([200, 204, 299])('counts as delivered with %i', async (status) => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect(status);
    await tenant.record();
    const [delivery] = await tenant.settled(webhook);
    expect([delivery.status, delivery.http_status, delivery.attempts]).toEqual(['success', status, 1]);
  });

  it('does not follow redirects', async () => {
    const tenant = await newTenant(service);
    const { receiver: elsewhere } = await tenant.connect(200, { event_types: ['task.created'] });
    const { receiver } = await tenant.connect({ status: 307, headers: { location: elsewhere.url } });
    await tenant.record();
    await receiver.deliveries.nth(5);
    expect(elsewhere.deliveries.count).toBe(0);
  });
});
