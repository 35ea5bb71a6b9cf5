import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { registerNode, releaseLeases, retireNodes } from '../../src/cells/node-store.js';
import type { LeasedDelivery } from '../../src/events/recording-store.js';
import type { Database, Queryable } from '../../src/postgres/database.js';
import { alignWaiting, changeWebhook, deleteWebhook } from '../../src/webhooks/webhook-store.js';
import {
  claimFor,
  failedOnce,
  idsOf,
  many,
  recordFor,
  settleFor,
  succeeded,
  withNode,
} from '../support/deliveries.js';
import { eventually } from '../support/tenant.js';

/** Eight deliveries of one webhook: two are due for a retry, four are in the backlog, two are in the node's memory. */
interface Stage {
  database: Database;
  node: number;
  other: number;
  handed: readonly LeasedDelivery[];
  /** What the claims of a test have returned. */
  claimed: string[];
}

const key = { organization_id: 'ORG-acme', id: 'WHK-1', only_workspace_id: undefined };

async function prepared(): Promise<Stage & { client: pg.Client; aside: Queryable }> {
  const { database, url, node } = await withNode();
  const other = await registerNode(database, 60_000);
  const { leased } = await recordFor(database, node, 2);
  await settleFor(
    database,
    node,
    leased.map((one) => failedOnce(one, 0)),
  );
  await recordFor(database, null, 4);
  const { leased: handed } = await recordFor(database, node, 2);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  // The plain client does not parse numbers, which the steps do not need.
  const aside: Queryable = { query: (statement) => client.query(statement) };
  return { database, node, other, handed, claimed: [], client, aside };
}

type Step = (on: Queryable, stage: Stage) => Promise<unknown>;

async function align(on: Queryable): Promise<void> {
  while (Number(await alignWaiting(on, key, 2)) > 0);
}

/** As a request does: the change commits first, and the waiting deliveries follow it. */
const changed =
  (change: (on: Queryable) => Promise<unknown>): Step =>
  async (on) => {
    await change(on);
    await align(on);
  };

const steps = {
  /** The node writes a success and a retry that is due in an hour. */
  settle: (on, { node, handed }) =>
    settleFor(on, node, [succeeded(handed[0]!), failedOnce(handed[1]!, 3_600_000)]),
  /** Another node releases the leases of this one, whose time is up. */
  release: (on) => releaseLeases(on, many),
  'claim some': async (on, { other, claimed }) =>
    claimed.push(...idsOf((await claimFor(on, other, { each: 4 })).deliveries)),
  'claim all': async (on, { node, claimed }) => claimed.push(...idsOf((await claimFor(on, node)).deliveries)),
  disable: changed((on) => changeWebhook(on, key, { status: 'disabled', disabled_reason: 'manual' })),
  delete: changed((on) => deleteWebhook(on, key)),
  pause: changed((on) => changeWebhook(on, key, { status: 'paused' })),
  /** An event is recorded from SQL. */
  record: (on) => recordFor(on as Database, null, 1),
  unverify: changed((on) => changeWebhook(on, key, { status: 'unverified' })),
  activate: changed((on) => changeWebhook(on, key, { status: 'active' })),
  align,
} satisfies Record<string, Step>;

