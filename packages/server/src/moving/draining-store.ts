import { releaseLeases } from '../cells/node-store.js';
import type { Database, Queryable } from '../postgres/database.js';
import { avoidScans } from '../postgres/transaction.js';

const releaseMax = 10_000;

/**
 * Returns the transactions that are open now. Whatever begins after this call sees what was committed before it, so
 * once these have ended, nothing can be written on the basis of an older state.
 */
export async function openTransactions(database: Queryable): Promise<readonly string[]> {
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

/**
 * Returns the webhook with the most waiting deliveries in an organization, if the organization has more than `max`.
 * Counts only deliveries that have a row of their own, not those in the backlog.
 */
export async function findExcess(
  database: Database,
  organizationId: string,
  max: number,
): Promise<string | undefined> {
  return database.transaction(async (client) => {
    await avoidScans(client);
    const { rows } = await client.query<{ webhook_id: string }>({
      text: `
  select webhook_id
    from posthorn.deliveries
   where organization_id = $1 and status = 'pending' and leased_by is null
     -- Usually only a few deliveries are waiting, and nothing has to be counted.
     and exists (select from posthorn.deliveries
                  where organization_id = $1 and status = 'pending' and leased_by is null
                 offset $2)
   group by webhook_id
   order by count(*) desc
   limit 1`,
      values: [organizationId, max],
    });
    return rows[0]?.webhook_id;
  }, true);
}

/**
 * Keeps the waiting deliveries of an organization from being claimed. Returns whether that covers all of its pending
 * deliveries: a node may still have some.
 */
export async function holdDeliveries(database: Database, organizationId: string): Promise<boolean> {
  // If the node that had the deliveries has died, there may be no other node to release them.
  await releaseLeases(database, releaseMax);
  return database.transaction(async (client) => {
    // With these scans and joins, the update would read all deliveries of the organization.
    await avoidScans(client, ['seqscan', 'hashjoin', 'mergejoin']);
    // Skips what a claim is taking: waiting for it could deadlock with the node's settlement.
    for (const [table, key, pending] of [
      ['deliveries', 'organization_id, webhook_id, created_at, id', "and status = 'pending'"],
      ['backlog', 'organization_id, webhook_id, created_at, head, first', ''],
    ]) {
      await client.query({
        text: `
  with waiting as materialized (
    select ${key} from posthorn.${table}
     where organization_id = $1 ${pending} and (leased_by is null or leased_by = 0)
       for update skip locked
  )
  update posthorn.${table} set leased_by = -1 where (${key}) in (select * from waiting)`,
        values: [organizationId],
      });
    }
    const { rows } = await client.query<{ open: boolean }>({
      text: `
  select exists (select from posthorn.deliveries
                  where organization_id = $1 and status = 'pending' and leased_by is null)
      or exists (select from posthorn.deliveries
                  where organization_id = $1 and status = 'pending' and leased_by is not null and leased_by <> -1)
      or exists (select from posthorn.backlog where organization_id = $1 and leased_by is distinct from -1)
      -- A hand-off stays until the last of its deliveries, which may belong to another organization, is settled.
      or exists (select from posthorn.handoffs h
                  cross join posthorn.shares(h) s
                  cross join unnest(s.ordinals) as o (ordinal)
                  where h.organization_ids @> array[$1] and s.organization_id = $1
                    and (select d.id from posthorn.deliveries d
                          where d.organization_id = $1 and d.webhook_id = s.webhook_id and d.created_at = h.created_at
                            and d.id = posthorn.numbered('WDLV-', h.head, s.base + o.ordinal)) is null) as open`,
      values: [organizationId],
    });
    return rows[0]?.open === false;
  }, true);
}

/** Lets nodes claim the deliveries of an organization again, but holds those whose webhook is unverified. */
export async function releaseDeliveries(client: Queryable, organizationId: string): Promise<void> {
  await avoidScans(client);
  for (const [table, pending] of [
    ['deliveries', "and t.status = 'pending'"],
    ['backlog', ''],
  ]) {
    await client.query({
      text: `
  update posthorn.${table} t
     set leased_by = case when exists (select from posthorn.webhooks w
                                        where w.organization_id = t.organization_id and w.id = t.webhook_id
                                          and w.status = 'unverified') then 0 end
   where t.organization_id = $1 ${pending} and t.leased_by = -1`,
      values: [organizationId],
    });
  }
  await client.query({ text: 'select posthorn.announce_waiting()' });
}
