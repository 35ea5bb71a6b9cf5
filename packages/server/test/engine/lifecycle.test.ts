import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type HealthReport, joinReports, reportWith } from '../../src/engine/health.js';
import { attemptErrors, isDelivered, type Outcome } from '../../src/outcomes/outcome.js';
import { judge, parseRetryAfterMs, type Verdict } from '../../src/outcomes/retry-schedule.js';
import { mustBeDisabled } from '../../src/webhooks/webhook.js';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const usualScheduleMs = [5_000, 300_000, 1_800_000, 7_200_000];

const response = fc.record({
  kind: fc.constant('response' as const),
  httpStatus: fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 200, max: 599 }) },
    { weight: 2, arbitrary: fc.constantFrom(199, 200, 299, 300, 307, 404, 410, 429, 500, 503) },
  ),
  durationMs: fc.nat(10_000),
  response: fc.constant(null),
  headers: fc.constant({}),
  retryAfterMs: fc.option(fc.nat(10 * hourMs), { nil: undefined }),
});
const noResponse = fc.record({
  kind: fc.constant('no_response' as const),
  error: fc.constantFrom(...attemptErrors),
  durationMs: fc.nat(10_000),
});
const outcomes: fc.Arbitrary<Outcome> = fc.oneof(response, noResponse);
/** Failures that another attempt follows: not those that end a delivery at once. */
const failures = outcomes.filter(
  (outcome) => !isDelivered(outcome) && ![410, 413].includes(statusOf(outcome) ?? 0),
);
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const schedules = fc.oneof(
  fc.constant(usualScheduleMs),
  fc.array(fc.nat(20 * hourMs), { minLength: 1, maxLength: 19 }),
);
/** More outcomes than a delivery may ever use. */
const lives = fc.record({
  schedule: schedules,
  steps: fc.array(fc.tuple(fc.oneof(outcomes, failures), randoms), { minLength: 22, maxLength: 22 }),
});
/** A schedule, and the number of an attempt that it has a wait after. */
const waits = schedules.chain((schedule) =>
  fc.tuple(fc.constant(schedule), fc.integer({ min: 1, max: schedule.length })),
);

const statusOf = (outcome: Outcome) => (outcome.kind === 'response' ? outcome.httpStatus : undefined);

interface Step {
  outcome: Outcome;
  verdict: Verdict;
}

/** Attempts a delivery for as long as `judge` asks for another attempt. */
function live({ schedule, steps }: { schedule: number[]; steps: [Outcome, number][] }): Step[] {
  const lived: Step[] = [];
  for (const [index, [outcome, random]] of steps.entries()) {
    const verdict = judge(outcome, index + 1, schedule, random);
    lived.push({ outcome, verdict });
    if (verdict.kind !== 'retry') break;
  }
  return lived;
}

