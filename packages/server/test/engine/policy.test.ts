import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/engine/limits.js';
import {
  allow,
  type Condition,
  conditionOf,
  conditions,
  type Ended,
  ended,
  fitsInFlight,
  gently,
  inFlightOf,
  isResponsive,
  type LaneLoad,
  type Load,
  nothingObserved,
  type Observed,
  started,
} from '../../src/engine/policy.js';

const idle: Load = {
  ...{ inFlight: 0, unhealthy: 0, stalled: 0, bytesInFlight: 0, unhealthyBytesInFlight: 0 },
  ...{ queued: 0, queuedBytes: 0, unresponsiveBytes: 0, failing: 0 },
};

type Step = { kind: 'start' } | ({ waiting: boolean } & Ended);

const stepOf: fc.Arbitrary<Step> = fc.oneof(
  fc.constant<Step>({ kind: 'start' }),
  fc.record({
    kind: fc.constant('delivered' as const),
    tookMs: fc.integer({ min: 0, max: 12_000 }),
    waiting: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('failed' as const),
    tookMs: fc.integer({ min: 0, max: 12_000 }),
    waiting: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('not attempted' as const), waiting: fc.boolean() }),
);

/** Whatever can happen to a webhook: attempts start and end, and time passes. */
const history = fc.array(fc.tuple(stepOf, fc.integer({ min: 0, max: 3_000 })), { maxLength: 300 });

function after(steps: readonly (readonly [Step, number])[]): { observed: Observed; nowMs: number } {
  let observed = nothingObserved;
  let nowMs = 1_000_000;
  for (const [step, ms] of steps) {
    nowMs += ms;
    if (step.kind === 'start') observed = started(observed, nowMs);
    else if (observed.inFlight > 0) observed = ended(observed, step, step.waiting, nowMs);
  }
  return { observed, nowMs };
}

const anyLoad: fc.Arbitrary<Load> = fc.record({
  inFlight: fc.integer({ min: 0, max: 1_600 }),
  unhealthy: fc.integer({ min: 0, max: 600 }),
  stalled: fc.integer({ min: 0, max: 1_600 }),
  bytesInFlight: fc.integer({ min: 0, max: 128 * 1024 * 1024 }),
  unhealthyBytesInFlight: fc.integer({ min: 0, max: 64 * 1024 * 1024 }),
  queued: fc.integer({ min: 0, max: 60_000 }),
  queuedBytes: fc.integer({ min: 0, max: 128 * 1024 * 1024 }),
  unresponsiveBytes: fc.integer({ min: 0, max: 64 * 1024 * 1024 }),
  failing: fc.integer({ min: 0, max: 2_000 }),
});
const anyLane: fc.Arbitrary<LaneLoad> = fc.record({
  queued: fc.integer({ min: 0, max: 20_000 }),
  bytes: fc.integer({ min: 0, max: 64 * 1024 * 1024 }),
  usualBytes: fc.integer({ min: 0, max: 16 * 1024 * 1024 }),
  occupied: fc.integer({ min: 0, max: 512 }),
});
const nothing: LaneLoad = { queued: 0, bytes: 0, usualBytes: 0, occupied: 0 };

const repeat = (count: number, step: Step) => Array.from({ length: count }, () => [step, 1] as const);
const delivered = (tookMs: number, waiting = true): Step => ({ kind: 'delivered', tookMs, waiting });
const failed: Step = { kind: 'failed', tookMs: 5, waiting: true };

/** A webhook whose attempts run one by one and end like this. */
function tracked(...results: readonly (readonly [number, Step])[]): Observed {
  return after(
    results.flatMap(([count, result]) =>
      repeat(count, result).flatMap((one) => [[{ kind: 'start' }, 0] as const, one]),
    ),
  ).observed;
}

describe('a webhook', () => {
  test('is in exactly one condition at any time', () => {
    fc.assert(
      fc.property(history, (steps) => {
        const { observed, nowMs } = after(steps);
        expect(conditions).toContain(conditionOf(observed, nowMs));
      }),
    );
  });

  test('is new until its first success, and healthy after it', () => {
    expect(conditionOf(nothingObserved, 0)).toBe('new');
    expect(conditionOf(tracked([1, delivered(10)]), 0)).toBe('healthy');
  });

  test('is failing after exactly five failures in a row, until the next success', () => {
    expect(conditionOf(tracked([9, delivered(5)], [4, failed]), 0)).toBe('healthy');
    expect(conditionOf(tracked([9, delivered(5)], [5, failed]), 0)).toBe('failing');
    expect(conditionOf(tracked([9, delivered(5)], [500, failed], [1, delivered(5)]), 0)).toBe('healthy');
  });

  test('is slow while its responses take more than a second, and healthy again afterwards', () => {
    expect(conditionOf(tracked([30, delivered(3_000)]), 0)).toBe('slow');
    expect(conditionOf(tracked([30, delivered(3_000)], [30, delivered(20)]), 0)).toBe('healthy');
  });

  test('is stalled when no request has ended for a second, and not while requests end', () => {
    const observed = started(started(tracked([9, delivered(5)]), 5_000), 5_500);
    expect(conditionOf(observed, 6_000)).toBe('healthy');
    expect(conditionOf(observed, 6_001)).toBe('stalled');
    expect(conditionOf(ended(observed, { kind: 'delivered', tookMs: 5 }, true, 6_001), 6_500)).toBe(
      'healthy',
    );
  });

  test('counts requests in flight exactly', () => {
    fc.assert(
      fc.property(history, (steps) => {
        let inFlight = 0;
        for (const [{ kind }] of steps)
          inFlight = kind === 'start' ? inFlight + 1 : Math.max(0, inFlight - 1);
        expect(after(steps).observed.inFlight).toBe(inFlight);
      }),
    );
  });
});

