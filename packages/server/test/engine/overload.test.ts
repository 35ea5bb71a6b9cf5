import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { limits } from '../../src/engine/limits.js';
import { event, record } from '../support/client.js';
import { backlogSizes, handoffSizes } from '../support/deliveries.js';
import { inMemory, Standstill } from '../support/hostile-receiver.js';
import { setLimits } from '../support/limits.js';
import { hangs, startReceiver } from '../support/receiver.js';
import { startTestService, type TestService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ POSTHORN_DELIVERY_TIMEOUT: '30s' });
});

const mib = 1024 * 1024;

/** A hundred deliveries overload a webhook with these. */
const low = { laneQueuedNew: 50, alignDeliveries: 100 };
/** More than a node keeps in memory for a webhook that has not responded yet. */
const together = low.laneQueuedNew + 25;
/** Of two recordings of this size, at least one waits, which is more than one statement ends. */
const larger = low.alignDeliveries + 20;

const manyEvents = ({ organization }: Tenant, count: number, payload = {}) =>
  Array.from({ length: count }, () => event({ organization_id: organization, payload }));

interface Outcome {
  status: string;
  attempts: number;
  error: string | null;
  leased_by: number | null;
}

async function rowsOf({ organization }: Tenant): Promise<Outcome[]> {
  const { rows } = await service.database.query<Outcome>({
    text: 'select status, attempts, error, leased_by from posthorn.deliveries where organization_id = $1',
    values: [organization],
  });
  return rows;
}

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

const nothingInMemory = () =>
  eventually(
    () => inMemory(service.platformUrl),
    ({ inFlight, queued }) => inFlight === 0 && queued === 0,
  );

const isNone = (found: readonly unknown[]) => found.length === 0;

describe('a webhook that gets more than a node keeps in memory for it', () => {
  async function overloaded(size = together) {
    setLimits(low);
    const owner = await newTenant(service);
    const standstill = new Standstill();
    const { receiver, webhook } = await owner.connect(standstill.reply);
    const recorded: { id: string }[] = [];
    for (let n = 0; n < 2; n += 1) recorded.push(...(await record(service, ...manyEvents(owner, size))));
    const onTheWire = await standstill.reached(service.platformUrl, receiver);
    onTestFinished(async () => {
      standstill.end(receiver, 200);
      // The next test counts what is in flight.
      await nothingInMemory();
    });
    const path = `/v1/webhooks/${webhook.id}`;
    const waits = await waiting(owner);
    // The second recording finds as much room as the first requests have made.
    expect(waits.length).toBeGreaterThanOrEqual(size - limits.windowAtStart);
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
    await eventually(
      async () => [...(await handoffSizes(service.database)), ...(await backlogSizes(service.database))],
      isNone,
    );
  });

  test('shows the waiting deliveries as pending, with their number', async () => {
    const { owner, path, waits, total } = await overloaded();
    expect(await owner.data('GET', `${path}/deliveries/${waits[0]}`)).toMatchObject({
      ...{ id: waits[0], status: 'pending', attempts: 0, attempt_log: [], http_status: null },
    });
    expect(await owner.data('GET', `${path}/stats`)).toMatchObject({ success: 0, failed: 0, pending: total });
    const stranger = await newTenant(service);
    expect((await stranger.request('GET', `${path}/deliveries/${waits[0]}`)).status).toBe(404);
  });

  test('and is disabled, gets none of it: all waiting deliveries fail with the error disabled', async () => {
    const { owner, standstill, receiver, path, onTheWire, waits, total } = await overloaded(larger);
    expect(waits.length).toBeGreaterThan(low.alignDeliveries);
    await owner.data('PATCH', path, { status: 'disabled' });
    await eventually(() => waiting(owner), isNone);
    standstill.end(receiver, 500);
    const rows = await eventually(
      () => rowsOf(owner),
      (all) => all.length === total && all.every(({ status }) => status === 'failed'),
    );
    expect(rows.filter(({ attempts }) => attempts > 0)).toHaveLength(onTheWire);
    expect(rows.every(({ error }) => error === 'disabled')).toBe(true);
    expect(receiver.deliveries.count).toBe(onTheWire);
    expect(await owner.events({ type: 'webhook.delivery_failed' })).toEqual([]);
  });

  test('and is deleted, gets none of it, and nothing is left', async () => {
    const { owner, standstill, receiver, path, onTheWire, waits } = await overloaded(larger);
    expect(waits.length).toBeGreaterThan(low.alignDeliveries);
    expect((await owner.request('DELETE', path)).status).toBe(204);
    await eventually(() => waiting(owner), isNone);
    standstill.end(receiver, 500);
    await nothingInMemory();
    await eventually(
      () => rowsOf(owner),
      (all) => all.every(({ status }) => status === 'cancelled'),
    );
    expect(receiver.deliveries.count).toBe(onTheWire);
  });
});

