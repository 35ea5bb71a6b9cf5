import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../server/src/outcomes/outcome.js';
import { judge } from '../../server/src/outcomes/retry-schedule.js';
import { createdSince, type Settings } from '../src/api/settings';

const hourMs = 3_600_000;

describe('the list of the deliveries that failed since some time', () => {
  it.each([
    ['with the default schedule', [5_000, 300_000, hourMs, 12 * hourMs]],
    ['with short waits', [1_000, 2_000]],
    ['with long waits', [24 * hourMs, 72 * hourMs]],
  ])('goes back as far as receivers can delay the attempts, %s', (_what, waitsMs) => {
    const outcome = { kind: 'response', httpStatus: 503, retryAfterMs: Number.MAX_SAFE_INTEGER } as Outcome;
    const longestMs = waitsMs.map((_, index) => {
      const verdict = judge(outcome, index + 1, waitsMs, 1);
      return verdict.kind === 'retry' ? verdict.waitMs! : Number.NaN;
    });
    const failedMs = Date.parse('2026-03-01T00:00:00Z');
    const settings = { retry_waits_ms: waitsMs } as Settings;
    const extraMs =
      failedMs - Date.parse(createdSince(failedMs, settings)) - longestMs.reduce((a, b) => a + b);
    expect(extraMs).toBeGreaterThan(0);
    expect(extraMs).toBeLessThanOrEqual(600_000);
  });
});
