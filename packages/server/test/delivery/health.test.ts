import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { HealthKeeper } from '../../src/delivery/health-keeper.js';
import { dayMs } from '../../src/domain/duration.js';
import type { Database } from '../../src/storage/database.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

test('a webhook is not given up before the failure that decides it is written', async () => {
  const now = Date.now();
  const failing = { organization_id: 'ORG-acme', id: 'WHK-1', workspace_id: null };
  const rows = [{ ...failing, failing_since: new Date(now - 6 * dayMs), last_failure_at: new Date(now) }];
  const database = { query: async () => ({ rows }), transaction: vi.fn(async () => undefined) };
  const keeper = new HealthKeeper({
    ...{ database: database as unknown as Database, logger: pino({ level: 'silent' }), now: () => now },
    placement: () => ({ node: null, saturated: [] }),
    onDisabled: () => undefined,
  });
  const outcome = { kind: 'unanswered', error: 'timeout', durationMs: 1 } as const;
  keeper.note('ORG-acme', 'WHK-1', outcome, new Date(now));
  // It is reported by the clock, while outcomes of others are being written.
  await vi.advanceTimersByTimeAsync(200);
  await keeper.giveUpFailing();
  expect(database.transaction).not.toHaveBeenCalled();
  await keeper.catchUp(1);
  await keeper.giveUpFailing();
  expect(database.transaction).toHaveBeenCalledTimes(1);
});
