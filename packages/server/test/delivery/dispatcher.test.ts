import { expect, onTestFinished, test, vi } from 'vitest';
import { Dispatcher } from '../../src/delivery/dispatcher.js';
import type { LeasedDelivery } from '../../src/storage/leased-delivery.js';

let number = 0;

function delivery(webhook: string, more: Partial<LeasedDelivery> = {}): LeasedDelivery {
  number += 1;
  const at = new Date(0);
  return {
    ...{ organization_id: 'ORG-acme', webhook_id: webhook, delivery_created_at: at, attempts: 0 },
    ...{ delivery_id: `WDLV-${number}`, event_id: `EVT-${number}`, type: 'invoice.paid' },
    ...{ event_created_at: at, workspace_id: null, payload: '{}' },
    ...more,
  };
}

const many = (count: number, webhook: string, more: Partial<LeasedDelivery> = {}) =>
  Array.from({ length: count }, () => delivery(webhook, more));

type End = 'delivered' | 'failed' | 'not attempted';

/** A dispatcher whose attempts end when the test says so. */
function open() {
  const underWay: { delivery: LeasedDelivery; end: (result: End) => void }[] = [];
  let mayStart = true;
  let asked = 0;
  const dispatcher = new Dispatcher({
    run: (delivery) => new Promise((end) => underWay.push({ delivery, end })),
    mayStart: () => mayStart,
    onRoom: () => {
      asked += 1;
    },
    onSurplus: () => undefined,
  });
  const count = (webhook: string) =>
    underWay.filter(({ delivery }) => delivery.webhook_id === webhook).length;
  /** Ends what is under way, and lets what follows from that happen. */
  const endAll = async (result: End, isMeant: (webhook: string) => boolean = () => true) => {
    const ended = underWay.filter(({ delivery }) => isMeant(delivery.webhook_id));
    for (const one of ended) {
      underWay.splice(underWay.indexOf(one), 1);
      one.end(result);
    }
    await new Promise((next) => setImmediate(next));
  };
  return {
    ...{ dispatcher, underWay, count, endAll },
    /** How often more was asked for since the last time. */
    asked: () => {
      const since = asked;
      asked = 0;
      return since;
    },
    stop: () => {
      mayStart = false;
    },
    go: () => {
      mayStart = true;
      dispatcher.pump();
    },
  };
}

/** Makes a webhook one that answers. */
async function proven(rig: ReturnType<typeof open>, ...webhooks: string[]): Promise<void> {
  for (const webhook of webhooks) rig.dispatcher.add([delivery(webhook)]);
  await rig.endAll('delivered');
}

test('nothing is started while it may not be, and everything once it may', async () => {
  const rig = open();
  rig.stop();
  rig.dispatcher.add(many(5, 'WHK-1'));
  expect([rig.underWay.length, rig.dispatcher.queued]).toEqual([0, 5]);
  rig.go();
  expect([rig.underWay.length, rig.dispatcher.queued]).toEqual([5, 0]);
});

test('however many webhooks have more than they can send, there is room in memory for one more', async () => {
  const rig = open();
  const greedy = Array.from({ length: 40 }, (_, index) => `WHK-greedy-${index}`);
  await proven(rig, ...greedy, 'WHK-healthy');
  rig.stop();
  for (let round = 0; round < 200; round += 1) {
    for (const webhook of greedy) {
      const placement = rig.dispatcher.placement(1);
      const isLeft = placement.saturated.includes(webhook) || placement.room! < 100;
      if (isLeft) rig.dispatcher.left([{ webhook_id: webhook, bundled: true }]);
      else rig.dispatcher.add(many(100, webhook));
    }
  }
  const { node, saturated, room } = rig.dispatcher.placement(1);
  expect([node, saturated]).toEqual([1, greedy]);
  expect(room).toBeGreaterThan(50);
  // What is left of it is not for those that have something here, however little.
  rig.dispatcher.takeQueued();
  rig.dispatcher.add(greedy.flatMap((webhook) => many(600, webhook)));
  expect(rig.dispatcher.standing()).toMatchObject({ busy: greedy, answering: ['WHK-healthy'] });
});