/** Returns how many deliveries are in each state, wherever they are stored. */
async function states(database: Queryable, { node, other }: Stage) {
  const { rows } = await database.query<{ state: string; count: number }>({
    text: `
  with leases as (
    select status, leased_by, 1 as size from posthorn.deliveries
     union all
    select 'pending', leased_by, cardinality(ordinals) from posthorn.backlog
     union all
    -- Those that are settled have a row.
    select 'pending', leased_by, (select count(*) from posthorn.open_shares('ORG-acme', array['WHK-1'], h.head, h.created_at))::int
      from posthorn.handoffs h
  )
  select case when status <> 'pending' then status when leased_by is null then 'waiting'
              when leased_by = 0 then 'held' when leased_by = $1 then 'node' when leased_by = $2 then 'other' end as state,
         sum(size)::int as count
    from leases
   group by 1
  having sum(size) > 0
   order by 1`,
    values: [node, other],
  });
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

const untilOneWaits = (database: Database) =>
  eventually(
    async () => {
      const { rows } = await database.query<{ waiting: number }>({
        text: `
  select count(*) as waiting from pg_stat_activity
   where datname = current_database() and wait_event_type = 'Lock'`,
      });
      return rows[0]!.waiting;
    },
    (waiting) => waiting > 0,
  ).then(() => 'waits' as const);

interface Row {
  /** What has happened before, committed. */
  given?: 'unverified' | 'paused' | 'the lease is over';
  first: keyof typeof steps;
  second: keyof typeof steps;
  /** Whether the second step waits for the end of the first. */
  while: 'waits' | 'goes on';
  /** The states of the eight deliveries after both, if the first ended like this. */
  commit: Record<string, number>;
  rollback: Record<string, number>;
}

const table: Row[] = [
  // A late outcome counts only if nobody else has the delivery.
  {
    ...{ given: 'the lease is over', first: 'settle', second: 'release', while: 'goes on' },
    ...{ commit: { success: 1, waiting: 7 }, rollback: { node: 2, waiting: 6 } },
  },
  {
    ...{ given: 'the lease is over', first: 'release', second: 'settle', while: 'waits' },
    ...{ commit: { waiting: 8 }, rollback: { success: 1, waiting: 7 } },
  },
  // A claim takes what nobody else is taking or changing.
  {
    ...{ first: 'claim some', second: 'claim all', while: 'goes on' },
    ...{ commit: { node: 2, other: 4, waiting: 2 }, rollback: { node: 2, waiting: 6 } },
  },
  {
    ...{ first: 'claim some', second: 'disable', while: 'goes on' },
    ...{ commit: { node: 2, other: 4, waiting: 2 }, rollback: { node: 2, waiting: 6 } },
  },
  {
    ...{ first: 'claim some', second: 'unverify', while: 'goes on' },
    ...{ commit: { node: 2, other: 4, waiting: 2 }, rollback: { node: 2, waiting: 6 } },
  },
  {
    ...{ first: 'disable', second: 'claim all', while: 'goes on' },
    ...{ commit: { failed: 6, node: 2 }, rollback: { node: 2, waiting: 6 } },
  },
  {
    ...{ given: 'unverified', first: 'activate', second: 'claim all', while: 'goes on' },
    ...{ commit: { node: 2, waiting: 6 }, rollback: { node: 2, waiting: 6 } },
  },
  // Nothing is held for a webhook that has become active.
  {
    ...{ given: 'unverified', first: 'claim all', second: 'activate', while: 'waits' },
    ...{ commit: { node: 2, waiting: 6 }, rollback: { node: 2, waiting: 6 } },
  },
  {
    ...{ given: 'unverified', first: 'align', second: 'activate', while: 'waits' },
    ...{ commit: { node: 2, waiting: 6 }, rollback: { node: 2, waiting: 6 } },
  },
  // An outcome does not wait for a change to the webhook, and the change does not wait for the outcome.
  {
    ...{ first: 'settle', second: 'disable', while: 'goes on' },
    ...{ commit: { failed: 6, success: 1, waiting: 1 }, rollback: { failed: 6, node: 2 } },
  },
  {
    ...{ first: 'disable', second: 'settle', while: 'goes on' },
    ...{ commit: { failed: 6, success: 1, waiting: 1 }, rollback: { success: 1, waiting: 7 } },
  },
  {
    ...{ first: 'settle', second: 'delete', while: 'goes on' },
    ...{ commit: { cancelled: 2, success: 1, waiting: 1 }, rollback: { cancelled: 2, node: 2 } },
  },
  {
    ...{ first: 'delete', second: 'settle', while: 'goes on' },
    ...{ commit: { cancelled: 2, success: 1, waiting: 1 }, rollback: { success: 1, waiting: 7 } },
  },
  {
    ...{ first: 'settle', second: 'unverify', while: 'goes on' },
    ...{ commit: { held: 6, success: 1, waiting: 1 }, rollback: { held: 6, node: 2 } },
  },
  {
    ...{ first: 'unverify', second: 'settle', while: 'goes on' },
    ...{ commit: { held: 6, success: 1, waiting: 1 }, rollback: { success: 1, waiting: 7 } },
  },
  // A pause holds what waits, and what is recorded while the webhook is resumed is not left behind.
  {
    ...{ first: 'claim some', second: 'pause', while: 'goes on' },
    ...{ commit: { node: 2, other: 4, waiting: 2 }, rollback: { node: 2, waiting: 6 } },
  },
  {
    ...{ first: 'pause', second: 'settle', while: 'goes on' },
    ...{ commit: { held: 6, success: 1, waiting: 1 }, rollback: { success: 1, waiting: 7 } },
  },
  {
    ...{ given: 'paused', first: 'claim all', second: 'activate', while: 'waits' },
    ...{ commit: { node: 2, waiting: 6 }, rollback: { node: 2, waiting: 6 } },
  },
  {
    ...{ given: 'paused', first: 'record', second: 'activate', while: 'goes on' },
    ...{ commit: { node: 2, waiting: 7 }, rollback: { node: 2, waiting: 6 } },
  },
  {
    ...{ first: 'record', second: 'pause', while: 'goes on' },
    ...{ commit: { held: 6, node: 2, waiting: 1 }, rollback: { held: 6, node: 2 } },
  },
];

describe.each(table)('$first, and before its end $second, which $while', (row) => {
  test.each(['commit', 'rollback'] as const)('%s', async (end) => {
    const { client, aside, ...stage } = await prepared();
    const { database, node, other, claimed } = stage;
    if (row.given === 'unverified' || row.given === 'paused')
      await changeWebhook(database, key, { status: row.given });
    if (row.given === 'the lease is over') await retireNodes(database, [node]);
    await client.query('begin');
    await (steps[row.first] as Step)(aside, stage);
    const running = (steps[row.second] as Step)(database, stage).then(() => 'goes on' as const);
    expect(await Promise.race([running, untilOneWaits(database)])).toBe(row.while);
    await client.query(end);
    await running;
    expect(await states(database, stage)).toEqual(row[end]);
    expect(end === 'rollback' || new Set(claimed).size === claimed.length).toBe(true);

    // When it is due, a claim takes what waits, or holds or ends it if the webhook is not active.
    await database.query({
      text: "update posthorn.deliveries set due_at = now() where status = 'pending' and leased_by is null",
    });
    const { deliveries } = await claimFor(database, other);
    const { rows } = await database.query<{ status: string }>({
      text: 'select status from posthorn.webhooks',
    });
    if (rows[0]?.status !== 'active') expect(deliveries).toEqual([]);
    expect((await states(database, stage)).waiting).toBeUndefined();
  });
});
