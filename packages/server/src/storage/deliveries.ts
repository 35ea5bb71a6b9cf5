import type { Queryable } from './database.js';

/** Before this time no delivery is unfinished; null where none is at all. */
export async function readOldestUnfinished(database: Queryable): Promise<Date | null> {
  const { rows } = await database.query<{ day: Date | null }>({
    text: 'select posthorn.oldest_unfinished_day() as day',
  });
  return rows[0]!.day;
}

/** What has waited in bundles for so long that its events are gone. */
export async function deleteOldBundles(database: Queryable, before: Date): Promise<void> {
  await database.query({
    text: 'delete from posthorn.bundles where leased_by is null and created_at < $1',
    values: [before],
  });
}

/** What waits for a webhook to be verified waits on purpose. */
const isVerified = (waiting: string) => `
              not exists (select from posthorn.webhooks w
                           where w.organization_id = ${waiting}.organization_id and w.id = ${waiting}.webhook_id
                             and w.status = 'unverified')`;

/** For how long the delivery that is due the longest has been waiting for a node to take it. */
export async function readLongestWaitSeconds(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ seconds: number }>({
    name: 'longest wait',
    text: `
  select extract(epoch from clock_timestamp() - min(d.due_at))::float8 as seconds
    from ((select d.organization_id, d.webhook_id, d.due_at
             from posthorn.deliveries d
            where d.status = 'pending' and d.leased_by is null and d.due_at <= clock_timestamp()
              and ${isVerified('d')}
            order by d.due_at
            limit 1)
           union all
          (select b.organization_id, b.webhook_id, b.created_at
             from posthorn.bundles b
            where b.leased_by is null and ${isVerified('b')}
            order by b.created_at
            limit 1)) d`,
  });
  return rows[0]?.seconds ?? 0;
}

/**
 * Ends deliveries that wait for a webhook which takes none any more, `limit` at a time: failed where it is
 * disabled, cancelled where it is deleted. Those of any other webhook are left alone. Answers whether there may
 * be more.
 */
export async function endWaiting(
  database: Queryable,
  webhook: { organization_id: string; id: string },
  limit: number,
): Promise<boolean> {
  const { rows } = await database.query<{ ended: number }>({
    text: 'select posthorn.end_waiting($1, $2, $3) as ended',
    values: [webhook.organization_id, webhook.id, limit],
  });
  return rows[0]!.ended === limit;
}

/** The same for those that wait in bundles; of a deleted webhook's nothing is left. */
export async function endWaitingBundles(
  database: Queryable,
  webhook: { organization_id: string; id: string },
): Promise<boolean> {
  const { rows } = await database.query<{ more: boolean }>({
    text: 'select posthorn.end_bundles($1, $2) as more',
    values: [webhook.organization_id, webhook.id],
  });
  return rows[0]!.more;
}
