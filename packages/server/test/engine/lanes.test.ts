import { expect, test } from 'vitest';
import { bytesOf } from '../../src/engine/lane.js';
import { Lanes, type Turn } from '../../src/engine/lanes.js';
import { limits } from '../../src/engine/limits.js';
import type { LeasedDelivery, Room } from '../../src/events/recording-store.js';
import { setLimits } from '../support/limits.js';

const mib = 1024 * 1024;
let number = 0;

const at = new Date(0);
const common = {
  ...{ organization_id: 'ORG-acme', delivery_created_at: at, attempts: 0, scheduled: 1 },
  ...{ type: 'invoice.paid', group: undefined, event_created_at: at, workspace_id: null, payload: '{}' },
  ...{ actor: { type: 'user', id: 'USR-1' }, subject: { type: 'invoice', id: 'INV-1' } },
} as const;

/** Some tests make a hundred thousand of them. */
function delivery(webhook: string, more: Partial<LeasedDelivery> = {}): LeasedDelivery {
  number += 1;
  const own = { webhook_id: webhook, delivery_id: `WDLV-${number}`, event_id: `EVT-${number}` };
  return Object.assign(own, common, more);
}

const many = (count: number, webhook: string, more: Partial<LeasedDelivery> = {}) =>
  Array.from({ length: count }, () => delivery(webhook, more));

/** Lanes whose attempts start and end when the test says so, on a clock of its own. */
class Rig {
  nowMs = 1_000;
  /** What the lanes do later, and when. */
  timers: { atMs: number; work: () => void }[] = [];
  /** How many requests this node may have in flight to one webhook. */
  inFlightMax = limits.windowMax;
  readonly lanes = new Lanes(
    (ms, work) => this.timers.push({ atMs: this.nowMs + ms, work }),
    () => this.nowMs,
    () => this.inFlightMax,
    ({ delivery_created_at: created }) => created.getTime() < 0,
  );
  inFlight: Turn[] = [];
  wantsMore = false;
  /** What was added with `add` and has not started. */
  readonly #queued = new Set<LeasedDelivery>();

  pump(): void {
    for (let turn = this.lanes.next(); turn; turn = this.lanes.next()) {
      this.inFlight.push(turn);
      this.#queued.delete(turn.delivery);
    }
  }

  add(...deliveries: LeasedDelivery[]): LeasedDelivery[] {
    for (const one of deliveries) this.#queued.add(one);
    const surplus = this.lanes.add(deliveries);
    for (const one of surplus) this.#queued.delete(one);
    this.pump();
    return surplus;
  }

  /** Ends what is in flight after so long. Returns what there is no room for any more. */
  end(kind: 'delivered' | 'failed', tookMs = 5, isMeant = (_webhook: string) => true): LeasedDelivery[] {
    this.nowMs += tookMs;
    const over = this.inFlight.filter(({ lane }) => isMeant(lane.webhookId));
    this.inFlight = this.inFlight.filter((turn) => !over.includes(turn));
    const surplus: LeasedDelivery[] = [];
    for (const turn of over) {
      const after = this.lanes.ended(turn, { kind, tookMs });
      surplus.push(...after.surplus);
      this.wantsMore = after.wantsMore;
    }
    this.pump();
    return surplus;
  }

  /** Passes the time until a timer fires, or until then. */
  wait(untilMs = Math.min(...this.timers.map(({ atMs }) => atMs))): void {
    this.nowMs = untilMs;
    const due = this.timers.filter(({ atMs }) => atMs <= untilMs);
    this.timers = this.timers.filter((timer) => !due.includes(timer));
    for (const { work } of due) work();
    this.pump();
  }

  /** Makes webhooks healthy, with a window of this many rounds of successes. */
  prove(rounds: number, ...webhooks: string[]): void {
    for (let round = 0; round < rounds; round += 1) {
      for (const webhook of webhooks) this.add(...many(64, webhook));
      while (this.inFlight.length > 0) this.end('delivered');
    }
  }

  get bytesInFlight(): number {
    return this.inFlight.reduce((bytes, { delivery }) => bytes + bytesOf(delivery), 0);
  }