describe('a delivery', () => {
  test('has exactly one attempt more than its schedule has waits', () => {
    fc.assert(fc.property(lives, (life) => live(life).length <= life.schedule.length + 1));
    fc.assert(
      fc.property(failures, schedules, randoms, (outcome, schedule, random) => {
        const steps = Array.from({ length: 22 }, (): [Outcome, number] => [outcome, random]);
        expect(live({ schedule, steps })).toHaveLength(schedule.length + 1);
      }),
    );
    const [failure] = fc.sample(failures, { numRuns: 1, seed: 1 });
    const steps = Array.from({ length: 8 }, (): [Outcome, number] => [failure!, 0]);
    expect(live({ schedule: usualScheduleMs, steps })).toHaveLength(5);
  });

  test('ends with exactly one terminal verdict, its last', () => {
    fc.assert(
      fc.property(lives, (life) => {
        const terminal = live(life).map(({ verdict }) => verdict.kind !== 'retry');
        return terminal.indexOf(true) === terminal.length - 1;
      }),
    );
  });

  test('is not attempted again after a 2xx, and nothing else counts as delivered', () => {
    fc.assert(
      fc.property(lives, (life) =>
        live(life).every(({ outcome, verdict }) => {
          const status = statusOf(outcome) ?? 0;
          return (verdict.kind === 'delivered') === (status >= 200 && status <= 299);
        }),
      ),
    );
  });

  test('is not attempted again after a 410, which does not count as given up', () => {
    fc.assert(
      fc.property(lives, (life) =>
        live(life).every(({ outcome, verdict }) => (verdict.kind === 'gone') === (statusOf(outcome) === 410)),
      ),
    );
  });

  test('is given up when its last attempt fails, and not before, unless the receiver finds it too large (413)', () => {
    fc.assert(
      fc.property(lives, (life) =>
        live(life).every(({ outcome, verdict }, index) =>
          verdict.kind === 'given_up' ? index === life.schedule.length || statusOf(outcome) === 413 : true,
        ),
      ),
    );
    fc.assert(
      fc.property(failures, waits, randoms, (outcome, [schedule, attempt], random) => {
        expect(judge(outcome, attempt, schedule, random).kind).toBe('retry');
        expect(judge(outcome, schedule.length + 1, schedule, random)).toEqual({ kind: 'given_up' });
      }),
    );
  });

  test('resumes its schedule after a failed extra attempt, whatever the receiver asks for, and is never given up', () => {
    fc.assert(
      fc.property(failures, schedules, randoms, (outcome, schedule, random) => {
        expect(judge(outcome, null, schedule, random)).toEqual({ kind: 'retry', waitMs: undefined });
      }),
    );
  });

  const askingStatuses = [429, 503];

  test('waits as its schedule says and up to a fifth longer, whatever Retry-After says on a status other than 429 and 503', () => {
    const unaskingFailures = failures.filter((outcome) => !askingStatuses.includes(statusOf(outcome) ?? 0));
    fc.assert(
      fc.property(unaskingFailures, waits, randoms, (outcome, [schedule, attempt], random) => {
        const verdict = judge(outcome, attempt, schedule, random);
        const baseMs = schedule[attempt - 1]!;
        const waitMs = verdict.kind === 'retry' ? verdict.waitMs : Number.NaN;
        expect(waitMs).toBeGreaterThanOrEqual(baseMs);
        expect(waitMs).toBeLessThanOrEqual(Math.ceil(baseMs * 1.2));
      }),
    );
  });

  test('spreads its waits over the whole fifth', () => {
    const [outcome] = fc.sample(failures, { numRuns: 1, seed: 1 });
    expect(judge(outcome!, 1, usualScheduleMs, 0)).toEqual({ kind: 'retry', waitMs: 5_000 });
    expect(judge(outcome!, 1, usualScheduleMs, 0.5)).toEqual({ kind: 'retry', waitMs: 5_500 });
    expect(judge(outcome!, 4, usualScheduleMs, 0.999_999_999)).toEqual({ kind: 'retry', waitMs: 8_640_000 });
  });

  test('waits as long as the Retry-After of a 429 or 503 says, up to 4 h or its longest wait, and never shorter than scheduled', () => {
    const asked = fc.oneof(fc.nat(30 * hourMs), fc.constant(Number.MAX_SAFE_INTEGER));
    const asking = fc.tuple(fc.constantFrom(...askingStatuses), asked);
    fc.assert(
      fc.property(asking, waits, randoms, ([httpStatus, retryAfterMs], [schedule, attempt], random) => {
        const outcome = { kind: 'response' as const, httpStatus, durationMs: 1, response: null, headers: {} };
        const plain = judge({ ...outcome, retryAfterMs: undefined }, attempt, schedule, random);
        const asked = judge({ ...outcome, retryAfterMs }, attempt, schedule, random);
        if (plain.kind !== 'retry' || asked.kind !== 'retry') throw new Error('no wait');
        const longestMs = Math.max(4 * hourMs, ...schedule);
        expect(asked.waitMs).toBe(Math.max(plain.waitMs!, Math.min(retryAfterMs, longestMs)));
      }),
    );
  });
});