test('a webhook whose payloads fill half of what is free has enough', async () => {
  const rig = open();
  await proven(rig, 'WHK-1', 'WHK-2', 'WHK-3', 'WHK-4');
  rig.stop();
  const payload = 'x'.repeat(1024 * 1024);
  for (const webhook of ['WHK-1', 'WHK-2', 'WHK-3', 'WHK-4']) {
    for (let turn = 0; turn < 100; turn += 1) {
      if (!rig.dispatcher.placement(1).saturated.includes(webhook))
        rig.dispatcher.add([delivery(webhook, { payload })]);
    }
  }
  const { node, saturated } = rig.dispatcher.placement(1);
  expect([node, saturated]).toEqual([1, ['WHK-1', 'WHK-2', 'WHK-3', 'WHK-4']]);
  // Two bytes for a character: 16 MB are 8 of them, and all four together stay below 64.
  expect(rig.dispatcher.queued).toBeLessThan(31);
});

test('webhooks that take long to answer leave half of the attempts under way to others', async () => {
  const rig = open();
  const slow = Array.from({ length: 40 }, (_, index) => `WHK-slow-${index}`);
  await proven(rig, ...slow, 'WHK-healthy');
  let nowMs = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  for (let round = 0; round < 12; round += 1) {
    for (const webhook of slow) rig.dispatcher.add(many(64, webhook));
    nowMs += 5_000;
    await rig.endAll('delivered');
  }
  clock.mockRestore();
  for (const webhook of slow) rig.dispatcher.add(many(100, webhook));
  expect(rig.underWay.length).toBe(512);
  rig.dispatcher.add(many(8, 'WHK-healthy'));
  expect(rig.count('WHK-healthy')).toBe(8);
});

test('webhooks that answered and all hang at once keep others waiting for no longer than it takes to see that', async () => {
  const rig = open();
  let nowMs = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => void vi.restoreAllMocks());
  const hanging = Array.from({ length: 40 }, (_, index) => `WHK-hanging-${index}`);
  await proven(rig, ...hanging, 'WHK-healthy', 'WHK-other');
  for (let round = 0; round < 12; round += 1) {
    for (const webhook of hanging) rig.dispatcher.add(many(64, webhook));
    await rig.endAll('delivered');
  }
  for (const webhook of hanging) rig.dispatcher.add(many(100, webhook));
  expect(rig.underWay.length).toBe(1_024);
  rig.dispatcher.add([...many(100, 'WHK-healthy'), ...many(3, 'WHK-other')]);
  expect([rig.count('WHK-healthy'), rig.count('WHK-other')]).toEqual([0, 0]);
  nowMs += 1_100;
  rig.dispatcher.pump();
  expect([rig.count('WHK-healthy'), rig.count('WHK-other')]).toEqual([8, 3]);
  expect(rig.underWay.length).toBeLessThanOrEqual(1_536);
  const isHealthy = (webhook: string) => !webhook.startsWith('WHK-hanging');
  for (let round = 0; round < 13; round += 1) await rig.endAll('delivered', isHealthy);
  expect([rig.count('WHK-healthy'), rig.dispatcher.inFlight]).toEqual([0, rig.underWay.length]);
});

test('a webhook with retries to make is looked at for them, however many new ones it has here', async () => {
  const rig = open();
  await proven(rig, 'WHK-1');
  rig.stop();
  rig.dispatcher.add(many(5_000, 'WHK-1'));
  expect(rig.dispatcher.standing()).toEqual({ busy: ['WHK-1'], busyWithDue: [], answering: [] });
  rig.dispatcher.add(many(100, 'WHK-1', { attempts: 1 }), true);
  expect(rig.dispatcher.standing().busyWithDue).toEqual(['WHK-1']);
  rig.go();
  expect(rig.underWay.filter(({ delivery }) => delivery.attempts === 1).length).toBeGreaterThanOrEqual(4);
});

