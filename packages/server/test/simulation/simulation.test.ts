import { describe, expect, test } from 'vitest';
import { Lanes } from '../../src/engine/lanes.js';
import { judge } from '../../src/outcomes/retry-schedule.js';
import { OneQueue } from './broken-lanes.js';
import type { Rules } from './node.js';
import { type Figures, type Run, simulate } from './simulation.js';

/** More seeds: SIMULATION_SEEDS=200 npx vitest run packages/server/test/simulation */
const seeds = Array.from({ length: Number(process.env.SIMULATION_SEEDS ?? 5) }, (_, index) => index + 1);

function total(run: Run): Figures {
  const sum = { hours: 0, deliveries: 0, requests: 0, repeated: 0 };
  for (const seed of seeds) {
    const figures = simulate(seed, run);
    for (const name of Object.keys(sum) as (keyof Figures)[]) sum[name] += figures[name];
  }
  return sum;
}

describe('in thousands of hours of schedules', () => {
  test('every delivery is accepted or attempted to its end, within all limits, while nodes die and pause', () => {
    const { hours, repeated } = total({ faults: true });
    expect(hours).toBeGreaterThan(1_000);
    // The faults really hit deliveries that were in flight.
    expect(repeated).toBeGreaterThan(0);
  });

  test('without faults nothing is sent twice, and webhooks that respond wait for nobody', () => {
    const { hours, repeated } = total({ faults: false });
    expect(hours).toBeGreaterThan(1_000);
    expect(repeated).toBe(0);
  });

  test('the same seed gives the same run', () => {
    expect(simulate(1)).toEqual(simulate(1));
  });
});

describe('the simulation catches a policy that', () => {
  const broken: [does: string, rules: Partial<Rules>, message: RegExp][] = [
    [
      'takes a failure for a success',
      {
        judge: (outcome, attempt, ...rest) =>
          attempt! > 1 ? { kind: 'delivered' } : judge(outcome, attempt, ...rest),
      },
      /^seed \d+: .* counts as delivered, but no receiver accepted it/,
    ],
    [
      'never gives up',
      { judge: (outcome, _attempt, ...rest) => judge(outcome, 1, ...rest) },
      /^seed \d+: .* was attempted more than 5 times/,
    ],
    [
      'gives up early',
      { judge: (outcome, attempt, ...rest) => judge(outcome, attempt! + 2, ...rest) },
      /^seed \d+: .* was given up early/,
    ],
    [
      'sends to webhooks that were deleted',
      { trustMs: 60_000 },
      /^seed \d+: .* was attempted after its webhook was deleted/,
    ],
    [
      'forgets what does not fit',
      { createLanes: (later, now) => new ForgetfulLanes(later, now) },
      /^seed \d+: .* was never finished/,
    ],
    [
      'knows no limits',
      { createLanes: () => new OneQueue(Number.POSITIVE_INFINITY) },
      /^seed \d+: .* requests (in flight|in a second)/,
    ],
    [
      'lets webhooks that hang delay all others',
      { createLanes: () => new OneQueue(4) },
      /^seed \d+: .* of a good webhook waited \d+ ms/,
    ],
  ];
  test.each(broken)('%s', (_does, rules, message) => {
    expect(() => total({ rules, faults: false })).toThrow(message);
  });
});

class ForgetfulLanes extends Lanes {
  override add(deliveries: Parameters<Lanes['add']>[0]): ReturnType<Lanes['add']> {
    super.add(deliveries);
    return [];
  }
}
