import type { Queryable } from '../postgres/database.js';
import { type Page, pageOf } from '../postgres/keyset.js';
import { type Position, valuesOf } from '../values/cursor.js';
import { deliveryColumns, type ListedDelivery } from './delivery-store.js';
import type { MissingWebhook } from './not-delivered.js';

export interface DeliveryFilter {
  organization_id: string;
  /** Limits the list to webhooks of this workspace. */
  workspace_id?: string | undefined;
  webhook_id?: string | undefined;
  status?: 'success' | 'failed' | undefined;
  /** Whether no attempt will follow. */
  final?: boolean | undefined;
  event_type?: string | undefined;
  /** The event ID and the time that it contains. */
  event?: { id: string; createdMs: number } | undefined;
  fromMs: number;
  toMs?: number | undefined;
}

/**
 * The maximum number of rows that one page reads, which takes about a tenth of a second. If a filter matches only a few
 * out of millions of deliveries, the page is shorter, and the next one continues where it stopped.
 */
export const readMax = 50_000;

/** A page of deliveries. */
export interface DeliveryPage extends Page<ListedDelivery> {
  /** How far back the page searched. Undefined unless it stopped because it had read enough. */
  searchedToMs?: number;
}

interface ReadRow extends ListedDelivery {
  is_match: boolean;
  /** Whether the page stopped here, because it had read enough. */
  is_end: boolean;
}

/**
 * Lists the attempted deliveries of all matching webhooks, newest first, starting after `after`. Reads a page of each
 * webhook, with the indexes that suit the filter, and returns the newest of these. A page with `hasMore` can have fewer
 * than `limit` deliveries, or none.
 */
export async function listDeliveries(
  database: Queryable,
  filter: DeliveryFilter,
  after: Position | undefined,
  limit: number,
  rowsMax = readMax,
): Promise<DeliveryPage> {
  const statement = deliveryListStatement(filter, after, limit + 1, rowsMax);
  const rows = statement ? (await database.query<ReadRow>(statement)).rows : [];
  const matches = rows.filter(({ is_match }) => is_match);
  const end = rows.at(-1);
  if (!end?.is_end || matches.length > limit) return pageOf(matches, limit);
  const atMs = end.created_at.getTime();
  return { rows: matches, hasMore: true, next: { atMs, id: end.id }, searchedToMs: atMs };
}

/** Returns the statement for a list, or undefined if no delivery can match the filter. */
export function deliveryListStatement(
  filter: DeliveryFilter,
  after: Position | undefined,
  limit: number,
  rowsMax: number,
): { text: string; values: unknown[] } | undefined {
  const values: unknown[] = [filter.organization_id, new Date(filter.fromMs), limit];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const range: string[] = [];
  if (filter.toMs !== undefined) range.push(`and created_at <= ${bind(new Date(filter.toMs))}`);
  if (after) {
    const [at, id] = [bind(new Date(after.atMs)), bind(after.id)];
    range.push(`and created_at <= ${at} and (created_at, id) < (${at}, ${id})`);
  }
  const parts = partsOf(filter, bind);
  if (parts.length === 0) return undefined;
  const isType = filter.event_type === undefined ? '' : `and event_type = ${bind(filter.event_type)}`;
  // Without the inner limit, a page would keep reading until it is full.
  const pages = parts.map(
    ({ found, matching }) => `
    (select *
       from (select ${deliveryColumns}, (${matching}) ${isType} as is_match,
                    row_number() over (order by created_at desc, id desc) = (select rows from share) as is_end
               from (select ${deliveryColumns}
                       from posthorn.deliveries
                      where organization_id = $1 and created_at >= $2 and ${found}
                            ${range.join('\n                            ')}
                      order by created_at desc, id desc
                      limit (select rows from share)) read) tested
      where is_match or is_end
      order by created_at desc, id desc
      limit (select $3::int))`,
  );
  const visible = ['organization_id = $1'];
  if (filter.workspace_id !== undefined) visible.push(`workspace_id = ${bind(filter.workspace_id)}`);
  if (filter.webhook_id !== undefined) visible.push(`id = ${bind(filter.webhook_id)}`);
  const text = `
  with visible as materialized (
    select id, status = 'active' as webhook_is_active from posthorn.webhooks where ${visible.join(' and ')}
  ), share as materialized (
    select greatest($3::int, ${bind(rowsMax)}::int / greatest(1, ${parts.length} * count(*)))::int as rows from visible
  ), pages as materialized (
    select page.*, w.webhook_is_active from visible w cross join lateral (${pages.join('\n    union all')}) page
  ), stop as (
    -- Everything that comes before this row in the list was read.
    select created_at, id from pages where is_end order by created_at desc, id desc limit 1
  )
  select p.*
    from pages p
    left join stop s on true
   where s.id is null or (p.created_at, p.id) >= (s.created_at, s.id)
   order by p.created_at desc, p.id desc
   limit $3`;
  return { text, values };
}

