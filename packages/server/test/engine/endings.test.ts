import { beforeAll, describe, expect, test } from 'vitest';
import { changeWebhook, deleteWebhook, disableWebhook } from '../../src/webhooks/webhook-store.js';
import { sharedService, type TestService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});

/** Longer than any test: what waits then goes on waiting. */
const waitsForAnHour = { 'retry-after': '3600' };

const ways = {
  disabled: { how: disableWebhook, ends: { status: 'failed', attempts: 1, error: 'disabled' } },
  deleted: { how: deleteWebhook, ends: { status: 'cancelled', attempts: 1, error: null } },
} as const;

async function stored({ service, organization }: Tenant) {
  const { rows } = await service.database.query<{ status: string; attempts: number; error: string | null }>({
    text: 'select status, attempts, error from posthorn.deliveries where organization_id = $1',
    values: [organization],
  });
  return rows;
}

const areOver = (rows: readonly { status: string }[]) =>
  rows.length > 0 && rows.every(({ status }) => status !== 'pending');

describe.each(['disabled', 'deleted'] as const)('when a webhook is %s by another node', (way) => {
  const { how, ends } = ways[way];

  test('an attempt that fails at that moment is the last, and its delivery ends soon', async () => {
    const owner = await newTenant(service);
    const { receiver, webhook } = await owner.connect(async (response) => {
      // This node still takes it for active, for up to a second.
      const key = { organization_id: owner.organization, id: webhook.id, only_workspace_id: undefined };
      await how(service.database, key, 'manual');
      response.writeHead(503, waitsForAnHour).end();
    });
    await owner.record();
    expect(await eventually(() => stored(owner), areOver)).toEqual([ends]);
    expect(receiver.deliveries.count).toBe(1);
  });
});

test('disabling a webhook ends its waiting deliveries in the same transaction; if there are many, the rest soon after', async () => {
  const owner = await newTenant(service);
  const { webhook } = await owner.connect({ status: 503, headers: waitsForAnHour });
  await owner.record();
  const [delivery] = await owner.settled(webhook);
  await service.database.query({
    text: `
  insert into posthorn.deliveries
  select (jsonb_populate_record(d, jsonb_build_object('id', 'WDLV-' || n))).*
    from posthorn.deliveries d, generate_series(1, 1299) n
   where d.organization_id = $1 and d.id = $2`,
    values: [owner.organization, delivery.id],
  });
  const key = { organization_id: owner.organization, id: webhook.id };
  await disableWebhook(service.database, key, 'manual');
  expect((await stored(owner)).filter(({ status }) => status === 'pending')).toHaveLength(1_100);
  await owner.data('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'disabled' });
  expect(await eventually(() => stored(owner), areOver)).toEqual(Array(1_300).fill(ways.disabled.ends));
});

test('deleting a webhook ends its waiting deliveries at once', async () => {
  const owner = await newTenant(service);
  const { webhook } = await owner.connect({ status: 503, headers: waitsForAnHour });
  for (let recorded = 0; recorded < 3; recorded += 1) await owner.record();
  await owner.settled(webhook, 3);
  expect((await owner.request('DELETE', `/v1/webhooks/${webhook.id}`)).status).toBe(204);
  expect(await eventually(() => stored(owner), areOver)).toEqual(Array(3).fill(ways.deleted.ends));
});

test('deliveries that waited when a webhook was disabled are not sent when it is active again, even if they had not ended yet', async () => {
  const owner = await newTenant(service);
  const { receiver, webhook } = await owner.connect({ status: 503, headers: waitsForAnHour });
  for (let recorded = 0; recorded < 3; recorded += 1) await owner.record();
  await owner.settled(webhook, 3);
  // As another node does just before it ends them.
  const key = { organization_id: owner.organization, id: webhook.id };
  await changeWebhook(service.database, key, { status: 'disabled', disabled_reason: 'manual' });
  receiver.onDelivery = 200;
  const { status } = await owner.data('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'active' });
  expect(status).toBe('active');
  expect(await stored(owner)).toEqual(Array(3).fill(ways.disabled.ends));
});
