import { once } from 'node:events';
import { createServer } from 'node:net';
import { verify } from '@posthorn/receiver';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/engine/limits.js';
import { SecretBox } from '../../src/values/secret-box.js';
import { takeDueVerifications } from '../../src/webhooks/probe-store.js';
import { setLimits } from '../support/limits.js';
import {
  babbles,
  Held,
  hangs,
  type Received,
  type Reply,
  resets,
  startReceiver,
} from '../support/receiver.js';
import { startTestService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

const service = await startTestService({ POSTHORN_RETRY_SCHEDULE: '1h,1h,1h,1h' });
const secret = 'a-secret-of-16-characters-or-more';

/** Creates a webhook whose receiver responds to its verification with this. */
async function createWith(onVerification: Reply, tenant?: Tenant) {
  const owner = tenant ?? (await newTenant(service));
  const receiver = await startReceiver({ onVerification });
  const response = await owner.create({ url: receiver.url, secret });
  return { tenant: owner, receiver, response, webhook: response.body.data };
}

/** When the service tries again to verify the one webhook of this organization. */
async function verifyAt(tenant: Tenant): Promise<number | undefined> {
  const { rows } = await service.database.query<{ verify_at: Date | null }>({
    text: 'select verify_at from posthorn.webhooks where organization_id = $1',
    values: [tenant.organization],
  });
  return rows[0]!.verify_at?.getTime();
}

const failuresOf = (tenant: Tenant) => tenant.events({ type: 'webhook.verification_failed' });

describe('the verification request', () => {
  it('is a POST to the given URL, including its query', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    await tenant.webhook(receiver, { url: `${receiver.url}/a%20b?x=1&y=%2F` });
    expect(receiver.verifications.count).toBe(1);
    const { method, path } = receiver.verifications.last;
    expect([method, path]).toEqual(['POST', '/hook/a%20b?x=1&y=%2F']);
  });

  it('has the usual envelope with the webhook and a challenge', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(200, { workspace_id: 'WS-1' });
    const { envelope } = receiver.verifications.last;
    expect(envelope).toEqual({
      id: expect.stringMatching(/^EVT-[0-9A-HJKMNP-TV-Z]{26}$/),
      type: 'webhook.verification',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      organization_id: tenant.organization,
      workspace_id: 'WS-1',
      data: { webhook_id: webhook.id, challenge: expect.stringMatching(/^.{16,}$/) },
    });
    expect(Object.keys(envelope)).toEqual([
      'id',
      'type',
      'created_at',
      'organization_id',
      'workspace_id',
      'data',
    ]);
  });

  it('has the headers of a delivery, without X-Service-Delivery and X-Service-Attempt', async () => {
    const { receiver } = await createWith(200);
    const { headers, envelope, body } = receiver.verifications.last;
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
      'x-service-signature',
      'x-service-subject',
    ]);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(body.length),
      'user-agent': expect.stringMatching(/^Posthorn\/\d+\.\d+\.\d+/),
      'webhook-id': envelope.id,
      'x-service-actor': 'system/posthorn',
      'x-service-subject': `webhook/${envelope.data.webhook_id}`,
    });
  });

  it('is written as no serializer writes it, so that a receiver that verifies a re-serialized body fails here', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    const { body, headers, envelope } = receiver.verifications.last;
    const text = JSON.stringify(envelope);
    const pythons = text
      .replace(/([,:])"/g, '$1 "')
      .replace(':null', ': null')
      .replace(':{', ': {');
    const again = [text, pythons, JSON.stringify(envelope, null, 2), JSON.stringify(envelope, null, 4)];
    for (const serialized of again) {
      expect(JSON.parse(serialized)).toEqual(envelope);
      expect(verify(Buffer.from(serialized), headers, webhook.secret).ok).toBe(false);
    }
    // Spaces aside, a letter is escaped that nobody escapes.
    expect(body.toString().replaceAll(/[ \n]/g, '')).not.toBe(text);
  });

  it('is signed with the secret, for both ways to verify it', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    const { body, headers } = receiver.verifications.last;
    expect(verify(body, headers, webhook.secret)).toMatchObject({ ok: true });
    expect(verify(body, { 'x-service-signature': headers['x-service-signature'] }, webhook.secret)).toEqual({
      ...{ ok: true, signedAt: null },
    });
    new Webhook(webhook.secret).verify(body.toString(), headers as Record<string, string>);
    expect(verify(body, headers, 'another-secret-of-somebody').ok).toBe(false);
  });

  it('has a new id and challenge each time', async () => {
    const { tenant, receiver, webhook } = await createWith(200);
    await tenant.data('POST', `/v1/webhooks/${webhook.id}/verify`);
    const [first, second] = receiver.verifications.all as [Received, Received];
    expect(second.envelope.id).not.toBe(first.envelope.id);
    expect(second.envelope.data.challenge).not.toBe(first.envelope.data.challenge);
  });

  it('has an id that never appears in the stream, whether it succeeded or failed', async () => {
    for (const status of [200, 500]) {
      const { tenant, receiver } = await createWith(status);
      const { id } = receiver.verifications.last.envelope;
      expect((await tenant.request('GET', `/v1/events/${id}`)).status).toBe(404);
      const listed = await tenant.events();
      expect(listed.map((event) => event.id)).not.toContain(id);
      expect(listed.map((event) => event.type)).not.toContain('webhook.verification');
    }
  });
});

