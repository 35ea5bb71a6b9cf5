import type { Queryable } from './database.js';
import type { Bundle, LeasedDelivery } from './leased-delivery.js';

export interface Claim {
  node: number;
  /** Webhooks that have enough to do here already. */
  busy: readonly string[];
  perWebhook: number;
  webhooksMax: number;
  /** Of payloads, all together. One delivery, or one bundle, is brought however large it is. */
  bytesMax: number;
}

/** What was claimed, and whether the bound on bytes left something behind. */
export async function claimDeliveries(
  database: Queryable,
  claim: Claim & { notBefore: Date },
): Promise<{ deliveries: readonly LeasedDelivery[]; cut: boolean }> {
  const { rows } = await database.query<LeasedDelivery & { cut: boolean }>({
    name: 'claim deliveries',
    text: 'select * from posthorn.claim_due($1, $2, $3, $4, $5, $6)',
    values: [claim.node, claim.busy, claim.perWebhook, claim.webhooksMax, claim.bytesMax, claim.notBefore],
    leases: true,
  });
  return { deliveries: rows, cut: rows[0]?.cut ?? false };
}

interface BundledRow {
  organization_id: string;
  webhook_id: string;
  created_at: Date;
  head: string;
  /** Null where the line tells of no delivery. */
  delivery_id: string | null;
  event_id: string;
  type: string;
  workspace_id: string | null;
  payload: string;
  more: boolean;
}

/**
 * Claims bundles that wait: whole ones of webhooks that are `answering`; of others one that is no larger than
 * `perWebhook`, or it gets rows that can be claimed next. `more` are the webhooks that have something left.
 */
export async function claimBundles(
  database: Queryable,
  claim: Claim & { answering: readonly string[]; deliveriesMax: number },
): Promise<{ deliveries: readonly LeasedDelivery[]; more: ReadonlySet<string> }> {
  const { rows } = await database.query<BundledRow>({
    name: 'claim bundles',
    text: 'select * from posthorn.claim_bundles($1, $2, $3, $4, $5, $6, $7)',
    values: [
      ...[claim.node, claim.busy, claim.answering, claim.perWebhook, claim.webhooksMax],
      ...[claim.deliveriesMax, claim.bytesMax],
    ],
    leases: true,
  });
  const deliveries: LeasedDelivery[] = [];
  const more = new Set<string>();
  const bundles = new Map<string, Bundle>();
  for (const row of rows) {
    if (row.more) more.add(row.webhook_id);
    if (row.delivery_id === null) continue;
    const { organization_id, webhook_id, created_at, head, delivery_id, event_id, type } = row;
    const key = webhook_id + head;
    const bundle = bundles.get(key) ?? { organization_id, webhook_id, created_at, head, open: 0 };
    bundles.set(key, bundle);
    bundle.open += 1;
    deliveries.push({
      ...{ organization_id, webhook_id, delivery_created_at: created_at, delivery_id, attempts: 0 },
      ...{ event_id, type, event_created_at: created_at },
      ...{ workspace_id: row.workspace_id, payload: row.payload, bundle },
    });
  }
  return { deliveries, more };
}
