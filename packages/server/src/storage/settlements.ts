import { dayMs } from '../domain/duration.js';
import { arrayText } from './array-text.js';
import type { Queryable } from './database.js';
import type { Bundle, LeasedDelivery } from './leased-delivery.js';

/** What is written of a delivery after an attempt. `attempts` unchanged means none was made. */
export interface Settlement {
  delivery: LeasedDelivery;
  status: 'pending' | 'success' | 'failed' | 'cancelled';
  attempts: number;
  /** For one that stays pending: how long until it is due. */
  wait_ms?: number;
  attempted_at?: Date;
  http_status?: number | null;
  error?: string | null;
  duration_ms?: number | null;
  response?: string | null;
}

/** Writes outcomes where the lease is still the node's; answers the ids that were written, where asked to. */
export async function settleDeliveries(
  database: Queryable,
  node: number,
  settlements: readonly Settlement[],
  answer: boolean,
): Promise<ReadonlySet<string>> {
  const { rows } = await database.query<{ delivery_id: string }>({
    name: 'settle deliveries',
    text: `
  select delivery_id
    from posthorn.settle_outcomes($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    values: [node, daysOf(settlements), ...keysOf(settlements), ...outcomesOf(settlements), answer],
  });
  return new Set(rows.map((row) => row.delivery_id));
}

/** Which deliveries they are of, a column each. */
function keysOf(settlements: readonly Settlement[]): (string | null)[] {
  return [
    arrayText(settlements, ({ delivery }) => delivery.organization_id),
    arrayText(settlements, ({ delivery }) => delivery.webhook_id),
    arrayText(settlements, ({ delivery }) => delivery.delivery_created_at.getTime()),
    arrayText(settlements, ({ delivery }) => delivery.delivery_id),
  ];
}

/** What came of them, a column each. */
function outcomesOf(settlements: readonly Settlement[]): (string | null)[] {
  return [
    arrayText(settlements, (one) => one.status),
    arrayText(settlements, (one) => one.attempts),
    arrayText(settlements, (one) => one.wait_ms),
    arrayText(settlements, (one) => one.attempted_at?.getTime()),
    arrayText(settlements, (one) => one.http_status),
    arrayText(settlements, (one) => one.error),
    arrayText(settlements, (one) => one.duration_ms),
    arrayText(settlements, (one) => one.response),
  ];
}

/** The days their rows are of, as the names of the partitions end. */
function daysOf(settlements: readonly Settlement[]): string[] {
  const days = new Set(
    settlements.map(({ delivery }) => Math.floor(delivery.delivery_created_at.getTime() / dayMs)),
  );
  return Array.from(days, (day) => new Date(day * dayMs).toISOString().slice(0, 10).replaceAll('-', ''));
}

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
  const { rows } = await database.query<{ delivery_id: string }>({
    name: 'settle bundled',
    text: `
  select delivery_id
    from posthorn.settle_bundled($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                                 $17, $18, $19, $20, $21, $22)`,
    values: [
      node,
      ...keysOf(settlements),
      arrayText(settlements, ({ delivery }) => delivery.event_id),
      arrayText(settlements, ({ delivery }) => delivery.type),
      arrayText(settlements, ({ status, delivery }) =>
        status === 'pending' ? bytesOf(delivery.payload) : null,
      ),
      ...outcomesOf(settlements),
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