describe('the window', () => {
  test('stays within its limits, whatever happens', () => {
    fc.assert(
      fc.property(history, (steps) => {
        const { window } = after(steps).observed;
        expect(window).toBeGreaterThanOrEqual(limits.windowAtStart);
        expect(window).toBeLessThanOrEqual(limits.windowMax);
      }),
    );
  });

  test('grows to the usual size with successes, and starts again after failures', () => {
    expect(tracked([400, delivered(5, false)]).window).toBe(limits.windowUsual);
    expect(tracked([400, delivered(5, false)], [5, failed]).window).toBe(limits.windowAtStart);
  });

  test('grows further while deliveries wait for a receiver that is slow regardless of load', () => {
    expect(tracked([4_000, delivered(300)]).window).toBe(limits.windowMax);
    expect(tracked([4_000, delivered(300, false)]).window).toBe(limits.windowUsual);
    expect(tracked([4_000, delivered(20)]).window).toBe(limits.windowUsual);
  });

  test('grows in the first rounds of a receiver that takes a second, since its first response counts in full', () => {
    expect(tracked([504, delivered(1_000)]).window).toBe(limits.windowMax);
  });

  test('stays small for a receiver that slows down under load', () => {
    let observed = nothingObserved;
    let widest = 0;
    for (let n = 0; n < 50_000; n += 1) {
      observed = ended(started(observed, 0), { kind: 'delivered', tookMs: 2 * observed.window }, true, 0);
      widest = Math.max(widest, observed.window);
    }
    expect(widest).toBeLessThanOrEqual(limits.windowUsual * 3);
  });
});

describe('the gentle start of an old backlog', () => {
  test('never exceeds the limit, never shrinks while the webhook responds, and ends after a minute', () => {
    const times = fc.tuple(fc.nat(120_000), fc.nat(120_000));
    fc.assert(
      fc.property(history, fc.integer({ min: 1, max: 512 }), times, (steps, max, [soonerMs, laterMs]) => {
        const { observed, nowMs } = after(steps);
        const at = (ms: number) => gently(max, observed, nowMs + ms);
        const [sooner, later] = [at(Math.min(soonerMs, laterMs)), at(Math.max(soonerMs, laterMs))];
        expect(sooner).toBeGreaterThanOrEqual(Math.min(max, limits.gentleFrom));
        expect(later).toBeGreaterThanOrEqual(sooner);
        expect(later).toBeLessThanOrEqual(max);
        if (observed.successes > 0) expect(at(limits.gentleMs)).toBe(max);
        else expect(later).toBe(Math.min(max, limits.gentleFrom));
      }),
    );
  });

  test('begins again after the webhook was failing', () => {
    const observed = tracked([100, delivered(5)], [5, failed], [1, delivered(5)]);
    expect(gently(256, observed, observed.respondsSinceMs)).toBe(limits.gentleFrom);
  });
});

