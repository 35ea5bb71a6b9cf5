import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Figures, Latencies, type StreamEvent } from '../src/figures.js';
import { behaviors } from '../src/receivers.js';
import { progressLine, summarize, summaryLines } from '../src/summary.js';
import { clock, milliseconds, perSecond, whole } from '../src/text.js';

function shown(id: string, type = 'invoice.paid'): StreamEvent {
  return {
    ...{ id, type, workspace_id: 'WS-berlin', created_at: '2026-11-15T04:17:25.363Z' },
    actor: { type: 'user', id: 'USR-ada' },
    subject: { type: 'invoice', id: 'INV-1' },
  };
}

const two = [
  { name: 'healthy', description: 'responds' },
  { name: 'verifying', description: 'checks' },
];

describe('latencies', () => {
  test('have percentiles within 1% of the exact ones, or half a millisecond', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 600_000 }), { minLength: 1, maxLength: 300 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (times, share) => {
          const latencies = new Latencies();
          for (const ms of times) latencies.add(ms);
          const exact = [...times].sort((a, b) => a - b)[Math.ceil(times.length * share) - 1]!;
          expect(Math.abs(latencies.percentile(share)! - exact)).toBeLessThanOrEqual(exact * 0.01 + 0.5);
        },
      ),
    );
  });

  test('without measurements have no percentiles, and a clock that is ahead causes no negative ones', () => {
    const latencies = new Latencies();
    expect(latencies.percentile(0.5)).toBeNull();
    latencies.add(-40);
    expect(latencies.percentile(0.99)).toBe(0);
  });

  test('of several receivers can be combined', () => {
    const [one, other] = [new Latencies(), new Latencies()];
    for (const ms of [1, 1, 1]) one.add(ms);
    for (const ms of [100, 100, 100, 100]) other.add(ms);
    one.include(other);
    expect(one.count).toBe(7);
    expect(one.percentile(0.4)).toBe(1);
    expect(one.percentile(0.5)).toBeGreaterThan(95);
  });
});

describe('the ledger', () => {
  test('finds missing events and those that others recorded, in whatever order both sides arrive', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer(), { maxLength: 50 }),
        fc.uniqueArray(fc.integer(), { maxLength: 50 }),
        fc.infiniteStream(fc.boolean()),
        (acknowledged, seen, turns) => {
          const figures = new Figures(two);
          const left = { acknowledged: [...acknowledged], seen: [...seen] };
          for (const isAcknowledged of turns) {
            if (left.acknowledged.length + left.seen.length === 0) break;
            const id = (isAcknowledged ? left.acknowledged : left.seen).shift();
            if (id === undefined) continue;
            if (isAcknowledged) figures.eventRecorded(`EVT-${id}`, 0);
            else figures.eventShown(shown(`EVT-${id}`));
          }
          expect(figures.missing).toBe(acknowledged.filter((id) => !seen.includes(id)).length);
          expect(figures.others).toBe(seen.filter((id) => !acknowledged.includes(id)).length);
        },
      ),
    );
  });
});

describe('the rate', () => {
  test('is that of the last ten seconds, or since the start', () => {
    const started = (startedMs: number) => Object.assign(new Figures(two), { startedMs });
    const figures = started(1_000);
    for (let ms = 1_000; ms < 31_000; ms += 50) figures.eventRecorded(`EVT-${ms}`, ms);
    expect(figures.perSecond(31_000)).toBeCloseTo(20, 1);
    for (let ms = 31_000; ms < 41_000; ms += 100) figures.eventRecorded(`EVT-${ms}`, ms);
    expect(figures.perSecond(41_000)).toBeCloseTo(10, 1);
    const young = started(0);
    for (let ms = 0; ms < 2_000; ms += 100) young.eventRecorded(`EVT-${ms}`, ms);
    expect(young.perSecond(2_000)).toBeCloseTo(10, 1);
    expect(started(0).perSecond(0)).toBe(0);
  });
});

