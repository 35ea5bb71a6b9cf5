/** How many deliveries a node has room for. It tells the database the same way when it records and when it claims. */
export interface Room {
  /** Null: nothing can be leased to this process. */
  node: number | null;
  /** The webhooks for which it differs from `each`. */
  webhooks: ReadonlyMap<string, number>;
  /** For every other webhook. */
  each: number;
  /** For all of them together. */
  total: number;
}

export const noRoom: Room = { node: null, webhooks: new Map(), each: 0, total: 0 };

/** The room as the first arguments of the functions that lease. */
export function roomValues({ node, webhooks, each, total }: Room): unknown[] {
  if (webhooks.size === 0) return [node, null, null, each, total];
  return [node, [...webhooks.keys()], [...webhooks.values()], each, total];
}