describe('Retry-After', () => {
  const nowMs = Date.parse('2026-08-12T12:00:00.000Z');

  test('can be a number of seconds', () => {
    fc.assert(
      fc.property(fc.nat(9_999_999), (seconds) => {
        expect(parseRetryAfterMs(String(seconds), nowMs)).toBe(seconds * 1_000);
      }),
    );
    expect(parseRetryAfterMs(' 120 ', nowMs)).toBe(120_000);
  });

  test('can have any number of digits, and the wait is still finite', () => {
    for (const digits of [11, 16, 400, 16_000]) {
      const retryAfterMs = parseRetryAfterMs('9'.repeat(digits), nowMs);
      expect(retryAfterMs).toBeGreaterThan(1_000 * hourMs);
      const outcome = {
        kind: 'response',
        httpStatus: 503,
        durationMs: 1,
        response: null,
        headers: {},
        retryAfterMs,
      } as const;
      expect(judge(outcome, 1, usualScheduleMs, 0)).toEqual({ kind: 'retry', waitMs: 4 * hourMs });
      expect(judge(outcome, 1, [1_000, 12 * hourMs], 0)).toEqual({ kind: 'retry', waitMs: 12 * hourMs });
    }
  });

  test('can be an HTTP date, and a past date means no wait', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1_000_000, max: 1_000_000 }), (seconds) => {
        const header = new Date(nowMs + seconds * 1_000).toUTCString();
        expect(parseRetryAfterMs(header, nowMs)).toBe(Math.max(0, seconds * 1_000));
      }),
    );
  });

  test('is ignored if it is neither', () => {
    const others = [undefined, '', 'soon', '-5', '1.5', '1e3', '0x10', '١٢', 'Wed, the day after'];
    for (const header of others) expect(parseRetryAfterMs(header, nowMs), header).toBeUndefined();
    fc.assert(
      fc.property(fc.string(), (header) => {
        const ms = parseRetryAfterMs(header, nowMs);
        return ms === undefined || ms >= 0;
      }),
    );
  });
});

describe('the health of a webhook', () => {
  const success: Outcome = {
    kind: 'response',
    httpStatus: 204,
    durationMs: 1,
    response: null,
    headers: {},
    retryAfterMs: undefined,
  };
  const failure: Outcome = { kind: 'no_response', error: 'reset', durationMs: 1 };
  const at = (ms: number) => new Date(ms);
  const webhook = { organization_id: 'ORG-a', webhook_id: 'WHK-a' };
  /** Attempts in the order in which they ended, by the time at which they began. */
  const attempts = fc.uniqueArray(fc.record({ startedMs: fc.nat(1_000), succeeds: fc.boolean() }), {
    minLength: 1,
    selector: ({ startedMs }) => startedMs,
  });
  const reportOf = (all: readonly { startedMs: number; succeeds: boolean }[]) =>
    all.reduce<HealthReport | undefined>(
      (report, { startedMs, succeeds }) =>
        reportWith(report, webhook, succeeds ? success : failure, {
          ...{ at: at(startedMs), monotonicMs: startedMs },
        }),
      undefined,
    );

  test('is that of the latest attempt, whichever ended last, with the failures since the last success', () => {
    fc.assert(
      fc.property(attempts, (all) => {
        const latest = all.reduce((one, other) => (other.startedMs > one.startedMs ? other : one));
        const ended = all.map(({ succeeds }) => succeeds);
        const since = all.slice(ended.lastIndexOf(true) + 1);
        const report = reportOf(all);
        expect(report).toMatchObject({
          last_at: at(latest.startedMs),
          last_status: latest.succeeds ? 'success' : 'failed',
          succeeded: ended.includes(true),
        });
        expect(report?.first_failure_ms === null).toBe(since.length === 0);
        expect(report?.last_failure_ms === null).toBe(since.length === 0);
      }),
    );
  });

  test('is the same, however attempts are spread over reports', () => {
    fc.assert(
      fc.property(attempts, fc.nat(), (all, cut) => {
        const [earlier, later] = [all.slice(0, cut % all.length), all.slice(cut % all.length)];
        const [first, second] = [reportOf(earlier), reportOf(later)];
        expect(first ? joinReports(first, second!) : second).toEqual(reportOf(all));
      }),
    );
  });

  test('leads to disabling after 5 days of only failures, if they are at least 12 h apart', () => {
    const instants = fc.record({
      sinceMs: fc.nat(1e12),
      spanMs: fc.nat(7 * dayMs),
      ageMs: fc.nat(10 * dayMs),
    });
    fc.assert(
      fc.property(instants, ({ sinceMs, spanMs, ageMs }) => {
        const givenUp = mustBeDisabled(sinceMs, sinceMs + spanMs, sinceMs + ageMs);
        expect(givenUp).toBe(ageMs >= 5 * dayMs && spanMs >= 12 * hourMs);
      }),
    );
    expect(mustBeDisabled(0, 12 * hourMs, 5 * dayMs)).toBe(true);
    expect(mustBeDisabled(0, 12 * hourMs, 5 * dayMs - 1)).toBe(false);
    expect(mustBeDisabled(0, 12 * hourMs - 1, 5 * dayMs)).toBe(false);
  });
});