test('more is asked for until a claim has looked at the webhook and left nothing of it', async () => {
  const rig = open();
  await proven(rig, 'WHK-1');
  const one = async () => {
    rig.dispatcher.add([delivery('WHK-1')]);
    await rig.endAll('delivered');
    return rig.asked() > 0;
  };
  expect(await one()).toBe(false);
  const none = new Set<string>();
  const nothing = { more: none, all: none, busy: none, complete: true };
  const unlooked = [
    { ...nothing, complete: false },
    { ...nothing, busy: new Set(['WHK-1']) },
  ];
  for (const kind of ['due', 'bundled'] as const) {
    const left = { due: nothing, bundled: nothing, [kind]: { ...nothing, more: new Set(['WHK-1']) } };
    rig.dispatcher.expect({ ...left, atMs: performance.now() });
    expect(await one()).toBe(true);
    for (const looked of unlooked) {
      rig.dispatcher.expect({ ...left, [kind]: looked, atMs: performance.now() + 1 });
      expect(await one()).toBe(true);
    }
    rig.dispatcher.expect({ due: nothing, bundled: nothing, atMs: performance.now() + 1 });
    expect(await one()).toBe(false);
    rig.dispatcher.expect({ ...left, atMs: performance.now() });
    expect(await one()).toBe(true);
    const broughtAll = { ...nothing, all: new Set(['WHK-1']), complete: false };
    rig.dispatcher.expect({ ...left, [kind]: broughtAll, atMs: performance.now() + 1 });
    expect(await one()).toBe(false);
  }
});

test('new ones of a webhook are left in the database only as long as others of it are there', async () => {
  const rig = open();
  await proven(rig, 'WHK-1', 'WHK-2');
  const left = () => rig.dispatcher.placement(1).saturated;
  expect(left()).toEqual([]);
  rig.dispatcher.left([
    { webhook_id: 'WHK-1', bundled: false },
    { webhook_id: 'WHK-unknown', bundled: true },
  ]);
  expect(left()).toEqual(['WHK-1']);
  const none = new Set<string>();
  const nothing = { more: none, all: none, busy: none, complete: true };
  rig.dispatcher.expect({ due: nothing, bundled: nothing, atMs: performance.now() + 1 });
  expect(left()).toEqual([]);
});

test('where memory is full, or there is no lease, nothing new is taken', async () => {
  const rig = open();
  await proven(rig, 'WHK-1');
  expect(rig.dispatcher.placement(undefined).node).toBe(null);
  rig.stop();
  rig.dispatcher.add(many(30_000, 'WHK-1'));
  expect(rig.dispatcher.placement(1)).toMatchObject({ node: 1, room: 0 });
  rig.dispatcher.takeQueued();
  rig.dispatcher.add(many(64, 'WHK-1', { payload: 'x'.repeat(1024 * 1024) }));
  expect(rig.dispatcher.placement(1)).toMatchObject({ node: 1, room: 0 });
});

test('a webhook that has little here is looked at for bundles, also where nobody told of any', async () => {
  const rig = open();
  await proven(rig, 'WHK-1');
  rig.stop();
  rig.dispatcher.add(many(300, 'WHK-1'));
  expect(rig.dispatcher.standing()).toEqual({ busy: [], busyWithDue: [], answering: ['WHK-1'] });
  rig.dispatcher.add(many(2_000, 'WHK-1'));
  expect(rig.dispatcher.standing()).toEqual({ busy: ['WHK-1'], busyWithDue: [], answering: [] });
});

test('a webhook that large payloads fill is not looked at for more', async () => {
  const rig = open();
  await proven(rig, 'WHK-1');
  rig.stop();
  rig.dispatcher.add(many(16, 'WHK-1', { payload: 'x'.repeat(1024 * 1024) }));
  expect(rig.dispatcher.standing()).toEqual({ busy: ['WHK-1'], busyWithDue: ['WHK-1'], answering: [] });
});

