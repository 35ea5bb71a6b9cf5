import { isCurrentSql } from '../cells/node-store.js';
import { isNoCopy } from '../cells/relocation-store.js';
import { avoidScans, type Database, type Queryable, readOnlySql } from '../postgres/database.js';
import { partitioned } from '../postgres/partitions.js';
import { countSecretsWithout } from '../webhooks/secret-store.js';

/**
 * How long the oldest delivery that is due and that no node has claimed has waited, of all webhooks, of healthy ones, and
 * of failing ones; and how many webhooks have one.
 */
const oldestDueSql = `
  select coalesce(max(w.waited), 0)::float8 as seconds,
         coalesce(max(w.waited) filter (where not w.fails), 0)::float8 as healthy_seconds,
         coalesce(max(w.waited) filter (where w.fails), 0)::float8 as failing_seconds,
         count(distinct w.webhook_id) as webhooks
    from (select d.webhook_id, extract(epoch from clock_timestamp() - d.since) as waited,
                 (select h.failing_since from posthorn.webhook_health h
                   where h.organization_id = d.organization_id and h.webhook_id = d.webhook_id) is not null as fails
            from posthorn.waiting_webhooks() d
           where ${isNoCopy('d')}) w`;

/** The end of the partition `part` of the table `parent`. */
const endSql = "posthorn.partition_end(parent.relname, to_date(right(part.relname, 8), 'YYYYMMDD'))";

/** Returns one row for each of the tables `$1`, with these figures. */
const partitionsSql = (figures: string) => `
  select parent.relname as "table", count(*) as partitions, ${figures}
    from pg_inherits i
    join pg_class parent on parent.oid = i.inhparent
    join pg_class part on part.oid = i.inhrelid
   where parent.relnamespace = 'posthorn'::regnamespace and parent.relname = any ($1)
   group by parent.relname
   order by parent.relname`;

export interface Overview {
  nodes: readonly { id: number; alive: boolean; alive_until: Date }[];
  deliveries: {
    /** Waiting for their first attempt. */
    backlog: number;
    /** Waiting for another attempt. */
    retrying: number;
    /** In the memory of nodes. */
    in_memory: number;
    /** Waiting until their webhook is verified or resumed. */
    held: number;
  };
  /** `failing` counts the active ones that have had only failures since some time. */
  webhooks: { active: number; failing: number; unverified: number; paused: number; disabled: number };
  /**
   * Webhooks whose deliveries are waiting because none of the keys decrypts their secret or headers. Includes the webhooks
   * of organizations that are moving here, whose deliveries would wait after the move. Null without keys.
   */
  undecryptable_webhooks: number | null;
  partitions: readonly Partitions[];
  /** How long ago the oldest delivery that no node has claimed became due. */
  oldest_due_seconds: number;
  failing_webhooks: readonly FailingWebhook[];
}

export interface Partitions {
  table: string;
  partitions: number;
  bytes: number;
  /** Time up to which there are partitions. */
  until: Date | null;
}

/**
 * Returns what an operator looks at first, across all organizations. Large tables may take a while to count. `prefixes`
 * are the first bytes of everything that the keys decrypt.
 */
export function readOverview(
  database: Database,
  failingMax: number,
  prefixes: readonly Buffer[] | undefined,
): Promise<Overview> {
  return database.transaction(async (client) => {
    const nodes = await client.query<Overview['nodes'][number]>({
      text: `
  select id, alive_until, alive_until >= clock_timestamp() as alive
    from posthorn.nodes n
   where ${isCurrentSql}
   order by id`,
    });
    const deliveries = await client.query<Overview['deliveries']>({
      text: `
  select b.waiting + d.waiting as backlog, d.retrying, b.held + d.held as held,
         -- Hand-offs and leased backlog rows keep listing settled deliveries, which have a row, until all of their
         -- deliveries are settled.
         (select count(*)
            from (select s.organization_id, s.webhook_id, h.created_at, h.head, s.base, s.ordinals
                    from posthorn.handoffs h
                   cross join posthorn.shares(h) s
                   union all
                  select organization_id, webhook_id, created_at, head, base, ordinals
                    from posthorn.backlog
                   where leased_by > 0) s
           cross join unnest(s.ordinals) as o (ordinal)
           where (select d.id from posthorn.deliveries d
                   where d.organization_id = s.organization_id and d.webhook_id = s.webhook_id
                     and d.created_at = s.created_at
                     and d.id = posthorn.numbered('WDLV-', s.head, s.base + o.ordinal)) is null)
           + d.leased as in_memory
    from (select coalesce(sum(cardinality(b.ordinals)) filter (where b.leased_by is null), 0)::int8 as waiting,
                 coalesce(sum(cardinality(b.ordinals)) filter (where b.leased_by = 0), 0)::int8 as held
            from posthorn.backlog b
           where ${isNoCopy('b')}) b
   cross join (
         select count(*) filter (where d.leased_by is null and d.attempts = 0) as waiting,
                count(*) filter (where d.leased_by is null and d.attempts > 0) as retrying,
                count(*) filter (where d.leased_by > 0) as leased, count(*) filter (where d.leased_by = 0) as held
           from posthorn.deliveries d
          where d.status = 'pending' and ${isNoCopy('d')}) d`,
    });
    const partitions = await client.query<Partitions>({
      text: partitionsSql(`sum(pg_total_relation_size(part.oid))::int8 as bytes, max(${endSql}) as until`),
      values: [partitioned],
    });
    const due = await client.query<{ seconds: number }>({ text: oldestDueSql });
    return {
      nodes: nodes.rows,
      deliveries: deliveries.rows[0]!,
      webhooks: await readWebhookCounts(client),
      undecryptable_webhooks: prefixes ? await countSecretsWithout(client, prefixes) : null,
      partitions: partitions.rows,
      oldest_due_seconds: due.rows[0]!.seconds,
      failing_webhooks: await readFailingWebhooks(client, failingMax),
    };
  }, true);
}