describe('a verification', () => {
  it('that gets a 200 makes the webhook active, whatever the body', async () => {
    for (const reply of [200, { status: 200, body: 'no' }, { status: 200, body: '{"challenge":"wrong"}' }]) {
      const { webhook, tenant } = await createWith(reply);
      expect(webhook.status).toBe('active');
      expect(await failuresOf(tenant)).toEqual([]);
    }
  });

  it.each([201, 204, 304, 410, 429, 500])(
    'that gets a %i leaves it unverified, and the response is still 201',
    async (status) => {
      const { response, webhook, tenant } = await createWith(status);
      expect([response.status, webhook.status]).toEqual([201, 'unverified']);
      expect((await tenant.data('GET', `/v1/webhooks/${webhook.id}`)).status).toBe('unverified');
      const [event] = await failuresOf(tenant);
      expect(event.payload).toMatchObject({ reason: 'unexpected_status', http_status: status });
    },
  );

  it('that is redirected does not follow and leaves it unverified', async () => {
    const elsewhere = await startReceiver();
    for (const status of [301, 302, 307, 308]) {
      const { response, webhook } = await createWith({ status, headers: { location: elsewhere.url } });
      expect([response.status, webhook.status]).toEqual([201, 'unverified']);
    }
    expect(elsewhere.verifications.count).toBe(0);
  });

  it.each<[string, string, Reply]>([
    ['breaks the connection off', 'reset', resets],
    ['does not speak HTTP', 'protocol', babbles],
  ])('of a receiver that %s leaves it unverified: %s', async (_name, reason, reply) => {
    const { response, webhook, tenant } = await createWith(reply);
    expect([response.status, webhook.status]).toEqual([201, 'unverified']);
    expect((await failuresOf(tenant))[0].payload).toMatchObject({ reason, http_status: null });
  });

  it('of a URL where nothing listens leaves it unverified: connect', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const { url } = receiver;
    await receiver.close();
    const { status, body } = await tenant.create({ url });
    expect([status, body.data.status]).toEqual([201, 'unverified']);
    expect((await failuresOf(tenant))[0].payload).toMatchObject({ reason: 'connect', http_status: null });
  });

  it('of a name that does not resolve leaves it unverified: dns', async () => {
    const tenant = await newTenant(service);
    const { status, body } = await tenant.create({ url: 'https://posthorn-receiver.invalid/hook' });
    expect([status, body.data.status]).toEqual([201, 'unverified']);
    expect((await failuresOf(tenant))[0].payload).toMatchObject({ reason: 'dns', http_status: null });
  });

  it('of an https URL that does not speak TLS leaves it unverified: tls', async () => {
    const tenant = await newTenant(service);
    const plain = await startReceiver();
    const { status, body } = await tenant.create({ url: plain.url.replace('http:', 'https:') });
    expect([status, body.data.status]).toEqual([201, 'unverified']);
    expect((await failuresOf(tenant))[0].payload).toMatchObject({ reason: 'tls', http_status: null });
  });

  it('has 5 s for its status and not for its body', async () => {
    expect(limits.verificationMs).toBe(5_000);
    setLimits({ verificationMs: 1_000 });
    const startedMs = performance.now();
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const port = (silent.address() as { port: number }).port;
    const mute = await newTenant(service);
    const [hanging, muted, dripping] = await Promise.all([
      createWith(hangs),
      mute.create({ url: `http://127.0.0.1:${port}/` }),
      createWith((response) => {
        response.writeHead(200).write('more will never');
      }),
    ]);
    silent.close();
    expect(performance.now() - startedMs).toBeGreaterThan(980);
    expect([hanging.response.status, hanging.webhook.status]).toEqual([201, 'unverified']);
    expect([muted.status, muted.body.data.status]).toEqual([201, 'unverified']);
    for (const tenant of [hanging.tenant, mute]) {
      const [event] = await failuresOf(tenant);
      expect(event.payload).toMatchObject({ reason: 'timeout', http_status: null });
      expect(event.payload.duration_ms).toBeGreaterThan(980);
    }
    expect([dripping.response.status, dripping.webhook.status]).toEqual([201, 'active']);
  });
});

