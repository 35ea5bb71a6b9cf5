import { type OrganizationMove, requireState } from '../cells/relocation-store.js';
import type { Database, Queryable } from '../postgres/database.js';
import { deliveryCounts } from './count-store.js';
import { type CopiedTable, copyRows, type RowCondition, useCopySettings } from './row-copy-store.js';

/**
 * How far the copying of an organization has progressed. A round copies what has changed since the previous round. A
 * row can only have changed if it is a delivery that was pending when that round started, if its time is later than the
 * start of that round, or if it has recent counts of deliveries (see `countedSince`).
 */
export interface Progress {
  /** The start of the last complete round. All transactions that began earlier had ended before it read anything. */
  floor: string;
  /** For each webhook with pending deliveries at that time: the time of the oldest. */
  floors: Readonly<Record<string, string>>;
  /** The first day whose event counts can still change. Those of earlier days are copied only once. */
  firstDay: string;
  /** Whether the new cell had no record of an earlier move of the organization when this move began. */
  isNew?: true;
  /** Whether all that the new cell held for the organization before the first round has been deleted. */
  isClear: true;
}

const events: CopiedTable = {
  name: 'events',
  key: [
    ['created_at', 'timestamptz'],
    ['id', 'text'],
  ],
  partitionedBy: 'created_at',
};
const auditLog: CopiedTable = { ...events, name: 'audit_log' };
const deliveries: CopiedTable = {
  name: 'deliveries',
  key: [
    ['webhook_id', 'text'],
    ['created_at', 'timestamptz'],
    ['id', 'text'],
  ],
  partitionedBy: 'created_at',
};
const backlog: CopiedTable = {
  name: 'backlog',
  key: [
    ['webhook_id', 'text'],
    ['created_at', 'timestamptz'],
    ['head', 'text'],
    ['first', 'int'],
  ],
};
const eventKeys: CopiedTable = { name: 'event_keys', key: [['key', 'text']], replaces: true };
const resources: CopiedTable = { name: 'resources', key: [['id', 'text']], replaces: true };
const eventCounts: CopiedTable = {
  name: 'event_counts',
  key: [
    ['scope', 'text'],
    ['step', 'smallint'],
    ['at', 'timestamptz'],
    ['type', 'text'],
  ],
  partitionedBy: 'at',
};

const all: RowCondition = { text: 'true', values: [] };

/** The end of an organization's audit log, and how many of its first entries retention has dropped. */
interface Chain {
  length: number;
  last_at: string;
  dropped: number;
  dropped_hash: Buffer;
}

export type OnPage = (table: string, rows: number) => void;

/** How many rows were copied, and how long that took. */
export interface Copied {
  rows: number;
  ms: number;
}

/**
 * Copies the rows of an organization from one database to another. Rows that would take effect immediately are staged
 * instead.
 */
export class RelocationCopy {
  readonly #from: Database;
  readonly #to: Database;
  readonly #move: OrganizationMove;
  readonly #onPage: OnPage;
  readonly copied: Copied = { rows: 0, ms: 0 };

  constructor(from: Database, to: Database, move: OrganizationMove, onPage: OnPage) {
    this.#from = from;
    this.#to = to;
    this.#move = move;
    this.#onPage = onPage;
  }

