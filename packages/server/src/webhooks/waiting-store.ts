import { mayStartWork } from '../cells/relocation-store.js';
import type { Queryable } from '../postgres/database.js';

/**
 * Brings the waiting deliveries of a webhook in line with its status, about `atMost` at a time: holds them while it
 * is unverified or paused, releases them once it is active, and ends them once it is disabled or deleted. Returns how
 * many it changed.
 */
export async function alignWaiting(
  database: Queryable,
  { organization_id, id }: { organization_id: string; id: string },
  atMost: number,
): Promise<number> {
  const { rows } = await database.query<{ changed: number }>({
    text: 'select posthorn.align_waiting($1, $2, $3) as changed',
    values: [organization_id, id, atMost],
  });
  return rows[0]!.changed;
}

/** How many webhooks one statement handles, so that it ends within its time limit. */
const heldWebhooksMax = 10;

/**
 * Releases or ends deliveries that are still held although their webhook is neither unverified nor paused. This happens if
 * aligning them did not finish after the status changed. Handles a few webhooks per call, with about `atMost`
 * deliveries each. Returns how many it changed.
 */
export async function releaseHeld(database: Queryable, atMost: number): Promise<number> {
  const { rows } = await database.query<{ released: number }>({
    name: 'release held',
    text: `
  select coalesce(sum(posthorn.align_waiting(h.organization_id, h.webhook_id, $1)), 0) as released
    from (select held.organization_id, held.webhook_id
            from (select organization_id, webhook_id from posthorn.deliveries
                   where status = 'pending' and leased_by = 0
                   union
                  select organization_id, webhook_id from posthorn.backlog where leased_by = 0) held
           where not exists (select from posthorn.webhooks w
                              where w.organization_id = held.organization_id and w.id = held.webhook_id
                                and w.status in ('unverified', 'paused'))
             and ${mayStartWork('held')}
           -- Locks the webhooks in the same order as other transactions do.
           order by 1, 2
           limit ${heldWebhooksMax}) h`,
    values: [atMost],
  });
  return rows[0]!.released;
}
