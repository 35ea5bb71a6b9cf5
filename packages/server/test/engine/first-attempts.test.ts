import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { event, record } from '../support/client.js';
import { type DeliveryRow, deliveryRows } from '../support/deliveries.js';
import { Standstill } from '../support/hostile-receiver.js';
import type { Received } from '../support/receiver.js';
import { startTestService, type TestService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

const timeoutMs = 60_000;
let service: TestService;
beforeAll(async () => {
  service = await startTestService({ POSTHORN_DELIVERY_TIMEOUT: `${timeoutMs}ms` });
});

const recordTogether = (owner: Tenant, count: number) => {
  const events = Array.from({ length: count }, () => event({ organization_id: owner.organization }));
  return record(owner.service, ...events);
};

async function rowsOf(owner: Tenant): Promise<DeliveryRow[]> {
  const rows = await deliveryRows(owner.service.database);
  return rows.filter((row) => row.organization_id === owner.organization);
}

const deliveryOf = ({ headers }: Received) => String(headers['x-service-delivery']);
const eventOf = ({ envelope }: Received) => envelope.id as string;

describe('a delivery during its first attempt', () => {
  async function held() {
    const owner = await newTenant(service);
    const standstill = new Standstill();
    const { receiver, webhook } = await owner.connect(standstill.reply);
    const recorded = await recordTogether(owner, 6);
    await standstill.reached(service.platformUrl, receiver);
    expect(await rowsOf(owner)).toEqual([]);
    const path = `/v1/webhooks/${webhook.id}/deliveries/${deliveryOf(receiver.deliveries.all[0]!)}`;
    onTestFinished(() => standstill.end(receiver, 200));
    return { owner, standstill, receiver, webhook, recorded, path };
  }

  test('can be read: pending without attempts, and with the attempt after the receiver responds', async () => {
    const { owner, standstill, receiver, recorded, webhook, path } = await held();
    const [first] = receiver.deliveries.all;
    const { created_at } = recorded.find(({ id }) => id === eventOf(first!))!;
    const before = await owner.data('GET', path);
    const { request, ...delivery } = before;
    expect(delivery).toEqual({
      ...{ id: deliveryOf(first!), event_id: eventOf(first!), event_type: 'invoice.paid', status: 'pending' },
      ...{ http_status: null, error: null, duration_ms: null, attempts: 0, final: false, attempt_log: [] },
      ...{ webhook_id: webhook.id, created_at, next_attempt_at: created_at },
    });
    expect(request.body).toBe(first!.body.toString());
    standstill.end(receiver, 200);
    const after = await eventually(
      () => owner.data('GET', path),
      ({ status }) => status === 'success',
    );
    const { id, event_id, event_type } = before;
    expect(after).toMatchObject({ id, event_id, event_type, created_at, attempts: 1, http_status: 200 });
    expect(after.attempt_log).toHaveLength(1);
  });

  test('cannot be read with the token of another organization or workspace, or through another webhook', async () => {
    const { owner, receiver, webhook, path } = await held();
    const stranger = await newTenant(service);
    expect((await stranger.request('GET', path)).status).toBe(404);
    const elsewhere = { organization_id: owner.organization, workspace_id: 'WS-elsewhere' };
    expect((await (await newTenant(service, elsewhere)).request('GET', path)).status).toBe(404);
    const sibling = await owner.webhook(receiver, { event_types: ['user.invited'] });
    expect((await owner.request('GET', path.replace(webhook.id, sibling.id))).status).toBe(404);
    expect((await owner.request('GET', path)).status).toBe(200);
  });

  test('counts as pending in the statistics of its webhook, until it has ended', async () => {
    const { owner, standstill, receiver, webhook, recorded } = await held();
    const stats = () => owner.data('GET', `/v1/webhooks/${webhook.id}/stats`);
    const { created_at } = recorded[0]!;
    expect(await stats()).toMatchObject({
      success: 0,
      failed: 0,
      pending: 6,
      oldest_undelivered_at: created_at,
    });
    standstill.end(receiver, 200);
    await eventually(stats, ({ pending }) => pending === 0);
    expect(await stats()).toMatchObject({ failed: 0, oldest_undelivered_at: null });
  });

  test('is left out of a replay of failures, because its outcome is unknown', async () => {
    const { owner, standstill, receiver, webhook } = await held();
    const range = { from: '2020-01-01', to: '2100-01-01', only_failed: true };
    const replay = await owner.data('POST', `/v1/webhooks/${webhook.id}/replay`, range);
    expect(replay.total).toBe(0);
    const done = await eventually(
      () => owner.data('GET', `/v1/webhooks/${webhook.id}/replays/${replay.id}`),
      ({ status }) => status !== 'running',
    );
    expect(done).toMatchObject({ status: 'done', done: 0 });
    standstill.end(receiver, 200);
    await owner.settled(webhook, 6, ({ status }) => status === 'success');
    expect(receiver.deliveries.count).toBe(6);
  });
});