describe('figures', () => {
  test('count events by type, and those of the service separately from those of the company', () => {
    const figures = new Figures(two);
    figures.startedMs = 0;
    figures.eventRecorded('EVT-1', 10);
    figures.eventShown(shown('EVT-1'));
    figures.eventShown(shown('EVT-2', 'webhook.delivery_failed'));
    figures.eventShown(shown('EVT-3'));
    expect(Object.fromEntries(figures.byType)).toEqual({ 'invoice.paid': 2, 'webhook.delivery_failed': 1 });
    expect(figures.own).toBe(1);
    expect(figures.missing).toBe(0);
    expect(figures.others).toBe(1);
  });

  test('measure only the first arrival: later ones include the wait for a retry', () => {
    const figures = new Figures(two);
    figures.deliveryArrived('healthy', 1, 4);
    figures.deliveryArrived('healthy', 2, 9_000);
    expect(figures.receiver('healthy').latencies.count).toBe(1);
  });

  test('keep only the latest events', () => {
    const figures = new Figures(two);
    for (let n = 0; n < 1_000; n++) figures.eventShown(shown(`EVT-${n}`));
    expect(figures.latest.at(-1)?.id).toBe('EVT-999');
    expect(figures.latest.length).toBeLessThan(1_000);
  });

  test('lead to a summary that reports missing events', () => {
    const figures = new Figures(two);
    figures.startedMs = 1_000;
    for (const id of ['EVT-1', 'EVT-2']) figures.eventRecorded(id, 1_500);
    figures.eventShown(shown('EVT-1'));
    figures.eventShown(shown('EVT-9', 'webhook.disabled'));
    Object.assign(figures.receiver('healthy'), { delivered: 1, pending: 0, failed: 3 });
    const summary = summarize(figures, {
      endedMs: 3_000,
      wantedPerSecond: 20,
      webhookIdOf: (name) => (name === 'healthy' ? 'WHK-1' : undefined),
      givenUp: new Map([['healthy', 2]]),
    });
    expect(summary).toMatchObject({
      duration_ms: 2_000,
      rate: { wanted: 20, achieved: 1 },
      events: { recorded: 2, in_stream: 1, by_others: 0, own: 1 },
      receivers: [
        { name: 'healthy', webhook_id: 'WHK-1', delivered: 1, failed: 5, given_up: 2 },
        { name: 'verifying', webhook_id: null, delivered: 0 },
      ],
    });
    const text = summaryLines(summary).join('\n');
    expect(text).toContain('2 events recorded, 1 of them NOT in the stream.\n');
    expect(text).toContain('Average rate: 1/s (target 20/s).\n');
    expect(progressLine(figures, 3_000)).toBe(
      '0:02  2 events, 1/s; 1 delivered, 0 pending, 3 failed; time to arrival p50 -, p99 -',
    );
  });
});

describe('a summary for people', () => {
  const lines = () => {
    const figures = new Figures(behaviors);
    figures.startedMs = 0;
    for (const { name } of behaviors) {
      Object.assign(figures.receiver(name), { delivered: 1_234_567, pending: 12_345, failed: 98_765 });
      figures.deliveryArrived(name, 1, 599_000);
    }
    Object.assign(figures.receiver('dead'), { delivered: 0, pending: 0, failed: 0 });
    figures.troubled('something');
    figures.eventShown(shown('EVT-others'));
    return summaryLines(
      summarize(figures, {
        endedMs: 36_000_000,
        wantedPerSecond: 27.4321,
        webhookIdOf: () => undefined,
        givenUp: new Map([['dead', 86]]),
      }),
    );
  };

  test('separates deliveries given up at the end from failed ones, as the dashboard does', () => {
    const text = lines().join('\n');
    expect(text).toMatch(/^ +given up +time to arrival$/m);
    expect(text).toMatch(/^receiver +delivered +failed +at the end +p50 +p99$/m);
    expect(text).toMatch(/^dead +0 +0 +86 /m);
    expect(text).toMatch(/^healthy +1,234,567 +98,765 +0 /m);
  });

  test('fits 80 columns', () => {
    for (const line of lines()) expect(line.length, line).toBeLessThanOrEqual(80);
  });
});

describe('wording', () => {
  test('is short for numbers, times and rates', () => {
    expect([0, 999, 12_345].map(whole)).toEqual(['0', '999', '12,345']);
    expect([null, 0, 999, 1_234].map(milliseconds)).toEqual(['-', '0 ms', '999 ms', '1.2 s']);
    expect([0, 9_999, 754_000, 3_723_000].map(clock)).toEqual(['0:00', '0:09', '12:34', '1:02:03']);
    expect([20, 19.74, 0.25, 123.4].map(perSecond)).toEqual(['20', '19.7', '0.25', '123']);
  });
});
