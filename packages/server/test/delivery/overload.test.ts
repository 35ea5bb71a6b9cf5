import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { limits } from '../../src/delivery/limits.js';
import { event, record } from '../support/client.js';
import { deliveryRows } from '../support/deliveries.js';
import { inMemory, Standstill } from '../support/hostile-receiver.js';
import { startTestService, type TestService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ POSTHORN_DELIVERY_TIMEOUT: '10s' });
});

/** More than a node keeps in memory for a webhook that has not responded yet. */
const together = limits.laneQueuedNew + 100;
/** Two recordings of which more must wait than one statement ends. */
const larger = limits.alignDeliveries - 200;

const rowsOf = async ({ organization, service }: Tenant) =>
  (await deliveryRows(service.database)).filter((row) => row.organization_id === organization);

/** Returns the deliveries in the backlog that no node has. */
async function waiting(owner: Tenant): Promise<string[]> {
  const { rows } = await service.database.query<{ id: string }>({
    text: `
  select posthorn.numbered('WDLV-', b.head, b.base + o.ordinal) as id
    from posthorn.backlog b
   cross join unnest(b.ordinals) as o (ordinal)
   where b.organization_id = $1 and b.leased_by is null
   order by 1`,
    values: [owner.organization],
  });
  return rows.map(({ id }) => id);
}

const isNone = (ids: readonly string[]) => ids.length === 0;

describe('a webhook that gets more than a node keeps in memory for it', () => {
  async function overloaded(size = together) {
    const owner = await newTenant(service);
    const standstill = new Standstill();
    const { receiver, webhook } = await owner.connect(standstill.answering);
    const recorded: { id: string }[] = [];
    for (let n = 0; n < 2; n += 1) {
      const events = Array.from({ length: size }, () => event({ organization_id: owner.organization }));
      recorded.push(...(await record(service, ...events)));
    }
    const onTheWire = await standstill.reached(service.platformUrl, receiver);
    onTestFinished(async () => {
      standstill.end(receiver, 200);
      // The next test counts what is in flight.
      await eventually(
        () => inMemory(service.platformUrl),
        ({ inFlight, queued }) => inFlight === 0 && queued === 0,
      );
    });
    const path = `/v1/webhooks/${webhook.id}`;
    const waits = await waiting(owner);
    expect(waits.length).toBeGreaterThanOrEqual(size);
    return { owner, standstill, receiver, recorded, path, onTheWire, waits, total: 2 * size };
  }

  test('eventually gets all of it, each event exactly once', async () => {
    const { owner, standstill, receiver, recorded, total } = await overloaded();
    standstill.end(receiver, 200);
    await receiver.deliveries.nth(total);
    const rows = await eventually(
      () => rowsOf(owner),
      (all) => all.length === total && all.every(({ status }) => status === 'success'),
    );
    expect(rows.every(({ attempts, leased_by }) => attempts === 1 && leased_by === null)).toBe(true);
    expect(receiver.deliveries.all.map(({ envelope }) => envelope.id).sort()).toEqual(
      recorded.map(({ id }) => id).sort(),
    );
    expect(await waiting(owner)).toEqual([]);
  });

  test('shows the waiting deliveries as pending, with their number', async () => {
    const { owner, path, waits, total } = await overloaded();
    expect(await owner.data('GET', `${path}/deliveries/${waits[0]}`)).toMatchObject({
      ...{ id: waits[0], status: 'pending', attempts: 0, attempt_log: [], http_status: null },
    });
    expect(await owner.data('GET', `${path}/stats`)).toMatchObject({ success: 0, failed: 0, pending: total });
    const stranger = await newTenant(service);
    expect((await stranger.ask('GET', `${path}/deliveries/${waits[0]}`)).status).toBe(404);
  });

  test('and is disabled, gets none of it: all waiting deliveries fail with the error disabled', async () => {
    const { owner, standstill, receiver, path, onTheWire, waits, total } = await overloaded(larger);
    expect(waits.length).toBeGreaterThan(limits.alignDeliveries);
    await owner.data('PATCH', path, { status: 'disabled' });
    await eventually(() => waiting(owner), isNone);
    standstill.end(receiver, 500);
    const rows = await eventually(
      () => rowsOf(owner),
      (all) => all.length === total && all.every(({ status }) => status === 'failed'),
    );
    expect(rows.filter(({ attempts }) => attempts > 0)).toHaveLength(onTheWire);
    expect(receiver.deliveries.count).toBe(onTheWire);
    expect(await owner.events({ type: 'webhook.delivery_failed' })).toEqual([]);
  });

  test('and is deleted, gets none of it, and nothing is left', async () => {
    const { owner, standstill, receiver, path, onTheWire, waits } = await overloaded(larger);
    expect(waits.length).toBeGreaterThan(limits.alignDeliveries);
    expect((await owner.ask('DELETE', path)).status).toBe(204);
    await eventually(() => waiting(owner), isNone);
    standstill.end(receiver, 500);
    await eventually(
      () => rowsOf(owner),
      (all) => all.every(({ status }) => status === 'cancelled'),
    );
    expect(receiver.deliveries.count).toBe(onTheWire);
  });
});

test('while outcomes cannot be written, a few thousand events are sent, and the rest afterwards', async () => {
  const owner = await newTenant(service);
  const { receiver, webhook } = await owner.connect(200);
  await owner.record();
  await owner.settled(webhook, 1, ({ status }) => status === 'success');
  const blocked = await service.database.transaction(async (client) => {
    // Settlements write it, and nothing else does.
    await client.query({ text: 'lock table posthorn.webhook_health in share mode' });
    for (let n = 0; n < 5; n += 1) {
      const events = Array.from({ length: 1_000 }, () => event({ organization_id: owner.organization }));
      await record(service, ...events);
    }
    // Nothing is in flight although much is at hand: it is held back.
    await receiver.deliveries.nth(3_000);
    await eventually(
      () => inMemory(service.platformUrl),
      ({ inFlight, queued }) => inFlight === 0 && queued > 0,
    );
    return receiver.deliveries.count;
  }, true);
  // What is unwritten, the batch that waits for the lock, what was in flight then, and the first event.
  const most = limits.unsettledOutcomes + limits.settleOutcomes + limits.windowMax + 1;
  expect(blocked).toBeLessThanOrEqual(most);
  await receiver.deliveries.nth(5_001);
  await eventually(
    () => rowsOf(owner),
    (all) => all.length === 5_001 && all.every(({ status }) => status === 'success'),
  );
  expect(receiver.deliveries.count).toBe(5_001);
});
