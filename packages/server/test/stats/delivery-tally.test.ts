import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { Outcome } from '../../src/outcomes/outcome.js';
import type { Verdict } from '../../src/outcomes/retry-schedule.js';
import type { Database } from '../../src/postgres/database.js';
import { readDeliveryCounts } from '../../src/stats/count-store.js';
import { DeliveryTally, type TallyOptions } from '../../src/stats/delivery-tally.js';
import { freshDatabase } from '../support/database.js';
import { setLimits } from '../support/limits.js';
import { eventually } from '../support/tenant.js';

const { database } = await freshDatabase();
const silent = pino({ level: 'silent' });
const atMs = Date.parse('2026-11-16T09:59:58Z');
const delivered: [Outcome, Verdict] = [
  { kind: 'response', httpStatus: 200, durationMs: 7, response: null, headers: {}, retryAfterMs: undefined },
  { kind: 'delivered' },
];
function tallyOf(
  now: () => number,
  given: Partial<TallyOptions> & { everyMs?: number; webhooksMax?: number } = {},
): DeliveryTally {
  const { everyMs = 60_000, webhooksMax = 100, ...options } = given;
  setLimits({ tallyEveryMs: everyMs, talliedWebhooks: webhooksMax });
  return new DeliveryTally({ database, logger: silent, now, ...options });
}
const webhook = (organization_id: string, n = 0) => ({
  id: `WHK-${n}`,
  organization_id,
  workspace_id: 'WS-1',
});

/** What all rows of an organization say together, by what they count and for how long. */
async function sums(organization: string): Promise<Record<string, number>> {
  const { rows } = await database.query<{ name: string; delivered: number }>({
    text: `
  select scope || ' ' || step || ' ' || to_char(at at time zone 'UTC', 'HH24:MI') as name, sum(delivered) as delivered
    from posthorn.delivery_counts where organization_id = $1 group by 1`,
    values: [organization],
  });
  return Object.fromEntries(rows.map(({ name, delivered }) => [name, delivered]));
}

test('counts each webhook, its workspace and its organization, by the minute and the hour', async () => {
  let nowMs = atMs;
  const tally = tallyOf(() => nowMs);
  tally.note(webhook('ORG-both'), ...delivered);
  nowMs += 5_000;
  tally.note(webhook('ORG-both'), ...delivered);
  tally.note(webhook('ORG-both', 1), ...delivered);
  await tally.stop();
  expect(await sums('ORG-both')).toEqual({
    ...{ 'WHK-0 1 09:59': 1, 'WS-1 1 09:59': 1, ' 1 09:59': 1 },
    ...{ 'WHK-0 60 09:00': 1, 'WS-1 60 09:00': 1, ' 60 09:00': 1 },
    ...{ 'WHK-0 1 10:00': 1, 'WHK-1 1 10:00': 1, 'WS-1 1 10:00': 2, ' 1 10:00': 2 },
    ...{ 'WHK-0 60 10:00': 1, 'WHK-1 60 10:00': 1, 'WS-1 60 10:00': 2, ' 60 10:00': 2 },
  });
});

test('counts exactly, however often it writes and however few webhooks it keeps in memory', async () => {
  const tally = tallyOf(() => atMs, { everyMs: 5, webhooksMax: 3 });
  for (let n = 0; n < 60; n += 1) {
    tally.note(webhook('ORG-many', n % 10), ...delivered);
    if (n % 6 === 0)
      await eventually(
        () => sums('ORG-many'),
        (all) => all[' 1 09:59'] === n + 1,
      );
  }
  await tally.stop();
  const all = await sums('ORG-many');
  expect([all[' 1 09:59'], all[' 60 09:00'], all['WS-1 60 09:00']]).toEqual([60, 60, 60]);
  for (let n = 0; n < 10; n += 1) expect(all[`WHK-${n} 60 09:00`]).toBe(6);
});

test('counts every attempt, even if the clock is set back', async () => {
  let nowMs = atMs - 300_000;
  const tally = tallyOf(() => nowMs, { everyMs: 5 });
  for (const stepMs of [60_000, 60_000, -60_000, 60_000, 60_000, -3_600_000]) {
    tally.note(webhook('ORG-back'), ...delivered);
    nowMs += stepMs;
  }
  await tally.stop();
  expect(await sums('ORG-back')).toMatchObject({ ' 60 09:00': 6, ' 1 09:55': 2, ' 1 09:56': 2 });
});

test('loses nothing and counts nothing twice if a write fails, or if only its response is lost', async () => {
  let nowMs = atMs;
  let writes = 0;
  const unreliable = {
    query: async (statement: Parameters<Database['query']>[0]) => {
      writes += 1;
      if (writes === 1) throw new Error('refused');
      const result = await database.query(statement);
      if (writes === 2) throw new Error('response lost');
      return result;
    },
  } as unknown as Database;
  const tally = tallyOf(() => nowMs, { database: unreliable, everyMs: 5 });
  tally.note(webhook('ORG-unlucky'), ...delivered);
  await eventually(
    async () => writes,
    (count) => count >= 2,
  );
  nowMs += 60_000;
  tally.note(webhook('ORG-unlucky'), ...delivered);
  await tally.stop();
  expect(await sums('ORG-unlucky')).toMatchObject({ ' 1 09:59': 1, ' 1 10:00': 1, ' 60 09:00': 1 });
});

test('writes a limited number of rows with one statement, however many are left from an outage', async () => {
  const sizes: number[] = [];
  const counting = {
    query: async ({ name, values = [] }: Parameters<Database['query']>[0]) => {
      if (name === 'count deliveries') sizes.push(String(values[0]).split(',').length);
      return { rows: [], rowCount: 0 };
    },
  } as unknown as Database;
  const tally = tallyOf(() => atMs, { database: counting, webhooksMax: 10_000 });
  for (let n = 0; n < 6_000; n += 1) tally.note(webhook('ORG-large', n), ...delivered);
  await tally.stop();
  // The minute and the hour, each with its workspace and its organization.
  expect(sizes).toEqual([5_000, 1_002, 5_000, 1_002]);
});

test('an hour is complete while it lasts, and after it has ended', async () => {
  const pastMs = Date.now() - 2 * 3_600_000;
  let nowMs = pastMs;
  const tally = tallyOf(() => nowMs, { everyMs: 5 });
  const read = () =>
    readDeliveryCounts(
      database,
      { organization_id: 'ORG-hours', scope: '', fromMs: pastMs - 3_600_000, toMs: Date.now() + 3_600_000 },
      60,
    );
  tally.note(webhook('ORG-hours'), ...delivered);
  nowMs = Date.now();
  tally.note(webhook('ORG-hours'), ...delivered);
  tally.note(webhook('ORG-hours'), ...delivered);
  const counts = await eventually(read, (rows) => rows.length === 2);
  await tally.stop();
  expect(counts.map(({ atMs, delivered }) => [atMs, delivered])).toEqual([
    [pastMs - (pastMs % 3_600_000), 1],
    [nowMs - (nowMs % 3_600_000), 2],
  ]);
});