/** A part of a list that one index can read: which rows the index finds, and which of these match. */
interface IndexedPart {
  found: string;
  matching: string;
}

const ofWebhook = 'webhook_id = w.id';
/** Written so that no index on `webhook_id` applies: the query must use the one on `event_id`. */
const alsoOfWebhook = "coalesce(webhook_id, '') = w.id";

const retrying: IndexedPart = { found: "status = 'pending' and attempts > 0", matching: 'true' };
const givenUp: IndexedPart = { found: "status = 'failed'", matching: 'attempts > 0' };
const delivered: IndexedPart = { found: 'true', matching: "status = 'success'" };
const attempted: IndexedPart = { found: 'true', matching: "attempts > 0 and status <> 'cancelled'" };

/** Returns the parts that together make up the filter by status. A delivery between attempts counts as failed. */
function partsByStatus({ status, final }: DeliveryFilter): readonly IndexedPart[] {
  if (status === undefined && final === undefined) return [attempted];
  return [
    ...(status !== 'failed' && final !== false ? [delivered] : []),
    ...(status !== 'success' && final !== false ? [givenUp] : []),
    ...(status !== 'success' && final !== true ? [retrying] : []),
  ];
}

/**
 * Returns the parts that together make up the filter. Each has its own index, so that a few failures are found among
 * millions of successes. With a filter by event, the first delivery is found by the event's time, which it shares, and
 * later ones by a separate index.
 */
function partsOf(filter: DeliveryFilter, bind: (value: unknown) => string): readonly IndexedPart[] {
  const byStatus = partsByStatus(filter);
  const { event } = filter;
  if (event === undefined || byStatus.length === 0)
    return byStatus.map(({ found, matching }) => ({ found: `${ofWebhook} and ${found}`, matching }));
  const matching = byStatus.map((part) => `(${part.found} and ${part.matching})`).join(' or ');
  const isEvent = `event_id = ${bind(event.id)}`;
  const first = `created_at = ${bind(new Date(event.createdMs))}`;
  return [
    { found: `${ofWebhook} and ${isEvent} and ${first}`, matching },
    { found: `${alsoOfWebhook} and ${isEvent} and created_at <> event_created_at`, matching },
  ];
}

export interface EventDeliveriesFilter {
  organization_id: string;
  /** Limits the list to webhooks of this workspace. */
  workspace_id: string | undefined;
  event: { id: string; type: string; created_at: Date };
}

/** How many deleted webhooks are considered. An organization could keep creating and deleting webhooks. */
const deletedMax = 1_000;

/**
 * Lists deliveries of one event to all webhooks, newest first, starting after `after`: the first delivery to each
 * webhook (which shares the event's time), redeliveries, and deliveries that have no row yet because they are in a
 * node's memory or in the backlog. Includes attempted deliveries to webhooks that have been deleted since.
 */
