import type { StoredEvent } from '../events/event.js';
import type { LeasedDelivery, OpenGroup, Room } from '../events/recording-store.js';
import type { Queryable } from '../postgres/database.js';
import { limits } from './limits.js';

export interface ClaimBounds {
  webhooksMax: number;
  /** The maximum size of all payloads together. A single payload may be larger. */
  bytesMax: number;
  /** How long the claim may take, instead of the usual limit. */
  limitMs?: number;
  /** Cancels the claim. */
  signal?: AbortSignal;
}

export interface Claimed {
  deliveries: readonly LeasedDelivery[];
  /** Webhooks that still have deliveries waiting, except those for which the node has no room. */
  more: ReadonlySet<string>;
  /** The time until the next retry is due, or undefined if none is waiting. */
  nextMs: number | undefined;
}

interface ClaimRow extends Omit<StoredEvent, 'id' | 'payload'> {
  webhook_id: string;
  /** Null in the last row, which summarizes the claim. */
  delivery_id: string | null;
  attempts: number;
  event_id: string;
  event_created_at: Date;
  payload: string | null;
  due_at: Date | null;
  head: string | null;
  first: number;
  scheduled: number | null;
  more: string[];
  next_ms: number | null;
}

/** Leases waiting deliveries, as many as there is room for. */
export async function claim(database: Queryable, room: Room, bounds: ClaimBounds): Promise<Claimed> {
  const { rows } = await database.query<ClaimRow>({
    name: 'claim',
    text: 'select * from posthorn.claim($1, $2, $3, $4, $5, $6, $7)',
    values: [
      room.node,
      room.webhooks.size > 0 ? JSON.stringify(Object.fromEntries(room.webhooks)) : null,
      room.each,
      room.total,
      bounds.webhooksMax,
      bounds.bytesMax,
      limits.claimRetryShare,
    ],
    leases: true,
    ...(bounds.limitMs !== undefined && { limitMs: bounds.limitMs }),
    ...(bounds.signal && { signal: bounds.signal }),
  });
  const groups = new Map<string, OpenGroup>();
  const deliveries: LeasedDelivery[] = [];
  for (const row of rows) {
    if (row.delivery_id !== null) deliveries.push(leasedOf(row, row.delivery_id, groups));
  }
  const { more = [], next_ms } = rows.at(-1) ?? {};
  return { deliveries, more: new Set(more), nextMs: next_ms ?? undefined };
}

function leasedOf(row: ClaimRow, deliveryId: string, groups: Map<string, OpenGroup>): LeasedDelivery {
  return {
    organization_id: row.organization_id,
    webhook_id: row.webhook_id,
    delivery_created_at: row.created_at,
    delivery_id: deliveryId,
    attempts: row.attempts,
    scheduled: row.scheduled,
    event_id: row.event_id,
    type: row.type,
    event_created_at: row.event_created_at,
    workspace_id: row.workspace_id,
    actor: { type: row.actor_type, id: row.actor_id },
    subject: { type: row.subject_type, id: row.subject_id },
    payload: row.payload,
    traceparent: undefined,
    due_at: row.due_at ?? undefined,
    group: row.head === null ? undefined : groupOf(row, row.head, groups),
  };
}

function groupOf(row: ClaimRow, head: string, groups: Map<string, OpenGroup>): OpenGroup {
  const { organization_id, webhook_id, created_at, first } = row;
  const key = `${webhook_id} ${head} ${first}`;
  const group = groups.get(key) ?? {
    head,
    backlogKey: { organization_id, webhook_id, created_at, first },
    open: 0,
  };
  groups.set(key, group);
  group.open += 1;
  return group;
}