describe('webhook.verification_failed', () => {
  it("is recorded once, in the webhook's organization and workspace, with the webhook as subject", async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver({ onVerification: 503 });
    const { body } = await tenant.create({ url: receiver.url, workspace_id: 'WS-1' });
    expect(await tenant.events()).toEqual([
      {
        id: expect.stringMatching(/^EVT-/),
        type: 'webhook.verification_failed',
        organization_id: tenant.organization,
        workspace_id: 'WS-1',
        actor: { type: 'system', id: 'posthorn' },
        subject: { type: 'webhook', id: body.data.id },
        payload: {
          webhook_id: body.data.id,
          reason: 'unexpected_status',
          http_status: 503,
          duration_ms: expect.any(Number),
        },
        created_at: expect.any(String),
      },
    ]);
  });

  it('is recorded for each failure', async () => {
    const { tenant, webhook } = await createWith(500);
    await tenant.data('POST', `/v1/webhooks/${webhook.id}/verify`);
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'active' });
    expect(await failuresOf(tenant)).toHaveLength(3);
  });

  it('reaches the other webhooks that subscribe to it, and not the one it is about', async () => {
    const tenant = await newTenant(service);
    const { receiver: watcher, webhook: watching } = await tenant.connect(200, {
      event_types: ['webhook.verification_failed'],
    });
    const { receiver, webhook } = await createWith(500, tenant);
    const { envelope } = await watcher.deliveries.nth(1);
    expect([envelope.type, envelope.data.webhook_id]).toEqual(['webhook.verification_failed', webhook.id]);
    expect(await tenant.webhooksOf(envelope)).toEqual([watching.id]);
    expect(receiver.deliveries.count).toBe(0);
  });
});

