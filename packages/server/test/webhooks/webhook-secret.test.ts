import { createHmac, randomBytes } from 'node:crypto';
import { verify } from '@posthorn/receiver';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/postgres/database.js';
import type { Received } from '../support/receiver.js';
import { startReceiver } from '../support/receiver.js';
import { startTestService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';

const service = await startTestService({ POSTHORN_RETRY_SCHEDULE: '1h,1h,1h,1h' });

/** Three nodes on one database, before, during and after a rotation of the key. */
const keys = { old: randomBytes(32).toString('base64'), new: randomBytes(32).toString('base64') };
const underOld = await startTestService({ POSTHORN_SECRET_KEY: keys.old });
const onSame = (secretKeys: string) =>
  startTestService({ DATABASE_URL: underOld.databaseUrl, POSTHORN_SECRET_KEY: secretKeys });
const underBoth = await onSame(`${keys.new},${keys.old}`);
const underNew = await onSame(keys.new);

const old = 'the-first-secret-of-this-webhook';
const hourMs = 3_600_000;

const rotate = (tenant: Tenant, webhook: { id: string }, body?: unknown) =>
  tenant.request('POST', `/v1/webhooks/${webhook.id}/rotate-secret`, body === undefined ? {} : { body });

async function rotated(body?: unknown) {
  const tenant = await newTenant(service);
  const { receiver, webhook } = await tenant.connect(200, { secret: old });
  const response = await rotate(tenant, webhook, body);
  return { tenant, receiver, webhook, response, secret: response.body.data?.secret as string };
}

const hex = (secret: string, { body }: Received) =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

/** Which of the secrets the headers of a request vouch for, by each of the two ways. */
function signersOf({ headers, body }: Received, secrets: readonly string[]) {
  const { 'x-service-signature': current, 'x-service-signature-previous': previous, ...standard } = headers;
  const now = new Date(Number(headers['webhook-timestamp']) * 1000);
  const vouched = (given: Record<string, string | string[] | undefined>, options = {}) =>
    secrets.filter((secret) => verify(body, given, secret, { now, ...options }).ok);
  return {
    current: vouched({ 'x-service-signature': current }),
    previous: vouched({ 'x-service-signature-previous': previous }),
    standard: vouched(standard, { requireTimestamp: true }),
  };
}

describe('POST /v1/webhooks/{id}/rotate-secret', () => {
  it('returns a generated secret once, with the webhook', async () => {
    const { tenant, webhook, response, secret } = await rotated();
    expect(response.status).toBe(200);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const { secret: _shown, ...rest } = response.body.data;
    const read = await tenant.request('GET', `/v1/webhooks/${webhook.id}`);
    expect(rest).toEqual(read.body.data);
    expect(read.text).not.toContain(secret);
  });

  it('accepts a secret and does not return it', async () => {
    const { response } = await rotated({ secret: 'another-secret-of-somebody' });
    expect(response.status).toBe(200);
    expect(response.text).not.toContain('another-secret-of-somebody');
    expect(response.body.data).not.toHaveProperty('secret');
  });

  it('signs with both secrets during the grace period, the new one first', async () => {
    const { tenant, receiver, secret } = await rotated({});
    await tenant.record();
    const request = await receiver.deliveries.nth(1);
    expect(request.headers['x-service-signature']).toBe(hex(secret, request));
    expect(request.headers['x-service-signature-previous']).toBe(hex(old, request));
    expect(request.headers['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
    expect(signersOf(request, [secret, old])).toEqual({
      ...{ current: [secret], previous: [old], standard: [secret, old] },
    });
    for (const each of [secret, `whsec_${Buffer.from(old).toString('base64')}`]) {
      new Webhook(each).verify(request.body.toString(), request.headers as Record<string, string>);
    }
  });

  it('signs verifications and tests with both, too', async () => {
    const { tenant, receiver, webhook, secret } = await rotated();
    await tenant.data('POST', `/v1/webhooks/${webhook.id}/verify`);
    await tenant.data('POST', `/v1/webhooks/${webhook.id}/test`, { event_type: 'invoice.paid' });
    for (const request of [receiver.verifications.last, receiver.deliveries.last]) {
      expect(signersOf(request, [secret, old])).toMatchObject({ current: [secret], previous: [old] });
    }
  });

  it.each([
    ['24 hours where none is given', undefined, 24 * hourMs],
    ['as long as is given', { grace: '2h' }, 2 * hourMs],
    ['at most 30 days', { grace: '30d' }, 720 * hourMs],
  ])('has a grace period of %s', async (_name, body, graceMs) => {
    const startedMs = Date.now();
    const { tenant, receiver, secret } = await rotated(body);
    const rotatedMs = Date.now();
    try {
      service.clock.stoppedAtMs = startedMs + graceMs - 1;
      await tenant.record();
      expect(signersOf(await receiver.deliveries.nth(1), [secret, old])).toMatchObject({
        ...{ current: [secret], previous: [old], standard: [secret, old] },
      });
      service.clock.stoppedAtMs = rotatedMs + graceMs;
      await tenant.record();
      const late = await receiver.deliveries.nth(2);
      expect(signersOf(late, [secret, old])).toMatchObject({ current: [secret], standard: [secret] });
      expect(late.headers).not.toHaveProperty('x-service-signature-previous');
      expect(late.headers['webhook-signature']).toMatch(/^v1,\S{44}$/);
    } finally {
      service.clock.stoppedAtMs = undefined;
    }
  });

  it('ends the old secret at once with 0s', async () => {
    const { tenant, receiver, secret } = await rotated({ grace: '0s' });
    await tenant.record();
    const request = await receiver.deliveries.nth(1);
    expect(signersOf(request, [secret, old])).toMatchObject({ current: [secret], standard: [secret] });
    expect(request.headers).not.toHaveProperty('x-service-signature-previous');
  });

  it('a second time within the grace period keeps the last secret, not the first', async () => {
    const { tenant, receiver, webhook, secret: second } = await rotated();
    const third = (await rotate(tenant, webhook)).body.data.secret;
    await tenant.record();
    expect(signersOf(await receiver.deliveries.nth(1), [third, second, old])).toEqual({
      ...{ current: [third], previous: [second], standard: [third, second] },
    });
  });

  it('with the secret of the webhook keeps the previous secret, so the request can be repeated', async () => {
    const secret = 'the-second-secret-of-this-webhook';
    const { tenant, receiver, webhook } = await rotated({ secret });
    const again = await rotate(tenant, webhook, { secret, grace: '48h' });
    expect(Date.parse(again.body.data.previous_secret_until)).toBeGreaterThan(Date.now() + 47 * hourMs);
    await tenant.record();
    expect(signersOf(await receiver.deliveries.nth(1), [secret, old])).toEqual({
      ...{ current: [secret], previous: [old], standard: [secret, old] },
    });
    const ended = await rotate(tenant, webhook, { secret, grace: '0s' });
    expect(ended.body.data.previous_secret_until).toBeNull();
    expect((await rotate(tenant, webhook, { secret })).body.data.previous_secret_until).toBeNull();
  });

  it('is named as the likely reason if the receiver then refuses a delivery', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect(401, { secret: old });
    await rotate(tenant, webhook, { grace: '0s' });
    await tenant.record();
    const [{ id }] = await tenant.settled(webhook);
    const { attempt_log } = await tenant.data('GET', `/v1/webhooks/${webhook.id}/deliveries/${id}`);
    expect(attempt_log[0].remedy).toMatch(/^The secret was rotated/);
    const tested = await tenant.data('POST', `/v1/webhooks/${webhook.id}/test`, {
      event_type: 'invoice.paid',
    });
    expect(tested.remedy).toMatch(/^The secret was rotated/);
  });

  it('applies to the retry of a delivery that was first signed with the old one', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(500, { secret: old });
    await tenant.record();
    await tenant.settled(webhook);
    const { secret } = (await rotate(tenant, webhook, { grace: '0s' })).body.data;
    await tenant.bringForward(webhook);
    const again = await receiver.deliveries.nth(2);
    expect(signersOf(again, [secret, old])).toMatchObject({ current: [secret] });
    expect(again.body.equals(receiver.deliveries.all[0]!.body)).toBe(true);
  });

  it.each([
    ['a secret that is too short', { secret: 'short' }, '/secret'],
    ['a secret with a line break', { secret: `${'s'.repeat(16)}\n` }, '/secret'],
    ['a grace without a unit', { grace: '24' }, '/grace'],
    ['a grace in words', { grace: 'a day' }, '/grace'],
    ['a grace below zero', { grace: '-1h' }, '/grace'],
    ['a grace over 30 days', { grace: '31d' }, '/grace'],
    ['a grace as a number', { grace: 86_400 }, '/grace'],
    ['an unknown field', { reason: 'leaked' }, '/reason'],
  ])('is 422 for %s, and the secret stays', async (_name, body, pointer) => {
    const { tenant, receiver, response } = await rotated(body);
    expect([response.status, response.body.errors?.[0].pointer]).toEqual([422, pointer]);
    await tenant.record();
    expect(signersOf(await receiver.deliveries.nth(1), [old]).current).toEqual([old]);
  });
});

describe('a secret', () => {
  /** Everything the database holds of ours, as text; binary columns appear in hex. */
  async function everything(database: Database): Promise<string> {
    const { rows: tables } = await database.query<{ name: string }>({
      text: `
  select c.oid::regclass::text as name from pg_class c
   where c.relnamespace = 'posthorn'::regnamespace and c.relkind = 'r'`,
    });
    const texts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await database.query<{ row: string }>({
        text: `select t::text as row from ${name} t`,
      });
      texts.push(...rows.map(({ row }) => row));
    }
    return texts.join('\n');
  }

  it.each(['whsec_c2VjcmV0LXRoYXQ-aXMtbG9uZw', 'whsec_c2VjcmV0_XRoYXQaXMtbG9uZw=='])(
    'that is %s is 422 on creation and rotation: libraries decode it differently',
    async (secret) => {
      const tenant = await newTenant(service);
      const { receiver, webhook } = await tenant.connect();
      for (const { status, body } of [
        await tenant.create({ url: receiver.url, secret }),
        await tenant.request('POST', `/v1/webhooks/${webhook.id}/rotate-secret`, { body: { secret } }),
      ]) {
        expect(status).toBe(422);
        expect(body.errors).toMatchObject([{ pointer: '/secret', code: 'not_standard_base64' }]);
      }
    },
  );

  it.each(['whsec_c2VjcmV0+XRoYXQ/aXMtbG9uZw==', 'whsec_is not base64 - at all', 'a-secret_of-my-own'])(
    'that is %s is accepted',
    async (secret) => {
      const tenant = await newTenant(service);
      await tenant.connect(200, { secret });
    },
  );

  it('is never readable in the database, whether given, generated, rotated or stored with a key', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const generated = await tenant.create(
      { url: receiver.url },
      { headers: { 'idempotency-key': 'create-one' } },
    );
    const given = 'given-secret-nobody-may-read';
    const webhook = await tenant.webhook(receiver, { secret: given });
    const rotation = await tenant.request('POST', `/v1/webhooks/${webhook.id}/rotate-secret`, {
      headers: { 'idempotency-key': 'rotate-one' },
    });
    const stored = await everything(service.database);
    expect(stored).toContain(webhook.id);
    for (const secret of [given, generated.body.data.secret, rotation.body.data.secret]) {
      expect(secret).toMatch(/.{16}/);
      const bytes = secret.startsWith('whsec_')
        ? Buffer.from(secret.slice(6), 'base64')
        : Buffer.from(secret);
      for (const form of [
        secret,
        secret.replace('whsec_', ''),
        Buffer.from(secret).toString('hex'),
        Buffer.from(secret).toString('base64'),
        bytes.toString('hex'),
      ]) {
        expect(stored.includes(form)).toBe(false);
      }
    }
  });

  it('is bound to its webhook: copied to another row, it signs nothing', async () => {
    const tenant = await newTenant(service);
    const { webhook: mine } = await tenant.connect(200, { secret: old });
    const { receiver, webhook: other } = await tenant.connect();
    await service.database.query({
      text: `
  update posthorn.webhooks set secret = (select secret from posthorn.webhooks where id = $1), revision = 9
   where id = $2`,
      values: [mine.id, other.id],
    });
    const { status } = await tenant.request('POST', `/v1/webhooks/${other.id}/test`, {
      body: { event_type: 'invoice.paid' },
    });
    expect(status).toBe(500);
    expect(receiver.deliveries.count).toBe(0);
  });
});

