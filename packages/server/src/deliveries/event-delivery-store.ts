import type { Queryable } from '../postgres/database.js';
import type { Position } from '../values/cursor.js';
import { deliveryColumns, type ListedDelivery } from './history-store.js';

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
  { organization_id, workspace_id, event }: EventDeliveriesFilter,
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
  ), shares as materialized (
    select v.id as webhook_id, b.base, b.event_base, b.ordinals
      from visible v
     cross join lateral (
           select b.base, b.event_base, b.ordinals
             from posthorn.backlog b
            where b.organization_id = $1 and b.webhook_id = v.id and b.created_at = $4 and b.head = substr($3, 5, 16)
            offset 0) b
     union all
    select s.webhook_id, s.base, h.event_base, s.ordinals
      from posthorn.handoffs h
     cross join posthorn.shares(h) s
      join visible v on v.id = s.webhook_id
     where h.head = substr($3, 5, 16) and s.organization_id = $1
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
  ), open as (
    select posthorn.numbered('WDLV-', substr($3, 5, 16), s.base + o.ordinal) as id, s.webhook_id
      from shares s
     cross join unnest(s.ordinals) as o (ordinal)
     where s.event_base + o.ordinal = posthorn.number_of($3)
  )
  select d.*,
         exists (select from posthorn.webhooks w
                  where w.organization_id = $1 and w.id = d.webhook_id and w.status = 'active') as webhook_is_active
    from (select * from settled where status <> 'cancelled' or attempts > 0
           union all
          select o.id, o.webhook_id, $3, $5, $4, 'pending', 0::smallint, $4, null, null, null, null, $4
            from open o
           where not exists (select from posthorn.deliveries d
                              where d.organization_id = $1 and d.webhook_id = o.webhook_id and d.created_at = $4
                                and d.id = o.id)) d
   where $6::timestamptz is null or (created_at, id) < ($6, $7)
   order by created_at desc, id desc
   limit $8`,
    values: [
      organization_id,
      workspace_id ?? null,
      event.id,
      event.created_at,
      event.type,
      after ? new Date(after.atMs) : null,
      after?.id ?? null,
      limit,
    ],
  });
  return rows;
}