test('what is announced is claimed where its webhook has room for it here; where not, it is asked for once there is', async () => {
  const rig = open();
  await proven(rig, 'WHK-1');
  const announced = (webhook: string, bundled: boolean) =>
    rig.dispatcher.announced([{ webhook_id: webhook, bundled }]);
  const none = new Set<string>();
  const nothing = { more: none, all: none, busy: none, complete: true };
  const forget = () => {
    rig.dispatcher.expect({ due: nothing, bundled: nothing, atMs: performance.now() + 1 });
    rig.asked();
  };
  expect(announced('WHK-unknown', false)).toBe(true);
  expect([announced('WHK-1', false), announced('WHK-1', true)]).toEqual([true, true]);
  for (const [bundled, queued, due] of [
    [true, 2_001, 0],
    [false, 0, 26],
  ] as const) {
    rig.stop();
    rig.dispatcher.takeQueued();
    rig.dispatcher.add(many(queued, 'WHK-1'));
    rig.dispatcher.add(many(due, 'WHK-1'), true);
    forget();
    expect(announced('WHK-1', !bundled)).toBe(true);
    forget();
    expect(announced('WHK-1', bundled)).toBe(false);
    const both = ['WHK-1', 'WHK-unknown'].map((id) => ({ webhook_id: id, bundled }));
    expect(rig.dispatcher.announced(both)).toBe(true);
    rig.go();
    await rig.endAll('delivered');
    expect(rig.asked()).toBeGreaterThan(0);
    await rig.endAll('delivered');
  }
});

test('a webhook that does not answer gets no rows for its bundles while it has enough rows here', async () => {
  const rig = open();
  rig.stop();
  rig.dispatcher.add(many(30, 'WHK-new'), true);
  expect(rig.dispatcher.standing()).toMatchObject({ busy: ['WHK-new'], busyWithDue: ['WHK-new'] });
  expect(rig.dispatcher.announced([{ webhook_id: 'WHK-new', bundled: true }])).toBe(false);
});

test('webhooks that rest after failures keep nobody else waiting, and no stop', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const rig = open();
  const failing = Array.from({ length: 200 }, (_, index) => `WHK-failing-${index}`);
  for (const webhook of failing) rig.dispatcher.add(many(20, webhook));
  for (let round = 0; round < 4; round += 1) {
    await rig.endAll('failed', (webhook) => webhook.startsWith('WHK-failing'));
  }
  expect(rig.underWay.length).toBe(0);
  rig.dispatcher.add(many(8, 'WHK-new'));
  expect(rig.count('WHK-new')).toBe(8);
  const closed = rig.dispatcher.close();
  await rig.endAll('delivered');
  await closed;
});

test('a webhook that fails rests the longer the more often it has failed in a row', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let attempts = 0;
  let answers: End[] = [];
  const dispatcher = new Dispatcher({
    run: async () => {
      attempts += 1;
      return answers.pop() ?? 'failed';
    },
    mayStart: () => true,
    onRoom: () => dispatcher.add(many(100, 'WHK-dead'), true),
    onSurplus: () => undefined,
  });
  dispatcher.add(many(100, 'WHK-dead'), true);
  dispatcher.left([{ webhook_id: 'WHK-dead', bundled: false }]);
  const inASecond = async () => {
    const before = attempts;
    await vi.advanceTimersByTimeAsync(1_000);
    return attempts - before;
  };
  const first = await inASecond();
  expect(first).toBeGreaterThan(100);
  expect(first).toBeLessThan(175);
  while (attempts < 2_000) await inASecond();
  expect(await inASecond()).toBe(40);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await inASecond()).toBe(40);
  answers = ['delivered'];
  await inASecond();
  expect(await inASecond()).toBeGreaterThan(100);
});