describe('POST /v1/webhooks/{id}/verify', () => {
  it('tries again and returns the webhook, active if it succeeded', async () => {
    const { tenant, receiver, webhook } = await createWith(500);
    receiver.onVerification = 200;
    const { status, body } = await tenant.request('POST', `/v1/webhooks/${webhook.id}/verify`);
    expect(status).toBe(200);
    expect(body.data).toEqual({
      ...webhook,
      ...{ status: 'active', disabled_reason: null, last_delivery_at: null, last_delivery_status: null },
      ...{ verification_failure: null, previous_secret_until: null, failing_since: null },
    });
    expect(receiver.verifications.count).toBe(2);
    await tenant.record();
    await receiver.deliveries.nth(1);
  });

  it('returns 200 with the unverified webhook if it failed', async () => {
    const { tenant, webhook } = await createWith(500);
    const { status, body } = await tenant.request('POST', `/v1/webhooks/${webhook.id}/verify`);
    expect([status, body.data.status]).toEqual([200, 'unverified']);
  });

  it('reports why it failed, with the response of the receiver, until it succeeds', async () => {
    const refusal = { status: 401, body: 'Another secret, or another body than the one signed.' };
    const { tenant, webhook, receiver } = await createWith(refusal);
    const read = () => tenant.data('GET', `/v1/webhooks/${webhook.id}`);
    expect((await read()).verification_failure).toEqual({
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      ...{ reason: 'unexpected_status', http_status: 401, duration_ms: expect.any(Number) },
      response: refusal.body,
      error_detail: expect.stringContaining('Another secret, or another body than the one signed'),
      remedy: expect.stringContaining('raw body'),
    });
    // Already the response to the creation has it.
    expect(webhook.verification_failure).toEqual((await read()).verification_failure);
    receiver.onVerification = resets;
    const again = await tenant.data('POST', `/v1/webhooks/${webhook.id}/verify`);
    expect(again.verification_failure).toMatchObject({ reason: 'reset', http_status: null, response: null });
    receiver.onVerification = 200;
    expect(await tenant.data('POST', `/v1/webhooks/${webhook.id}/verify`)).toMatchObject({
      ...{ status: 'active', verification_failure: null },
    });
    expect((await failuresOf(tenant)).map(({ payload }) => Object.keys(payload))).toEqual([
      ['webhook_id', 'reason', 'http_status', 'duration_ms'],
      ['webhook_id', 'reason', 'http_status', 'duration_ms'],
    ]);
  });

  it('is 503 and says what to do if the key of its secret is missing', async () => {
    const { tenant, webhook } = await createWith(200);
    await service.database.query({
      text: 'update posthorn.webhooks set secret = $2 where id = $1',
      values: [webhook.id, new SecretBox([Buffer.alloc(32, 9)]).seal(secret, webhook.id)],
    });
    const response = await tenant.request('POST', `/v1/webhooks/${webhook.id}/verify`);
    expect([response.status, response.body.detail]).toEqual([503, expect.stringContaining('rotate-secret')]);
  });

  it('makes an active webhook unverified if it fails', async () => {
    const { tenant, receiver, webhook } = await createWith(200);
    receiver.onVerification = 500;
    expect((await tenant.data('POST', `/v1/webhooks/${webhook.id}/verify`)).status).toBe('unverified');
    expect(await tenant.webhooksOf(await tenant.record())).toEqual([]);
  });

  it('is 409 for a disabled webhook, which PATCH activates', async () => {
    const { tenant, webhook } = await createWith(200);
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'disabled' });
    const { status, body } = await tenant.request('POST', `/v1/webhooks/${webhook.id}/verify`);
    expect([status, body.code]).toEqual([409, 'webhook_not_active']);
  });

  it('is 404 if the webhook was deleted during the verification', async () => {
    const { tenant, receiver, webhook } = await createWith(200);
    const held = new Held();
    receiver.onVerification = held.reply;
    const verifying = tenant.request('POST', `/v1/webhooks/${webhook.id}/verify`);
    await receiver.verifications.nth(2);
    await tenant.data('DELETE', `/v1/webhooks/${webhook.id}`);
    held.release(200);
    expect((await verifying).status).toBe(404);
  });

  it('does not undo changes made during the verification', async () => {
    const { tenant, receiver, webhook } = await createWith(200);
    const held = new Held();
    receiver.onVerification = held.reply;
    const verifying = tenant.request('POST', `/v1/webhooks/${webhook.id}/verify`);
    await receiver.verifications.nth(2);
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'disabled' });
    held.release(200);
    expect((await verifying).body.data).toMatchObject({ status: 'disabled', disabled_reason: 'manual' });
  });
});