test('while outcomes cannot be written, a limited number of events is sent, and the rest afterwards', async () => {
  setLimits({ windowUsual: 16, windowMax: 16, unsettledOutcomes: 50, settleOutcomes: 12 });
  const count = 160;
  const owner = await newTenant(service);
  const { receiver, webhook } = await owner.connect(200);
  await owner.record();
  await owner.settled(webhook, 1, ({ status }) => status === 'success');
  const blocked = await service.database.transaction(async (client) => {
    // Settlements write it, and nothing else does.
    await client.query({ text: 'lock table posthorn.webhook_health in share mode' });
    for (let n = 0; n < 2; n += 1) await record(service, ...manyEvents(owner, count / 2));
    // Nothing is in flight although much is at hand: it is held back.
    await receiver.deliveries.nth(limits.unsettledOutcomes);
    await eventually(
      () => inMemory(service.platformUrl),
      ({ inFlight, queued }) => inFlight === 0 && queued > 0,
    );
    return receiver.deliveries.count;
  }, true);
  // What is unwritten, the batch that waits for the lock, what was in flight then, and the first event.
  const most = limits.unsettledOutcomes + limits.settleOutcomes + limits.windowMax + 1;
  expect(blocked).toBeLessThanOrEqual(most);
  await receiver.deliveries.nth(count + 1);
  await eventually(
    () => rowsOf(owner),
    (all) => all.length === count + 1 && all.every(({ status }) => status === 'success'),
  );
  expect(receiver.deliveries.count).toBe(count + 1);
});

/** Bytes that are in use, not those that only were. */
function heapInUse(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

test('a backlog of thousands on a webhook that hangs stays in the database, and a healthy webhook gets its events as usual', async () => {
  const dead = await newTenant(service);
  const { receiver: deadReceiver, webhook } = await dead.connect(hangs);
  const before = heapInUse();
  let largest = 0;
  for (let batch = 0; batch < 4; batch += 1) {
    // 12 MB together.
    await record(service, ...manyEvents(dead, 1_000, { note: 'x'.repeat(3_000) }));
    largest = Math.max(largest, (await inMemory(service.platformUrl)).queued);
  }
  await deadReceiver.deliveries.nth(1);

  const alive = await newTenant(service);
  const { receiver } = await alive.connect(200);
  for (let n = 1; n <= 15; n += 1) {
    const { id } = await alive.record();
    expect((await receiver.deliveries.nth(n)).envelope.id).toBe(id);
    largest = Math.max(largest, (await inMemory(service.platformUrl)).queued);
  }
  // Of a webhook that has never responded hardly any is taken.
  expect(largest).toBeLessThan(1_000);
  expect(heapInUse() - before).toBeLessThan(8 * mib);
  const { rows } = await service.database.query<{ waiting: number }>({
    text: `
  select (select count(*) from posthorn.deliveries where webhook_id = $2 and status = 'pending')
       + (select count(*) from posthorn.open_shares($1, array[$2], null, null)) as waiting`,
    values: [dead.organization, webhook.id],
  });
  expect(rows[0]?.waiting).toBe(4_000);
  await dead.request('DELETE', `/v1/webhooks/${webhook.id}`);
  await deadReceiver.close();
});

test('an organization with many hanging webhooks cannot fill the memory and starve others', async () => {
  setLimits({ queuedBytes: 2 * mib, unresponsiveBytes: mib / 2 });
  const hanging = await startReceiver({ onDelivery: hangs });
  const healthy = await newTenant(service);
  const { receiver } = await healthy.connect(200);
  await healthy.record();
  await receiver.deliveries.nth(1);

  const crowd = await newTenant(service);
  await Promise.all(Array.from({ length: 25 }, () => crowd.webhook(hanging)));
  // 3 MB for all webhooks together.
  await record(service, ...manyEvents(crowd, 30, { note: 'x'.repeat(4_000) }));
  await hanging.deliveries.nth(1);

  const { id } = await healthy.record();
  expect((await receiver.deliveries.nth(2)).envelope.id).toBe(id);
  // It did not have to wait until others timed out.
  expect((await rowsOf(crowd)).filter(({ attempts }) => attempts > 0)).toEqual([]);
  await hanging.close();
});

test('webhooks that begin to hang delay no other organization, and keep few large payloads in flight', async () => {
  setLimits({ queuedBytes: 2.5 * mib, inFlightBytes: 3 * mib });
  const healthy = await newTenant(service);
  const { receiver } = await healthy.connect(200);
  const crowd = await newTenant(service);
  const hanging = await startReceiver();
  await Promise.all(Array.from({ length: 6 }, () => crowd.webhook(hanging)));
  await healthy.record();
  await crowd.record();
  await receiver.deliveries.nth(1);
  await hanging.deliveries.nth(6);
  hanging.onDelivery = hangs;

  // 12 MB for all webhooks together.
  await record(service, ...manyEvents(crowd, 30, { note: 'x'.repeat(35_000) }));
  await hanging.deliveries.nth(7);
  for (let n = 2; n < 5; n += 1) {
    const { id } = await healthy.record();
    expect((await receiver.deliveries.nth(n)).envelope.id).toBe(id);
  }
  // It did not have to wait until others timed out.
  expect(
    (await rowsOf(crowd)).filter(({ status, attempts }) => status !== 'success' && attempts > 0),
  ).toEqual([]);
  // Each payload counts as 70 kB.
  expect(hanging.deliveries.count - 6).toBeLessThan((3 * mib) / 70_000);
  await hanging.close();
});
