import { type Database, readOnlySql } from '../postgres/database.js';
import { partitioned } from '../postgres/partitions.js';
import { avoidScans } from '../postgres/transaction.js';

/** What monitoring reads from the database. The cost does not depend on how many deliveries are waiting. */
export interface StoreFigures {
  /** How long ago the oldest delivery that no node has claimed became due. */
  oldestDueSeconds: number;
  /** Webhooks with deliveries that are due and that no node has claimed. */
  waitingWebhooks: number;
  /**
   * How many of those deliveries are in the backlog, and how many are not (mostly retries). Each is counted up to
   * `countedMax` rows.
   */
  waitingFirst: number;
  waitingRetries: number;
  isReadOnly: boolean;
  /** The age of the oldest transaction that prevents PostgreSQL from removing dead rows of this database. */
  oldestTransactionSeconds: number;
  /** Nodes that are alive. */
  nodes: number;
  partitions: readonly { table: string; count: number; aheadSeconds: number }[];
}

/**
 * Counting stops here, so that the cost of a scrape does not depend on how many deliveries are waiting. A row
 * of the backlog can have many deliveries.
 */
const countedMax = 5_000;

/** Reads all figures in one transaction. */
export function readStoreFigures(database: Database): Promise<StoreFigures> {
  return database.transaction(async (client) => {
    // A plan made while the tables were empty would keep scanning them completely.
    await avoidScans(client);
    const { rows: waiting } = await client.query<Omit<StoreFigures, 'partitions'>>({
      name: 'store figures',
      text: `
  select w.seconds as "oldestDueSeconds", w.webhooks as "waitingWebhooks", b.deliveries as "waitingFirst",
         r.deliveries as "waitingRetries",
         (select count(distinct process) from posthorn.nodes where alive_until >= clock_timestamp()) as nodes,
         ${readOnlySql} as "isReadOnly",
         (select coalesce(extract(epoch from clock_timestamp() - min(xact_start)), 0)::float8
            from pg_stat_activity
           where datname = current_database() and backend_type = 'client backend'
             -- Between two statements, a transaction that has written may have no snapshot.
             and (backend_xmin is not null or backend_xid is not null)) as "oldestTransactionSeconds"
    from (select coalesce(extract(epoch from clock_timestamp() - min(since)), 0)::float8 as seconds,
                 count(distinct webhook_id) as webhooks
            from posthorn.waiting_webhooks()) w
   cross join (
         select coalesce(sum(cardinality(ordinals)), 0)::int8 as deliveries
           from (select ordinals
                   from posthorn.backlog
                  where leased_by is null
                  order by organization_id, webhook_id, created_at, head, first
                  limit $1) counted) b
   cross join (
         select count(*) as deliveries
           from (select
                   from posthorn.deliveries
                  where status = 'pending' and leased_by is null and due_at <= clock_timestamp()
                  order by due_at
                  limit $1) counted) r`,
      values: [countedMax],
    });
    const { rows: partitions } = await client.query<StoreFigures['partitions'][number]>({
      name: 'partitions',
      text: `
  select parent.relname as "table", count(*),
         extract(epoch from max(posthorn.partition_end(parent.relname, to_date(right(part.relname, 8), 'YYYYMMDD')))
                          - clock_timestamp())::float8 as "aheadSeconds"
    from pg_inherits i
    join pg_class parent on parent.oid = i.inhparent
    join pg_class part on part.oid = i.inhrelid
   where parent.relnamespace = 'posthorn'::regnamespace and parent.relname = any ($1)
   group by parent.relname`,
      values: [partitioned],
    });
    return { ...waiting[0]!, partitions };
  });
}
