import { setTimeout as delay } from 'node:timers/promises';
import { releaseLeases } from '../cells/node-store.js';
import { avoidScans, type Database, type Queryable } from '../postgres/database.js';
import { countEvents, hasCountedUntil } from '../stats/count-store.js';
import { MoveRefused } from './state-store.js';

const pollMs = 25;
/** How long a move waits for transactions and attempts in flight. */
const drainMsMax = 30_000;
const releaseMax = 10_000;

/**
 * Returns the transactions that are open now. Whatever begins after this call sees what was committed before it, so
 * once these have ended, nothing can be read or written on the basis of an older state.
 */
async function openTransactions(database: Queryable): Promise<readonly string[]> {
  const { rows } = await database.query<{ name: string }>({
    text: `
  select l.virtualxid as name
    from pg_locks l
    join pg_stat_activity a on a.pid = l.pid
   where l.locktype = 'virtualxid' and l.granted and a.datname = current_database()
     -- Autovacuum has no user.
     and a.usesysid is not null and a.pid <> pg_backend_pid()
   union all
  select gid from pg_prepared_xacts where database = current_database()`,
  });
  return rows.map(({ name }) => name);
}

/** Waits until all transactions that are open now have ended. */
export async function transactionsEnd(database: Database, cell: string): Promise<void> {
  let open = await openTransactions(database);
  const haveEnded = async () => {
    const still = new Set(await openTransactions(database));
    open = open.filter((one) => still.has(one));
    return open.length === 0;
  };
  await until(
    haveEnded,
    `Transactions in the cell ${cell} are still open. Look for them in pg_stat_activity, or try again later.`,
  );
}

/** Waits until no node has a delivery of the organization in memory, and so no attempt is in flight. */
export async function deliveriesReturn(database: Database, organizationId: string): Promise<void> {
  await until(
    async () => !(await hasLeases(database, organizationId)),
    `Deliveries of ${organizationId} are still in flight. Run the command again.`,
  );
}

/**
 * Waits until a cell has counted everything up to a time for the statistics: events before it are not counted again, and
 * events that are recorded in the cell from then on are later.
 */
export async function eventsCounted(database: Database, cell: string, ms: number): Promise<void> {
  const areCounted = async () => {
    await countEvents(database);
    return hasCountedUntil(database, ms);
  };
  await until(
    areCounted,
    `Recordings in the cell ${cell} are still open, or its clock is late. Try again later.`,
  );
}

async function until(isOver: () => Promise<boolean>, refusal: string): Promise<void> {
  const deadlineMs = performance.now() + drainMsMax;
  while (!(await isOver())) {
    if (performance.now() > deadlineMs) throw new MoveRefused(refusal);
    await delay(pollMs);
  }
}

async function hasLeases(database: Database, organizationId: string): Promise<boolean> {
  // If the node that had the deliveries has died, there may be no other node to release them.
  await releaseLeases(database, releaseMax);
  return database.transaction(async (client) => {
    await avoidScans(client);
    const { rows } = await client.query<{ leased: boolean }>({
      text: `
  select exists (select from posthorn.deliveries
                  where organization_id = $1 and status = 'pending' and leased_by > 0)
      or exists (select from posthorn.backlog where organization_id = $1 and leased_by > 0)
      -- A hand-off stays until the last of its deliveries, which may belong to another organization, is settled.
      or exists (select from posthorn.handoffs h
                  cross join posthorn.shares(h) s
                  cross join unnest(s.ordinals) as o (ordinal)
                  where h.organization_ids @> array[$1] and s.organization_id = $1
                    and (select d.id from posthorn.deliveries d
                          where d.organization_id = $1 and d.webhook_id = s.webhook_id and d.created_at = h.created_at
                            and d.id = posthorn.numbered('WDLV-', h.head, s.base + o.ordinal)) is null) as leased`,
      values: [organizationId],
    });
    return rows[0]!.leased;
  }, true);
}