describe('the policy', () => {
  const check = (promise: (observed: Observed, condition: Condition, lane: LaneLoad, load: Load) => void) =>
    fc.assert(
      fc.property(history, anyLane, anyLoad, (steps, lane, load) => {
        const { observed, nowMs } = after(steps);
        promise(observed, conditionOf(observed, nowMs), lane, load);
      }),
    );

  test('never starts more requests than there are slots, apart from those held by stalled webhooks', () => {
    check((observed, condition, _held, load) => {
      const inFlight = inFlightOf(condition, observed.window, load);
      if (load.inFlight >= limits.slots + limits.spareSlots) expect(inFlight).toBe(0);
      if (load.inFlight >= limits.slots && load.stalled === 0) expect(inFlight).toBe(0);
    });
  });

  test('keeps half of the slots for healthy webhooks', () => {
    check((observed, condition, _held, load) => {
      if (condition === 'healthy' || load.unhealthy < limits.unhealthySlots) return;
      expect(inFlightOf(condition, observed.window, load)).toBe(0);
    });
  });

  test('gives any healthy webhook a slot while one is free', () => {
    check((observed, condition, _held, load) => {
      if (condition !== 'healthy' || load.inFlight >= limits.slots) return;
      expect(inFlightOf(condition, observed.window, load)).toBeGreaterThan(0);
    });
  });

  test('takes slots back from a webhook that grew when others need them', () => {
    const wide = tracked([4_000, delivered(300)]);
    const busy = (inFlight: number) => inFlightOf('healthy', wide.window, { ...idle, inFlight });
    expect([busy(0), busy(limits.elasticSlots - 1)]).toEqual([limits.windowMax, limits.windowMax]);
    expect(busy(limits.elasticSlots)).toBe(limits.windowUsual);
  });

  const anySizes = fc.tuple(
    fc.integer({ min: 300, max: 16 * 1024 * 1024 }),
    fc.integer({ min: 0, max: 32 * 1024 * 1024 }),
  );
  const checkSizes = (promise: (condition: Condition, bytes: number, own: number, load: Load) => void) =>
    fc.assert(
      fc.property(fc.constantFrom(...conditions), anySizes, anyLoad, (condition, [bytes, own], load) =>
        promise(condition, bytes, own, load),
      ),
    );

  test('starts nothing when the payloads in flight take all the memory for them, and keeps a part for the healthy', () => {
    checkSizes((condition, bytes, own, load) => {
      const isUsedUp =
        load.bytesInFlight >= limits.inFlightBytes ||
        (condition !== 'healthy' && load.unhealthyBytesInFlight >= limits.unhealthyInFlightBytes);
      if (isUsedUp) expect(fitsInFlight(condition, bytes, own, load)).toBe(false);
    });
  });

  test('lets a webhook with nothing in flight start any payload while little is in flight, and leaves some to others', () => {
    checkSizes((condition, bytes, own, load) => {
      const bytesInFlight = limits.inFlightBytes * limits.firstFraction - 1;
      const unhealthyBytesInFlight = limits.unhealthyInFlightBytes * limits.firstFraction - 1;
      const busy = { bytesInFlight, unhealthyBytesInFlight };
      expect(fitsInFlight(condition, bytes, 0, busy)).toBe(true);
      if (own + bytes > limits.inFlightBytes * limits.laneFraction && own > 0 && own <= load.bytesInFlight)
        expect(fitsInFlight(condition, bytes, own, load)).toBe(false);
    });
  });

  test('keeps nothing more of a webhook that is not responsive than fits, however many there are', () => {
    check((observed, condition, lane, load) => {
      if (isResponsive(observed) || load.unresponsiveBytes <= limits.unresponsiveBytes + lane.bytes) return;
      const { inMemory, kept } = allow(condition, observed, { ...lane, usualBytes: 1 }, load);
      expect([inMemory, kept]).toEqual([0, 0]);
    });
  });

  test('claims no more than fits into memory, and not for every single delivery that leaves', () => {
    check((observed, condition, lane, load) => {
      const { toClaim, inMemory } = allow(condition, observed, lane, load);
      expect(toClaim === 0 || lane.queued + toClaim <= inMemory).toBe(true);
      expect(toClaim === 0 || toClaim >= inMemory * limits.claimRoomMin).toBe(true);
    });
  });

  test('keeps few deliveries in memory for a webhook that does not respond', () => {
    check((observed, condition, lane, load) => {
      const { inMemory } = allow(condition, observed, lane, load);
      if (condition === 'failing') expect(inMemory).toBeLessThanOrEqual(limits.laneQueuedFailing);
      if (condition === 'new')
        expect(inMemory).toBeLessThanOrEqual(Math.max(limits.laneQueuedNew, lane.queued));
    });
  });

  test('leaves room in memory for one more webhook that responds, however many want more than they can send', () => {
    check((observed, condition, _, load) => {
      if (condition !== 'healthy') return;
      expect(allow(condition, observed, nothing, load).toClaim).toBeGreaterThanOrEqual(limits.queuedMin);
    });
  });

  test('lets only failing webhooks rest, longer after more failures, and all together get at most 600 attempts per second', () => {
    check((observed, condition, lane, load) => {
      const { restMs } = allow(condition, observed, lane, load);
      if (condition !== 'failing') return expect(restMs).toBe(0);
      expect(restMs).toBeGreaterThanOrEqual(limits.restMs);
      const perSecond = (Math.max(1, load.failing) * limits.windowFailing * 1_000) / restMs;
      expect(perSecond).toBeLessThanOrEqual(Math.max(640, 1));
    });
    const rest = (failures: number) =>
      allow('failing', tracked([failures, failed]), { ...nothing, queued: 9, bytes: 9 }, idle).restMs;
    expect([rest(5) < rest(500), rest(500) < rest(1_500), rest(1_500)]).toEqual([true, true, 100]);
  });

  test('does not trust a webhook before it has responded, or while it fails', () => {
    fc.assert(
      fc.property(history, (steps) => {
        const { observed, nowMs } = after(steps);
        const condition = conditionOf(observed, nowMs);
        if (condition === 'new' || condition === 'failing') expect(isResponsive(observed)).toBe(false);
        if (condition === 'healthy' || condition === 'slow') expect(isResponsive(observed)).toBe(true);
      }),
    );
  });
});