async function readWebhookCounts(client: Queryable): Promise<Overview['webhooks']> {
  const { rows } = await client.query<Overview['webhooks']>({
    name: 'webhooks by status',
    text: `
  select count(*) filter (where status = 'active') as active,
         (select count(*)
            from posthorn.webhook_health h
            join posthorn.webhooks w on w.organization_id = h.organization_id and w.id = h.webhook_id
           where h.failing_since is not null and w.status = 'active' and ${isNoCopy('w')}) as failing,
         count(*) filter (where status = 'unverified') as unverified,
         count(*) filter (where status = 'paused') as paused,
         count(*) filter (where status = 'disabled') as disabled
    from posthorn.webhooks w
   where ${isNoCopy('w')}`,
  });
  return rows[0]!;
}

export interface FailingWebhook {
  organization_id: string;
  organization_name: string | null;
  webhook_id: string;
  url: string;
  failing_since: Date;
  /** The result of the latest failed attempt: one of the two, or neither if its delivery has been removed. */
  http_status: number | null;
  error: string | null;
}

/**
 * The query appends a condition on the status, which selects one of the two indexes for deliveries with a failed
 * attempt.
 */
const failure = `d.http_status, d.error, d.attempted_at from posthorn.deliveries d
               where d.organization_id = h.organization_id and d.webhook_id = h.webhook_id`;
const newestFirst = 'order by d.created_at desc, d.id desc';

/** Returns the active webhooks that have had only failures since `failing_since`, newest failures first. */
async function readFailingWebhooks(database: Queryable, limit: number): Promise<readonly FailingWebhook[]> {
  const { rows } = await database.query<FailingWebhook>({
    text: `
  select w.organization_id, o.name as organization_name, w.id as webhook_id, w.url, h.failing_since, latest.http_status, latest.error
    from posthorn.webhook_health h
    join posthorn.webhooks w on w.organization_id = h.organization_id and w.id = h.webhook_id
    left join posthorn.organizations o on o.organization_id = w.organization_id
    left join lateral (
      select f.http_status, f.error
        from ((select ${failure} and d.status = 'failed' ${newestFirst} limit 1)
              union all
              (select ${failure} and d.status = 'pending' and d.attempts > 0 ${newestFirst} limit 1)) f
       order by f.attempted_at desc
       limit 1
    ) latest on true
   where h.failing_since is not null and w.status = 'active' and ${isNoCopy('w')}
   order by h.failing_since desc, h.organization_id, h.webhook_id
   limit $1`,
    values: [limit],
  });
  return rows;
}

/** What monitoring reads from the database. The cost does not depend on how many deliveries are waiting. */
export interface StoreFigures {
  /** How long ago the oldest delivery to a healthy or to a failing webhook that no node has claimed became due. */
  oldestDueSeconds: { healthy: number; failing: number };
  /** How many webhooks there are by status. `active` leaves out those that are failing. */
  webhooks: Readonly<Record<string, number>>;
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
  partitions: readonly { table: string; partitions: number; aheadSeconds: number }[];
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
    const { rows: waiting } = await client.query<
      Omit<StoreFigures, 'partitions' | 'webhooks' | 'oldestDueSeconds'> & StoreFigures['oldestDueSeconds']
    >({
      name: 'store figures',
      text: `
  select w.healthy_seconds as healthy, w.failing_seconds as failing, w.webhooks as "waitingWebhooks", b.deliveries as "waitingFirst",
         r.deliveries as "waitingRetries",
         (select count(distinct process) from posthorn.nodes where alive_until >= clock_timestamp()) as nodes,
         ${readOnlySql} as "isReadOnly",
         (select coalesce(extract(epoch from clock_timestamp() - min(xact_start)), 0)::float8
            from pg_stat_activity
           where datname = current_database() and backend_type = 'client backend'
             -- Between two statements, a transaction that has written may have no snapshot.
             and (backend_xmin is not null or backend_xid is not null)) as "oldestTransactionSeconds"
    from (${oldestDueSql}) w
   cross join (
         select coalesce(sum(cardinality(ordinals)), 0)::int8 as deliveries
           from (select ordinals
                   from posthorn.backlog b
                  where leased_by is null and ${isNoCopy('b')}
                  order by organization_id, webhook_id, created_at, head, first
                  limit $1) counted) b
   cross join (
         select count(*) as deliveries
           from (select
                   from posthorn.deliveries d
                  where status = 'pending' and leased_by is null and due_at <= clock_timestamp() and ${isNoCopy('d')}
                  order by due_at
                  limit $1) counted) r`,
      values: [countedMax],
    });
    const { rows: partitions } = await client.query<StoreFigures['partitions'][number]>({
      name: 'partitions',
      text: partitionsSql(`extract(epoch from max(${endSql}) - clock_timestamp())::float8 as "aheadSeconds"`),
      values: [partitioned],
    });
    const { active, ...webhooks } = await readWebhookCounts(client);
    const { healthy, failing: oldestFailing, ...figures } = waiting[0]!;
    return {
      ...figures,
      oldestDueSeconds: { healthy, failing: oldestFailing },
      partitions,
      webhooks: { ...webhooks, active: active - webhooks.failing },
    };
  });
}