export async function listEventDeliveries(
  database: Queryable,
  { organization_id, workspace_id, event: { id, created_at, type } }: EventDeliveriesFilter,
  after: Position | undefined,
  limit: number,
): Promise<readonly ListedDelivery[]> {
  const { rows } = await database.query<ListedDelivery>({
    text: `
  with visible as materialized (
    select id from posthorn.webhooks where organization_id = $1 and ($2::text is null or workspace_id = $2)
     union
    -- The audit log has the webhooks that have been deleted since, and their workspaces.
    (select target_id
       from posthorn.audit_log
      where organization_id = $1 and action = 'webhook.deleted' and created_at >= $4
        and ($2::text is null or workspace_id = $2)
      order by created_at desc
      limit ${deletedMax})
  ), settled as (
    select d.*
      from visible v
     cross join lateral (
           select ${deliveryColumns}
             from posthorn.deliveries
            where organization_id = $1 and webhook_id = v.id and created_at = $4 and event_id = $3
            offset 0) d
     union all
    select ${deliveryColumns}
      from posthorn.deliveries
     -- Written so that no index on webhook_id applies: the query must use the one on event_id.
     where organization_id = $1 and event_id = $3 and created_at >= $4 and created_at <> event_created_at
       and coalesce(webhook_id, '') in (select id from visible)
  )
  select d.*,
         exists (select from posthorn.webhooks w
                  where w.organization_id = $1 and w.id = d.webhook_id and w.status = 'active') as webhook_is_active
    from (select * from settled where status <> 'cancelled' or attempts > 0
           union all
          select posthorn.numbered('WDLV-', o.head, o.base + o.ordinal), o.webhook_id, $3, $5, $4, 'pending', 0::smallint, $4,
                 null, null, null, null, $4
            from posthorn.open_shares($1, array(select id from visible), substr($3, 5, 16), $4) o
           where o.event_base + o.ordinal = posthorn.number_of($3)) d
   where $6::timestamptz is null or (created_at, id) < ($6, $7)
   order by created_at desc, id desc
   limit $8`,
    values: [organization_id, workspace_id ?? null, id, created_at, type, ...valuesOf(after), limit],
  });
  return rows;
}

/** Returns the webhooks that have no delivery of an event, newest first. */
export async function webhooksWithoutDelivery(
  database: Queryable,
  { organization_id, workspace_id, event }: EventDeliveriesFilter,
): Promise<readonly MissingWebhook[]> {
  const { rows } = await database.query<MissingWebhook>({
    text: `
  with reached as materialized (
    select webhook_id
      from posthorn.deliveries
     where organization_id = $1 and event_id = $3 and created_at >= $4 and created_at <> event_created_at
     union all
    select o.webhook_id
      from posthorn.open_shares($1, array(select id from posthorn.webhooks where organization_id = $1), substr($3, 5, 16), $4) o
     where o.event_base + o.ordinal = posthorn.number_of($3)
  )
  select w.id, w.workspace_id, w.status, w.disabled_reason, w.event_types, w.created_at,
         w.filter_path is null or coalesce((
           select posthorn.filterable(e.workspace_id, e.subject_type, e.subject_id, e.actor_type, e.actor_id, e.payload)
                  @? w.filter_path
             from posthorn.events e
            where e.organization_id = $1 and e.created_at = $4 and e.id = $3), false) as passes_filter
    from posthorn.webhooks w
   where w.organization_id = $1 and ($2::text is null or w.workspace_id = $2)
     and w.id not in (select webhook_id from reached)
     and (select d.id from posthorn.deliveries d
           where d.organization_id = $1 and d.webhook_id = w.id and d.created_at = $4 and d.event_id = $3
           limit 1) is null
   order by w.created_at desc, w.id desc`,
    values: [organization_id, workspace_id ?? null, event.id, event.created_at],
  });
  return rows;
}
