import { arrayText } from './array-text.js';
import type { Queryable } from './database.js';
import type { Bundle, Settlement } from './deliveries.js';

/** Called once outcomes are written for good. */
export function countSettled(settlements: readonly Settlement[]): void {
  for (const { delivery } of settlements) if (delivery.bundle) delivery.bundle.open -= 1;
}

/**
 * Writes outcomes of deliveries that were in bundles, each as its only row, while the node is not taken for
 * dead, and ends the bundles of which these are the last. Answers the ids that were written, where asked to.
 * `again`: they may have been written before.
 */
export async function settleBundled(
  database: Queryable,
  node: number,
  settlements: readonly Settlement[],
  { again, answer }: { again: boolean; answer: boolean },
): Promise<ReadonlySet<string>> {
  const counts = new Map<Bundle, number>();
  for (const { delivery } of settlements) {
    if (delivery.bundle) counts.set(delivery.bundle, (counts.get(delivery.bundle) ?? 0) + 1);
  }
  const done = [...counts].filter(([{ open }, count]) => open === count).map(([bundle]) => bundle);
  const column = (read: (settlement: Settlement) => number | string | null | undefined) =>
    arrayText(settlements, read);
  const { rows } = await database.query<{ delivery_id: string }>({
    name: 'settle bundled',
    text: `
  select delivery_id
    from posthorn.settle_bundled($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                                 $17, $18, $19, $20, $21, $22)`,
    values: [
      node,
      column(({ delivery }) => delivery.organization_id),
      column(({ delivery }) => delivery.webhook_id),
      column(({ delivery }) => delivery.delivery_created_at.getTime()),
      column(({ delivery }) => delivery.delivery_id),
      column(({ delivery }) => delivery.event_id),
      column(({ delivery }) => delivery.type),
      column(({ status, delivery }) => (status === 'pending' ? bytesOf(delivery.payload) : null)),
      column((one) => one.status),
      column((one) => one.attempts),
      column((one) => one.wait_ms),
      column((one) => one.attempted_at?.getTime()),
      column((one) => one.http_status),
      column((one) => one.error),
      column((one) => one.duration_ms),
      column((one) => one.response),
      arrayText(done, (bundle) => bundle.organization_id),
      arrayText(done, (bundle) => bundle.webhook_id),
      arrayText(done, (bundle) => bundle.created_at.getTime()),
      arrayText(done, (bundle) => bundle.head),
      again,
      answer,
    ],
  });
  return new Set(rows.map((row) => row.delivery_id));
}

/** Told of what may be claimed later: a claim is bounded by what it brings. */
function bytesOf(payload: string | null): number | null {
  return payload === null ? null : Buffer.byteLength(payload);
}