  /** The size of what is queued. */
  get queuedBytes(): number {
    return [...this.#queued].reduce((bytes, delivery) => bytes + bytesOf(delivery), 0);
  }

  count = (webhook: string) => this.inFlight.filter(({ lane }) => lane.webhookId === webhook).length;
  claimed = (room: Room, more: string[] = [], beganMs = this.nowMs) =>
    this.lanes.claimed({ deliveries: [], more: new Set(more), nextMs: undefined }, room, beganMs);
  toRecord = (webhook: string) => roomOf(this.lanes.roomToRecord(1), webhook);
  toClaim = (webhook: string) => roomOf(this.lanes.roomToClaim(1, 1), webhook);
}

const roomOf = ({ webhooks, each, total }: Room, webhook: string) =>
  Math.min(total, webhooks.get(webhook) ?? each);
const named = (count: number, name: string) =>
  Array.from({ length: count }, (_, index) => `WHK-${name}-${index}`);

test('organizations take turns, and so do the webhooks of each', () => {
  const rig = new Rig();
  rig.prove(8, 'WHK-a1', 'WHK-a2');
  const crowd = named(50, 'crowd');
  for (const webhook of crowd) rig.lanes.add(many(20, webhook, { organization_id: 'ORG-crowd' }));
  rig.lanes.add([...many(20, 'WHK-a1'), ...many(20, 'WHK-a2')]);
  const first = Array.from({ length: 8 }, () => rig.lanes.next()!.lane);
  expect(first.map(({ organizationId }) => organizationId)).toEqual([
    ...['ORG-crowd', 'ORG-acme', 'ORG-crowd', 'ORG-acme', 'ORG-crowd', 'ORG-acme', 'ORG-crowd', 'ORG-acme'],
  ]);
  const acme = first.filter(({ organizationId }) => organizationId === 'ORG-acme');
  expect(acme.map(({ webhookId }) => webhookId)).toEqual(['WHK-a1', 'WHK-a2', 'WHK-a1', 'WHK-a2']);
});

test('retries take turns with new deliveries, however many there are', () => {
  const rig = new Rig();
  rig.prove(8, 'WHK-1');
  rig.add(...many(1_000, 'WHK-1'), ...many(3, 'WHK-1', { attempts: 1 }));
  const attempts = Array.from({ length: 7 }, (_, index) => rig.inFlight[index]?.delivery.attempts);
  rig.end('delivered');
  expect(
    attempts.filter((made) => made === 1).length +
      rig.inFlight.filter(({ delivery: { attempts } }) => attempts === 1).length,
  ).toBe(3);
});

test('recordings leave room in memory for the retries of a webhook that gets more than it can receive', () => {
  const rig = new Rig();
  rig.prove(8, 'WHK-1');
  while (rig.toRecord('WHK-1') > 0) rig.add(...many(rig.toRecord('WHK-1'), 'WHK-1'));
  expect(rig.toClaim('WHK-1')).toBeGreaterThanOrEqual(100);
});

test('after deliveries were left in the database, new ones queue behind them until a claim finds no more', () => {
  const rig = new Rig();
  rig.prove(8, 'WHK-1');
  expect(rig.toRecord('WHK-1')).toBeGreaterThan(0);
  rig.lanes.recorded([{ webhook_id: 'WHK-1', revision: 1, has_backlog: true }]);
  expect(rig.toRecord('WHK-1')).toBe(0);
  const room = rig.lanes.roomToClaim(1, 1);
  rig.claimed(room, ['WHK-1'], rig.nowMs + 1);
  expect(rig.toRecord('WHK-1')).toBe(0);
  rig.claimed(room, [], rig.nowMs + 2);
  expect(rig.toRecord('WHK-1')).toBeGreaterThan(0);
});

test('a claim that began before deliveries were left does not stop the search for them, but new ones may overtake them', () => {
  const rig = new Rig();
  rig.prove(8, 'WHK-1');
  const room = rig.lanes.roomToClaim(1, 1);
  rig.lanes.recorded([{ webhook_id: 'WHK-1', revision: 1, has_backlog: true }]);
  rig.claimed(room, [], rig.nowMs - 1);
  expect(rig.toRecord('WHK-1')).toBeGreaterThan(0);
  rig.add(delivery('WHK-1'));
  rig.end('delivered');
  expect(rig.wantsMore).toBe(true);
});

test('a claim without room for a webhook changes nothing about it', () => {
  const rig = new Rig();
  rig.prove(8, 'WHK-1');
  rig.lanes.add(many(limits.laneQueued, 'WHK-1'));
  rig.lanes.recorded([{ webhook_id: 'WHK-1', revision: 1, has_backlog: true }]);
  const room = rig.lanes.roomToClaim(1, 1);
  expect(room.webhooks.get('WHK-1')).toBe(0);
  rig.claimed(room, [], rig.nowMs + 1);
  expect(rig.toRecord('WHK-1')).toBe(0);
});

test('another claim is worthwhile if a webhook has more deliveries and room for them, or is unknown', () => {
  const rig = new Rig();
  rig.prove(8, 'WHK-1');
  const room = rig.lanes.roomToClaim(1, 1);
  expect([rig.claimed(room), rig.claimed(room, ['WHK-1']), rig.claimed(room, ['WHK-unknown'])]).toEqual([
    ...[false, true, true],
  ]);
  rig.lanes.add(many(limits.laneQueued, 'WHK-1'));
  expect(rig.claimed(room, ['WHK-1'])).toBe(false);
});

test('however many webhooks have more than they can send, there is room in memory for one more', () => {
  const rig = new Rig();
  const greedy = named(40, 'greedy');
  rig.prove(1, ...greedy, 'WHK-healthy');
  for (let round = 0; round < 200; round += 1) {
    for (const webhook of greedy) rig.lanes.add(many(Math.min(100, rig.toRecord(webhook)), webhook));
  }
  expect(rig.toRecord('WHK-healthy')).toBeGreaterThan(50);
  expect(rig.toClaim('WHK-healthy')).toBeGreaterThan(50);
});

test('large payloads of one webhook use no more than its part of the memory', () => {
  const rig = new Rig();
  const four = named(4, 'large');
  rig.prove(1, ...four);
  const payload = 'x'.repeat(1024 * 1024);
  for (const webhook of four) {
    for (let turn = 0; turn < 100; turn += 1) {
      if (rig.toRecord(webhook) > 0) rig.lanes.add([delivery(webhook, { payload })]);
    }
    expect(rig.toRecord(webhook)).toBe(0);
  }
  // Two bytes for a character: 20 MiB are 9 of them, and all four together stay below 64.
  expect(rig.lanes.queued).toBeLessThan(31);
});

test('nothing new is accepted while memory is full, by count or by bytes', () => {
  const rig = new Rig();
  rig.prove(1, 'WHK-1');
  rig.lanes.add(many(limits.queued, 'WHK-1'));
  expect(rig.lanes.roomToRecord(1).total).toBe(0);
  rig.lanes.clear();
  for (const one of many(64, 'WHK-1', { payload: 'x'.repeat(mib) })) rig.lanes.countSurplus(one, 1);
  expect(rig.lanes.roomToRecord(1).total).toBe(0);
});

test('while memory is crowded with large payloads, webhooks with nothing in memory get a little', () => {
  const rig = new Rig();
  rig.prove(1, 'WHK-full', 'WHK-healthy');
  const large = { payload: 'x'.repeat(mib) };
  rig.lanes.add(many(8, 'WHK-full', large));
  for (const one of many(25, 'WHK-other', large)) rig.lanes.countSurplus(one, 1);
  for (const webhook of ['WHK-healthy', 'WHK-unknown']) {
    expect(rig.toRecord(webhook)).toBeGreaterThan(0);
    expect(rig.toClaim(webhook)).toBeGreaterThanOrEqual(limits.windowAtStart);
  }
  expect(rig.toClaim('WHK-unknown')).toBe(limits.windowAtStart);
  expect([rig.toRecord('WHK-full'), rig.toClaim('WHK-full')]).toEqual([0, 0]);
});

test('webhooks that get more than fits into memory give the rest back, and nothing goes back and forth', () => {
  const rig = new Rig();
  const six = named(6, 'hanging');
  rig.prove(8, ...six, 'WHK-healthy');
  const payload = 'x'.repeat(70_000);
  const surplus = six.flatMap((webhook) => rig.add(...many(200, webhook, { payload })));
  expect(surplus.length).toBeGreaterThan(0);
  rig.nowMs += limits.slowMs + 1;
  expect(rig.queuedBytes).toBeLessThan(limits.queuedBytes);
  expect([rig.toRecord('WHK-healthy') > 50, rig.toClaim('WHK-healthy') > 50]).toEqual([true, true]);
  for (const webhook of six) {
    for (let claim = 0; claim < 5; claim += 1)
      expect(rig.add(...many(rig.toClaim(webhook), webhook, { payload }))).toEqual([]);
  }
});

test('webhooks that cannot start anything leave memory and requests to others', () => {
  const rig = new Rig();
  const hanging = named(60, 'hanging');
  for (const webhook of [...hanging, 'WHK-healthy']) rig.prove(4, webhook);
  rig.add(...hanging.flatMap((webhook) => many(8, webhook, { payload: 'x'.repeat(mib) })));
  expect(new Set(rig.inFlight.map(({ lane }) => lane)).size).toBeLessThan(60);
  expect(rig.toRecord('WHK-healthy')).toBeGreaterThan(0);
  expect(rig.add(delivery('WHK-healthy'))).toEqual([]);
  expect(rig.count('WHK-healthy')).toBe(1);
});

test('a webhook that stalls keeps its deliveries while memory is not full', () => {
  const rig = new Rig();
  rig.prove(8, 'WHK-1');
  rig.add(...many(5_000, 'WHK-1'));
  rig.nowMs += limits.slowMs + 1;
  expect(rig.add()).toEqual([]);
});

test.each([
  ['were healthy', 1],
  ['are new', 0],
])('large payloads in flight to hundreds of hanging webhooks that %s fit into memory', (_, rounds) => {
  const rig = new Rig();
  const hanging = named(300, 'hanging');
  for (const webhook of hanging) rig.prove(rounds, webhook);
  const largest = 'x'.repeat(8 * mib);
  for (const [index, webhook] of hanging.entries())
    rig.add(...many(10, webhook, { payload: index % 2 ? largest : largest.slice(0, 100_000) }));
  rig.nowMs += limits.slowMs + 1;
  rig.pump();
  expect(rig.inFlight.length).toBeGreaterThan(1);
  expect(rig.bytesInFlight).toBeLessThan(rounds ? limits.inFlightBytes : limits.unhealthyInFlightBytes);
});

test('hanging webhooks with large payloads do not slow down small ones', () => {
  const rig = new Rig();
  const hanging = named(20, 'hanging');
  rig.prove(8, ...hanging, 'WHK-healthy');
  const payload = 'x'.repeat(4_000_000);
  for (const webhook of hanging) rig.lanes.add(many(64, webhook, { payload }));
  for (const webhook of named(20, 'new')) rig.lanes.add(many(8, webhook, { payload }));
  rig.pump();
  rig.add(...many(64, 'WHK-healthy', { payload: 'x'.repeat(1_000) }));
  expect(rig.count('WHK-healthy')).toBe(64);
  rig.add(...many(8, 'WHK-small', { payload: 'x'.repeat(1_000) }));
  expect(rig.count('WHK-small')).toBe(8);
});

test.each(['delivered', 'failed'] as const)(
  'each of many webhooks with large payloads gets its turn (%s)',
  (kind) => {
    const rig = new Rig();
    const all = named(30, 'large');
    const waiting = new Map(
      all.map((webhook) => [webhook, many(3, webhook, { payload: 'x'.repeat(8 * mib) })]),
    );
    for (let round = 0; round < 200; round += 1) {
      for (const [webhook, own] of waiting) own.push(...rig.add(...own.splice(0, rig.toClaim(webhook))));
      expect(rig.bytesInFlight).toBeLessThan(limits.inFlightBytes);
      rig.end(kind, 2_000);
      rig.wait(rig.nowMs + 1_000);
    }
    expect([...waiting.values()].flat()).toEqual([]);
    expect([rig.lanes.queued, rig.inFlight.length]).toEqual([0, 0]);
  },
);

test('deliveries that are given back use memory until that is written', () => {
  const rig = new Rig();
  rig.prove(1, 'WHK-1');
  const { total } = rig.lanes.roomToRecord(1);
  const given = many(limits.queued, 'WHK-1');
  for (const one of given) rig.lanes.countSurplus(one, 1);
  expect([rig.lanes.roomToRecord(1).total, rig.lanes.roomToClaim(1, 1).total]).toEqual([0, 0]);
  for (const one of given) rig.lanes.countSurplus(one, -1);
  expect(rig.lanes.roomToRecord(1).total).toBe(total);
});

test('slow webhooks leave half of the slots to others', () => {
  const rig = new Rig();
  const slow = named(40, 'slow');
  rig.prove(1, ...slow, 'WHK-healthy');
  for (let round = 0; round < 12; round += 1) {
    for (const webhook of slow) rig.add(...many(64, webhook));
    rig.end('delivered', 5_000);
  }
  for (const webhook of slow) rig.add(...many(100, webhook));
  expect(rig.inFlight.length).toBeLessThanOrEqual(limits.unhealthySlots);
  rig.add(...many(8, 'WHK-healthy'));
  expect(rig.count('WHK-healthy')).toBe(8);
});

test('webhooks that all hang at once delay others only until that is noticed', () => {
  const rig = new Rig();
  const hanging = named(40, 'hanging');
  rig.prove(8, ...hanging, 'WHK-healthy', 'WHK-other');
  for (const webhook of hanging) rig.add(...many(100, webhook));
  expect(rig.inFlight.length).toBe(limits.slots);
  rig.add(...many(100, 'WHK-healthy'), ...many(3, 'WHK-other'));
  expect([rig.count('WHK-healthy'), rig.count('WHK-other')]).toEqual([0, 0]);
  rig.nowMs += limits.slowMs + 1;
  rig.pump();
  expect([rig.count('WHK-healthy'), rig.count('WHK-other')]).toEqual([8, 3]);
  expect(rig.inFlight.length).toBeLessThanOrEqual(limits.slots + limits.spareSlots);
});

test('a webhook that starts to fail gives back all but its oldest deliveries in memory', () => {
  const rig = new Rig();
  rig.prove(1, 'WHK-1');
  const all = many(1_000, 'WHK-1');
  rig.add(...all);
  const tried = rig.inFlight.length;
  const surplus = rig.end('failed');
  expect(surplus.length + rig.lanes.queued + rig.inFlight.length).toBe(1_000 - tried);
  expect(rig.lanes.queued).toBeLessThanOrEqual(limits.laneQueuedFailing);
  expect(rig.toRecord('WHK-1')).toBe(0);
  rig.wait(rig.nowMs + 1_000);
  expect(rig.inFlight[0]?.delivery).toBe(all[tried]);
});

test('what a failing webhook claims fits into memory, so that nothing goes back and forth', () => {
  const rig = new Rig();
  rig.add(...many(8, 'WHK-1'));
  rig.end('failed');
  expect(rig.lanes.add(many(rig.toClaim('WHK-1'), 'WHK-1'))).toEqual([]);
});

test('webhooks that do not respond use no more than their part of the memory, however many there are', () => {
  const rig = new Rig();
  rig.prove(1, 'WHK-healthy');
  const surplus = named(100, 'new').flatMap((webhook) =>
    rig.add(...many(100, webhook, { payload: 'x'.repeat(4_000) })),
  );
  expect(surplus.length).toBeGreaterThan(0);
  expect(rig.queuedBytes).toBeLessThanOrEqual(limits.unresponsiveBytes);
  expect(rig.toRecord('WHK-new-0')).toBe(0);
  expect(rig.toRecord('WHK-healthy')).toBeGreaterThan(100);
});

test('a webhook that this node has not sent to gets room, however many others do not respond', () => {
  const rig = new Rig();
  for (const webhook of named(40, 'new')) rig.add(...many(100, webhook, { payload: 'x'.repeat(10_000) }));
  expect(rig.toRecord('WHK-unknown')).toBe(limits.windowAtStart);
  expect(rig.add(...many(3, 'WHK-unknown'))).toEqual([]);
  expect(rig.count('WHK-unknown')).toBe(3);
});

test('one hanging webhook with large payloads does not use up the memory for webhooks that do not respond', () => {
  const rig = new Rig();
  let claimed = 0;
  const surplus = rig.add(...many(40, 'WHK-hanging', { payload: 'x'.repeat(1_200_000) }));
  expect(surplus.length).toBeGreaterThan(0);
  for (let claim = 0; claim < 10; claim += 1) {
    const room = rig.toClaim('WHK-hanging');
    claimed += room;
    // Nothing goes back and forth.
    expect(rig.add(...many(room, 'WHK-hanging', { payload: 'x'.repeat(1_200_000) }))).toEqual([]);
  }
  expect(claimed).toBeLessThan(10);
  expect(rig.toClaim('WHK-unknown')).toBe(limits.claimEach);
});

test('webhooks that rest after failures do not delay others', () => {
  const rig = new Rig();
  for (const webhook of named(200, 'failing')) rig.add(...many(20, webhook));
  for (let round = 0; round < 4; round += 1) rig.end('failed');
  expect([rig.inFlight.length, rig.lanes.inFlight]).toEqual([0, 0]);
  rig.add(...many(8, 'WHK-new'));
  expect(rig.count('WHK-new')).toBe(8);
});

test('a webhook that rests after failures has no request in flight', () => {
  const rig = new Rig();
  rig.add(...many(20, 'WHK-1'));
  rig.end('failed');
  expect(rig.timers).not.toEqual([]);
  expect(rig.lanes.inFlightByCondition()).toMatchObject({ failing: 0, stalled: 0 });
  while (rig.timers.length > 0) rig.wait();
  expect(rig.lanes.inFlightByCondition()).toMatchObject({ failing: limits.windowFailing });
});

test.each([
  ['rested after failures', (rig: Rig) => rig.wait()],
  [
    'had deliveries in the database that other nodes took',
    (rig: Rig) => rig.lanes.recorded([{ webhook_id: 'WHK-1', revision: 1, has_backlog: true }]),
  ],
])('beyond the limit, an idle webhook that %s is not remembered', (_, before) => {
  setLimits({ lanes: 0 });
  const rig = new Rig();
  rig.add(...many(8, 'WHK-1'));
  rig.end('failed');
  before(rig);
  while (rig.timers.length > 0) rig.wait();
  rig.nowMs += 1;
  rig.claimed(rig.lanes.roomToClaim(1, 1));
  rig.add(...many(20, 'WHK-1'));
  expect(rig.count('WHK-1')).toBe(limits.windowAtStart);
});

test('beyond the limit, the webhooks that were used last are remembered, however long others were idle', () => {
  setLimits({ lanes: 5 });
  const rig = new Rig();
  rig.prove(1, ...named(20, 'old'));
  rig.prove(4, 'WHK-busy');
  rig.claimed(rig.lanes.roomToClaim(1, 1));
  rig.add(...many(20, 'WHK-busy'));
  expect(rig.count('WHK-busy')).toBe(20);
  rig.add(...many(20, 'WHK-old-0'));
  expect(rig.count('WHK-old-0')).toBe(limits.windowAtStart);
});

test('a webhook with a rate limit is not forgotten before its next request may start', () => {
  setLimits({ lanes: 0 });
  const rig = new Rig();
  const deliver = () => {
    rig.add(delivery('WHK-1'));
    for (const turn of rig.inFlight) rig.lanes.limit(turn, 1);
    const started = rig.inFlight.length;
    rig.end('delivered');
    rig.claimed(rig.lanes.roomToClaim(1, 1));
    return started;
  };
  expect([deliver(), deliver(), deliver()]).toEqual([1, 0, 0]);
  rig.wait();
  expect(rig.inFlight).toHaveLength(1);
});

test('a receiver that takes 300 ms gets as many requests in flight as 300 events/s need', () => {
  const rig = new Rig();
  rig.prove(8, 'WHK-1');
  for (let round = 0; round < 60; round += 1) {
    rig.add(...many(90, 'WHK-1'));
    rig.end('delivered', 300);
  }
  rig.add(...many(200, 'WHK-1'));
  expect(rig.count('WHK-1')).toBeGreaterThan(90);
});

test('a webhook gets no more requests in flight than this node may have, and uses what it may have later', () => {
  const rig = new Rig();
  rig.prove(8, 'WHK-1');
  rig.inFlightMax = 42.7;
  rig.add(...many(200, 'WHK-1'));
  expect(rig.count('WHK-1')).toBe(42);
  rig.inFlightMax = 50;
  rig.end('delivered');
  expect(rig.count('WHK-1')).toBe(50);
});

test('a webhook with a rate limit is sent that many requests per second, from the first one on', () => {
  const rig = new Rig();
  rig.lanes.add(many(40, 'WHK-limited'));
  const first = rig.lanes.next()!;
  rig.lanes.hold(first.lane, 'read');
  expect(rig.lanes.next()).toBeUndefined();
  rig.lanes.limit(first, 10);
  rig.lanes.release(first.lane, 'read');
  rig.inFlight.push(first);
  const startedMs = rig.nowMs;
  let started = 1;
  rig.pump();
  while (started < 20) {
    rig.end('delivered', 1);
    expect(rig.inFlight).toEqual([]);
    expect(rig.timers).toHaveLength(1);
    rig.wait();
    started += rig.inFlight.length;
    expect(rig.nowMs - startedMs).toBeCloseTo((started - 1) * 100, 5);
  }
});

test('a webhook with a rate limit that was idle gets no more in its next second', () => {
  const rig = new Rig();
  rig.add(delivery('WHK-limited'));
  rig.lanes.limit(rig.inFlight[0]!, 5);
  rig.end('delivered');
  rig.nowMs += 60_000;
  const startedMs = rig.nowMs;
  rig.add(...many(20, 'WHK-limited'));
  let started = 0;
  for (; rig.nowMs - startedMs < 1_000; rig.wait(rig.nowMs + 1)) {
    started += rig.inFlight.length;
    rig.end('delivered', 0);
  }
  expect(started).toBe(5);
});

test('a webhook with a rate limit holds up no other one, and keeps little in memory', () => {
  const rig = new Rig();
  rig.prove(4, 'WHK-limited', 'WHK-free');
  rig.add(delivery('WHK-limited'));
  rig.lanes.limit(rig.inFlight[0]!, 2);
  rig.end('delivered');
  rig.add(...many(100, 'WHK-limited'), ...many(10, 'WHK-free'));
  expect([rig.count('WHK-limited'), rig.count('WHK-free')]).toEqual([0, 10]);
  expect(rig.toClaim('WHK-limited')).toBe(0);
});

test('a webhook with an old backlog starts gently when it begins to respond, and gets all of its window after a minute', () => {
  const rig = new Rig();
  rig.inFlightMax = 44;
  const old = { delivery_created_at: new Date(-1) };
  rig.add(...many(2_000, 'WHK-1', old), ...many(100, 'WHK-2'));
  expect([rig.count('WHK-1'), rig.count('WHK-2')]).toEqual([limits.gentleFrom, limits.windowAtStart]);
  const most: number[] = [];
  for (const seconds of [0, 15, 30, 60]) {
    rig.nowMs = 1_000 + seconds * 1_000;
    for (let round = 0; round < 4; round += 1) rig.end('delivered');
    most.push(rig.count('WHK-1'));
  }
  expect(most).toEqual([4, 14, 24, 44]);
});

test('retries do not start gently, however old they are', () => {
  const rig = new Rig();
  rig.add(...many(100, 'WHK-1', { delivery_created_at: new Date(-1), attempts: 1 }));
  expect(rig.count('WHK-1')).toBe(limits.windowAtStart);
});