describe('an unverified webhook', () => {
  it('gets no events, and does not get those of that time later', async () => {
    const { tenant, receiver, webhook } = await createWith(500);
    const missed = await tenant.record();
    receiver.onVerification = 200;
    await tenant.data('POST', `/v1/webhooks/${webhook.id}/verify`);
    const wanted = await tenant.record();
    expect((await receiver.deliveries.nth(1)).envelope.id).toBe(wanted.id);
    expect(await tenant.webhooksOf(missed)).toEqual([]);
  });

  it('gets its waiting deliveries and the next event at once when it becomes active', async () => {
    const { tenant, receiver, webhook } = await createWith(200);
    receiver.onDelivery = 500;
    const waiting = await tenant.record();
    await tenant.settled(webhook);
    receiver.onVerification = 500;
    await tenant.data('POST', `/v1/webhooks/${webhook.id}/verify`);
    await tenant.bringForward(webhook);
    receiver.onVerification = 200;
    receiver.onDelivery = 200;
    await tenant.data('POST', `/v1/webhooks/${webhook.id}/verify`);
    const next = await tenant.record();
    const sent = [await receiver.deliveries.nth(2), await receiver.deliveries.nth(3)];
    expect(new Set(sent.map(({ envelope }) => envelope.id))).toEqual(new Set([waiting.id, next.id]));
  });
});

describe('the service verifies again', () => {
  it('after 1 m, 5 m, 30 m, 2 h and 12 h, then no more', async () => {
    const { tenant, webhook } = await createWith(500);
    let at = Date.now();
    for (const minutes of [1, 5, 30, 120, 720]) {
      const dueMs = (await verifyAt(tenant))!;
      // The first wait began when the failure was written, a moment ago.
      expect(Math.abs(dueMs - at - minutes * 60_000)).toBeLessThan(30_000);
      const due = (ms: number) => takeDueVerifications(service.database, new Date(ms), 100);
      expect((await due(dueMs - 1)).map(({ id }) => id)).not.toContain(webhook.id);
      expect((await due(dueMs)).map(({ id }) => id)).toContain(webhook.id);
      at = dueMs;
    }
    expect(await verifyAt(tenant)).toBeUndefined();
  });

  it('and activates the webhook if it succeeds, and it gets events from then on', async () => {
    const { tenant, receiver, webhook } = await createWith(500);
    await tenant.record();
    try {
      service.clock.offsetMs = 60_000;
      await receiver.verifications.nth(2);
      await eventually(
        () => failuresOf(tenant),
        (failures) => failures.length === 2,
      );
      receiver.onVerification = 200;
      service.clock.offsetMs += 5 * 60_000;
      await receiver.verifications.nth(3);
      await eventually(
        () => tenant.data('GET', `/v1/webhooks/${webhook.id}`),
        ({ status }) => status === 'active',
      );
    } finally {
      service.clock.offsetMs = 0;
    }
    const recorded = await tenant.record();
    expect((await receiver.deliveries.nth(1)).envelope.id).toBe(recorded.id);
    expect(await failuresOf(tenant)).toHaveLength(2);
  });

  it('one webhook of each organization in turn, so that many of one do not delay the others', async () => {
    const [many, few] = [await newTenant(service), await newTenant(service)];
    const receiver = await startReceiver({ onVerification: 500 });
    const created = [await many.create({ url: receiver.url }), await many.create({ url: receiver.url })];
    created.push(await few.create({ url: receiver.url }));
    const ids = created.map(({ body }) => body.data.id);
    // Due long before everything else.
    await service.database.query({
      text: `update posthorn.webhooks w set verify_at = to_timestamp(t.n)
               from unnest($1::text[]) with ordinality as t (id, n) where w.id = t.id`,
      values: [ids],
    });
    const taken = await takeDueVerifications(service.database, new Date(10_000), 2);
    expect(new Set(taken.map(({ id }) => id))).toEqual(new Set([ids[0], ids[2]]));
  });

  it('even if the process that created the webhook died before verifying it', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const held = new Held();
    receiver.onVerification = held.reply;
    const creating = tenant.create({ url: receiver.url });
    await receiver.verifications.nth(1);
    expect(await verifyAt(tenant)).toBeGreaterThan(Date.now());
    held.release(200);
    await creating;
  });
});