  /**
   * Copies what has changed since `progress`, or everything if that is empty, while the organization keeps working.
   * `floor` is a time before which no open transaction began. Returns the new progress.
   */
  async round(progress: Partial<Progress>, floor: string): Promise<Progress> {
    const [source, target] = [await this.#starting(this.#from), await this.#starting(this.#to)];
    const next: Progress = {
      floor,
      floors: await this.#openDeliveries(),
      firstDay: progress.firstDay ?? [source.counted_day, target.counted_day].sort()[0]!,
      isClear: true,
    };
    await this.#copyEvents({ text: 't.created_at < $2::timestamptz', values: [source.horizon] });
    await this.#copyAuditLog();
    await this.#copyChanges(progress, "t.status <> 'pending'");
    if (progress.floor === undefined)
      await this.#copy(eventCounts, { text: 't.at < $2::timestamptz', values: [next.firstDay] });
    return next;
  }

  /** Copies the rest, after the organization has stopped. */
  async lastRound(progress: Partial<Progress>): Promise<void> {
    await this.#copyEvents(all);
    await this.#copyAuditLog();
    await this.#copyChanges(progress, 'true');
    await this.#copy(backlog, all);
  }

  async #copyChanges(progress: Partial<Progress>, settled: string): Promise<void> {
    const { floor, floors = {} } = progress;
    const since = (column: string): RowCondition =>
      floor === undefined ? all : { text: `t.${column} >= $2::timestamptz`, values: [floor] };
    await this.#copy(eventKeys, since('created_at'));
    await this.#copy(resources, since('updated_at'));
    await this.#copy(deliveryCounts, floor === undefined ? all : countedSince({ floor }));
    if (floor === undefined) await this.#copy(deliveries, { text: settled, values: [] });
    else {
      await this.#copy(deliveries, {
        text: `${settled} and t.created_at >= $3::timestamptz
           and t.created_at >= coalesce(($4::jsonb ->> t.webhook_id)::timestamptz, $2::timestamptz)`,
        values: [floor, [floor, ...Object.values(floors)].sort()[0], JSON.stringify(floors)],
      });
    }
  }

  async #copyEvents(condition: RowCondition): Promise<void> {
    const { rows } = await this.#to.query<{ at: string; id: string }>({
      text: `
  select (created_at at time zone 'UTC')::text || 'Z' as at, id
    from posthorn.events
   where organization_id = $1
   order by created_at desc, id desc
   limit 1`,
      values: [this.#move.organizationId],
    });
    const [last] = rows;
    if (!last) return this.#copy(events, condition);
    const place = condition.values.length + 2;
    await this.#copy(events, {
      text: `${condition.text} and (t.created_at, t.id) > ($${place}::timestamptz, $${place + 1}::text)`,
      values: [...condition.values, last.at, last.id],
    });
  }

  /** Copies the new entries. The end of the chain moves along with every page, so the chain can always be verified. */
  async #copyAuditLog(): Promise<void> {
    const organization = [this.#move.organizationId];
    const { rows } = await this.#to.query<{ length: number }>({
      text: 'select length from posthorn.audit_chains where organization_id = $1',
      values: organization,
    });
    const chain = await this.#from.query<Chain>({
      text: `
  select length, (last_at at time zone 'UTC')::text || '+00' as last_at, dropped, dropped_hash
    from posthorn.audit_chains
   where organization_id = $1`,
      values: organization,
    });
    if (!chain.rows[0]) return;
    const { length, dropped, dropped_hash } = chain.rows[0];
    // If retention has dropped all entries, there is none that could extend the chain.
    if (dropped === length && (rows[0]?.length ?? 0) < length) await this.#copyChain(chain.rows[0]);
    const extend = (client: Queryable) =>
      extendChain(client, this.#move.organizationId, dropped, dropped_hash);
    const added: RowCondition = { text: 't.position > $2::bigint', values: [rows[0]?.length ?? 0] };
    await this.#copy(auditLog, added, extend);
  }

  async #copyChain({ length, last_at, dropped_hash }: Chain): Promise<void> {
    await this.#to.transaction(async (client) => {
      await requireState(client, this.#move, 'arriving');
      await client.query({
        text: `
  insert into posthorn.audit_chains (organization_id, length, hash, last_at, dropped, dropped_hash)
  values ($1, $2, $3, $4, $2, $3)
  on conflict (organization_id) do update
     set length = excluded.length, hash = excluded.hash, last_at = excluded.last_at,
         dropped = excluded.dropped, dropped_hash = excluded.dropped_hash`,
        values: [this.#move.organizationId, length, dropped_hash, last_at],
      });
    });
  }

  async #copy(
    table: CopiedTable,
    condition: RowCondition,
    then?: (client: Queryable) => Promise<unknown>,
  ): Promise<void> {
    const startedMs = performance.now();
    const onPage = (rows: number) => {
      this.copied.rows += rows;
      this.#onPage(table.name, rows);
    };
    await copyRows(this.#from, this.#to, this.#move, table, condition, { onPage, then });
    this.copied.ms += performance.now() - startedMs;
  }

  /** Returns the time before which everything is committed, and the day up to which events are counted. */
  async #starting(database: Database): Promise<{ horizon: string; counted_day: string }> {
    return database.transaction(async (client) => {
      await useCopySettings(client);
      const { rows } = await client.query<{ horizon: string; counted_day: string }>({
        text: `
  select h.horizon::text, date_trunc('day', p.counted_until, 'UTC')::text as counted_day
    from posthorn.event_horizon($1) as h (horizon), posthorn.event_count_progress p`,
        values: [this.#move.organizationId],
      });
      return rows[0]!;
    }, true);
  }

  /** Returns the time of the oldest pending delivery of each webhook that has any. */
  async #openDeliveries(): Promise<Record<string, string>> {
    return this.#from.transaction(async (client) => {
      await useCopySettings(client);
      const { rows } = await client.query<{ floors: Record<string, string> | null }>({
        text: `
  select jsonb_object_agg(webhook_id, since::text) as floors
    from (select webhook_id, min(created_at) as since
            from (select webhook_id, created_at from posthorn.deliveries
                   where organization_id = $1 and status = 'pending' and leased_by is null
                   union all
                  select webhook_id, created_at from posthorn.deliveries
                   where organization_id = $1 and status = 'pending' and leased_by is not null
                   union all
                  select webhook_id, created_at from posthorn.backlog where organization_id = $1
                   union all
                  select s.webhook_id, h.created_at
                    from posthorn.handoffs h
                   cross join posthorn.shares(h) s
                   where h.organization_ids @> array[$1] and s.organization_id = $1) open
           group by webhook_id) oldest`,
        values: [this.#move.organizationId],
      });
      return rows[0]?.floors ?? {};
    }, true);
  }
}

/** Returns the condition for counts that may have changed: nodes rewrite a row for a little over an hour at most. */
function countedSince({ floor }: Pick<Progress, 'floor'>): RowCondition {
  return { text: "t.at >= $2::timestamptz - interval '2 hours'", values: [floor] };
}

async function extendChain(
  client: Queryable,
  organizationId: string,
  dropped: number,
  droppedHash: Buffer,
): Promise<void> {
  await client.query({
    text: `
  insert into posthorn.audit_chains as c (organization_id, length, hash, last_at, dropped, dropped_hash)
  select l.organization_id, l.position, l.hash, l.created_at, $2, $3
    from posthorn.audit_log l
   where l.organization_id = $1
   order by l.created_at desc, l.id desc
   limit 1
  on conflict (organization_id) do update
     set length = excluded.length, hash = excluded.hash, last_at = excluded.last_at,
         -- The entries that were here before may have been dropped since.
         dropped = case when c.length < excluded.dropped then excluded.dropped else c.dropped end,
         dropped_hash = case when c.length < excluded.dropped then excluded.dropped_hash else c.dropped_hash end`,
    values: [organizationId, dropped, droppedHash],
  });
}