describe('POSTHORN_SECRET_KEY', () => {
  it('without the key of one webhook stops only that one', async () => {
    const before = await newTenant(underOld);
    const { receiver: unreadable } = await before.connect();
    const after = await newTenant(underNew, { organization_id: before.organization });
    const { receiver } = await after.connect();
    const event = await after.record();
    expect((await receiver.deliveries.nth(1)).envelope.id).toBe(event.id);
    expect(unreadable.deliveries.count).toBe(0);
  });

  it('is lost: after a rotation, requests are signed with the new secret alone, whatever the grace period', async () => {
    const before = await newTenant(underOld);
    const { receiver, webhook } = await before.connect(200, { secret: old });
    const after = await newTenant(underNew, { organization_id: before.organization });
    const { secret, previous_secret_until: until } = (await rotate(after, webhook)).body.data;
    expect(until).toBeNull();
    await after.record();
    const request = await receiver.deliveries.nth(1);
    expect(signersOf(request, [secret, old])).toMatchObject({ current: [secret], standard: [secret] });
    const { rows } = await underNew.database.query({
      text: 'select previous_secret from posthorn.webhooks where id = $1',
      values: [webhook.id],
    });
    expect(rows).toEqual([{ previous_secret: null }]);
  });

  it('can be rotated: with "new,old" webhooks created with the old key still sign, and new ones need only the new key', async () => {
    const before = await newTenant(underOld);
    const { receiver, webhook } = await before.connect(200, { secret: old });
    await underOld.stop();

    const during = await newTenant(underBoth, { organization_id: before.organization });
    await during.record();
    const request = await receiver.deliveries.nth(1);
    expect(request.headers['x-service-signature']).toBe(hex(old, request));
    const { receiver: newer } = await during.connect(200, { secret: 'made-under-the-new-key' });
    const { status } = await during.request('POST', `/v1/webhooks/${webhook.id}/rotate-secret`, {
      body: { secret: 'rotated-under-the-new-key', grace: '0s' },
    });
    expect(status).toBe(200);
    await underBoth.stop();

    const after = await newTenant(underNew, { organization_id: before.organization });
    await after.record();
    const [rotatedOne, newOne] = [await receiver.deliveries.nth(2), await newer.deliveries.nth(1)];
    expect(rotatedOne.headers['x-service-signature']).toBe(hex('rotated-under-the-new-key', rotatedOne));
    expect(newOne.headers['x-service-signature']).toBe(hex('made-under-the-new-key', newOne));
  });
});
