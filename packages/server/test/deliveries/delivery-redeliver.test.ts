import { verify } from '@posthorn/receiver';
import { describe, expect, it } from 'vitest';
import { Held, type Reply, startReceiver } from '../support/receiver.js';
import { sharedService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';

const service = await sharedService();

const redeliver = (tenant: Tenant, webhook: { id: string }, delivery: { id: string }) =>
  tenant.request('POST', `/v1/webhooks/${webhook.id}/deliveries/${delivery.id}/redeliver`);

async function delivered(reply: Reply = 200) {
  const tenant = await newTenant(service);
  const { receiver, webhook } = await tenant.connect(reply);
  const event = await tenant.record();
  const [delivery] = await tenant.settled(webhook);
  return { tenant, receiver, webhook, event, delivery };
}

describe('POST /v1/webhooks/{id}/deliveries/{delivery_id}/redeliver', () => {
  it('is 202 with a new delivery of the same event', async () => {
    const { tenant, webhook, event, delivery } = await delivered();
    const { status, body } = await redeliver(tenant, webhook, delivery);
    expect(status).toBe(202);
    expect(body.data).toMatchObject({ event_id: event.id, event_type: 'invoice.paid', attempts: 0 });
    expect(body.data.id).toMatch(/^WDLV-[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(body.data.id).not.toBe(delivery.id);
  });

  it('sends the same body, signed, as the first attempt of the new delivery', async () => {
    const { tenant, receiver, webhook, delivery } = await delivered();
    const { id } = (await redeliver(tenant, webhook, delivery)).body.data;
    const again = await receiver.deliveries.nth(2);
    expect(again.body.equals(receiver.deliveries.all[0]!.body)).toBe(true);
    expect(again.headers).toMatchObject({ 'x-service-delivery': id, 'x-service-attempt': '1' });
    expect(verify(again.body, again.headers, webhook.secret).ok).toBe(true);
  });

  it('appears in the list next to the old one, which stays unchanged', async () => {
    const { tenant, receiver, webhook, delivery } = await delivered(410);
    receiver.onDelivery = 204;
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'active' });
    const { id } = (await redeliver(tenant, webhook, delivery)).body.data;
    const [fresh, old] = await tenant.settled(webhook, 2);
    expect(fresh).toMatchObject({ id, status: 'success', http_status: 204, attempts: 1 });
    expect(old).toEqual(delivery);
  });

  it('attempts one that waits for a retry now, and makes no second one', async () => {
    const { tenant, receiver, webhook, delivery } = await delivered(500);
    receiver.onDelivery = 204;
    const { status, body, headers } = await redeliver(tenant, webhook, delivery);
    expect(status).toBe(202);
    expect(headers.get('location')).toBe(`/v1/webhooks/${webhook.id}/deliveries/${delivery.id}`);
    expect(body.data).toMatchObject({ id: delivery.id, status: 'failed', final: false, attempts: 1 });
    expect(Date.parse(body.data.next_attempt_at)).toBeLessThan(Date.parse(delivery.next_attempt_at));
    expect((await receiver.deliveries.nth(2)).headers).toMatchObject({
      ...{ 'x-service-delivery': delivery.id, 'x-service-attempt': '2' },
    });
    const [only] = await tenant.settled(webhook, 1, (one) => one.final);
    expect(only).toMatchObject({ id: delivery.id, status: 'success', attempts: 2 });
  });

  it('is an extra attempt: if it fails, the next one is when it was, also if the receiver asks for a later one', async () => {
    const { tenant, receiver, webhook, delivery } = await delivered(500);
    receiver.onDelivery = { status: 503, headers: { 'retry-after': '7200' } };
    for (const attempts of [2, 3]) {
      await redeliver(tenant, webhook, delivery);
      const [failed] = await tenant.settled(webhook, 1, (one) => one.attempts === attempts);
      expect(failed).toMatchObject({ id: delivery.id, status: 'failed', final: false, http_status: 503 });
      expect(failed.next_attempt_at).toBe(delivery.next_attempt_at);
    }
    const { attempt_log } = await tenant.data('GET', `/v1/webhooks/${webhook.id}/deliveries/${delivery.id}`);
    expect(attempt_log.map((one: { attempt: number }) => one.attempt)).toEqual([1, 2, 3]);
  });

  it('does not use up the last attempt of the schedule', async () => {
    const { tenant, receiver, webhook, delivery } = await delivered(500);
    for (const attempts of [2, 3, 4]) {
      await tenant.bringForward(webhook);
      await tenant.settled(webhook, 1, (one) => one.attempts === attempts);
    }
    await redeliver(tenant, webhook, delivery);
    await tenant.settled(webhook, 1, (one) => one.attempts === 5 && !one.final);
    await tenant.bringForward(webhook);
    const [ended] = await tenant.settled(webhook, 1, (one) => one.final);
    expect(ended).toMatchObject({ status: 'failed', attempts: 6, next_attempt_at: null });
    expect(receiver.deliveries.count).toBe(6);
  });

  it('of one whose attempt is in flight is that one, and makes no second', async () => {
    const tenant = await newTenant(service);
    const held = new Held();
    const { receiver, webhook } = await tenant.connect(held.reply);
    await tenant.record();
    const { headers } = await receiver.deliveries.nth(1);
    const id = String(headers['x-service-delivery']);
    const { status, body } = await redeliver(tenant, webhook, { id });
    expect([status, body.data]).toEqual([
      202,
      expect.objectContaining({ id, status: 'pending', attempts: 0 }),
    ]);
    held.release(200);
    expect(await tenant.settled(webhook, 1, (one) => one.final)).toMatchObject([{ id, attempts: 1 }]);
  });

  it('can be redelivered again', async () => {
    const { tenant, receiver, webhook, event, delivery } = await delivered();
    const second = (await redeliver(tenant, webhook, delivery)).body.data;
    await tenant.settled(webhook, 2);
    const third = (await redeliver(tenant, webhook, second)).body.data;
    expect((await receiver.deliveries.nth(3)).headers['x-service-delivery']).toBe(third.id);
    expect(receiver.deliveries.last.envelope.id).toBe(event.id);
  });

  it('uses a new URL of the webhook', async () => {
    const { tenant, webhook, event, delivery } = await delivered();
    const elsewhere = await startReceiver();
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { url: elsewhere.url });
    await redeliver(tenant, webhook, delivery);
    expect((await elsewhere.deliveries.nth(1)).envelope.id).toBe(event.id);
  });

  it('is retried like any other delivery', async () => {
    const { tenant, receiver, webhook, delivery } = await delivered();
    receiver.onDelivery = 500;
    await redeliver(tenant, webhook, delivery);
    const [fresh] = await tenant.settled(webhook, 2);
    expect(fresh).toMatchObject({ status: 'failed', attempts: 1, next_attempt_at: expect.any(String) });
    await tenant.bringForward(webhook);
    expect((await receiver.deliveries.nth(3)).headers['x-service-attempt']).toBe('2');
  });

  it.each([
    [
      'disabled',
      (tenant: Tenant, id: string) => tenant.data('PATCH', `/v1/webhooks/${id}`, { status: 'disabled' }),
    ],
    ['unverified', (tenant: Tenant, id: string) => tenant.data('POST', `/v1/webhooks/${id}/verify`)],
  ])('is 409 if the webhook is %s, and creates none', async (status, move) => {
    const { tenant, receiver, webhook, delivery } = await delivered();
    receiver.onVerification = 500;
    expect((await move(tenant, webhook.id)).status).toBe(status);
    const response = await redeliver(tenant, webhook, delivery);
    expect([response.status, response.body.code]).toEqual([409, 'webhook_not_active']);
    expect(response.body.detail).toMatch(
      status === 'unverified' ? /Verify it first\.$/ : /Activate it first\.$/,
    );
    expect(await tenant.webhooksOf({ id: delivery.event_id })).toEqual([webhook.id]);
  });

  it('is 404 for a delivery of another webhook, even of the same organization', async () => {
    const { tenant, delivery } = await delivered();
    const { webhook: other } = await tenant.connect();
    expect((await redeliver(tenant, other, delivery)).status).toBe(404);
  });

  it('is 404 after the retention of the event', async () => {
    const { tenant, webhook, delivery } = await delivered();
    await service.database.query({
      text: 'delete from posthorn.events where organization_id = $1 and id = $2',
      values: [tenant.organization, delivery.event_id],
    });
    expect((await redeliver(tenant, webhook, delivery)).status).toBe(404);
  });

  it('needs webhooks:write', async () => {
    const { tenant, webhook, delivery } = await delivered();
    const reader = await newTenant(service, {
      ...{ organization_id: tenant.organization, scopes: ['events:read', 'webhooks:read'] },
    });
    expect((await redeliver(reader, webhook, delivery)).status).toBe(403);
  });
});
