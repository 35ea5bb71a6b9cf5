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

export interface BundleClaim extends Claim {
  /** Webhooks that can be given whole bundles, and several. */
  answering: readonly string[];
  /** Deliveries, as far as the first bundle of each webhook goes, and as far as further ones do. */
  firstMax: number;
  furtherMax: number;
}

export interface ClaimedBundles {
  deliveries: readonly LeasedDelivery[];
  /** Webhooks that were looked at and have more, in bundles or in rows by now. */
  remaining: readonly string[];
  /** It is worth asking again at once. */
  again: boolean;
  /** All webhooks were looked at that are not busy. */
  complete: boolean;
}

interface BundledRow {
  organization_id: string;
  webhook_id: string;
  created_at: Date;
  head: string;
  delivery_id: string;
  event_id: string;
  type: string;
  workspace_id: string | null;
  payload: string;
}

/** The last line tells of the claim instead of a delivery. */
type ClaimRow = { delivery_id: null } & Omit<ClaimedBundles, 'deliveries'>;

/**
 * Claims bundles that wait: whole ones of webhooks that are `answering`; of others one that is no larger than
 * `perWebhook`, or the first of it get rows, so many, which can be claimed next.
 */
export async function claimBundles(database: Queryable, claim: BundleClaim): Promise<ClaimedBundles> {
  const { rows } = await database.query<BundledRow | ClaimRow>({
    name: 'claim bundles',
    text: 'select * from posthorn.claim_bundles($1, $2, $3, $4, $5, $6, $7, $8)',
    values: [
      ...[claim.node, claim.busy, claim.answering, claim.perWebhook, claim.webhooksMax],
      ...[claim.firstMax, claim.furtherMax, claim.bytesMax],
    ],
    leases: true,
  });
  const deliveries: LeasedDelivery[] = [];
  const bundles = new Map<string, Bundle>();
  for (const row of rows) {
    if (row.delivery_id === null) {
      const { remaining, again, complete } = row;
      return { deliveries, remaining, again, complete };
    }
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
  // Where no bundle waits at all there is not even that line.
  return { deliveries, remaining: [], again: false, complete: true };
}
