/** How many deliveries a node has room for. Recordings and claims send this to the database. */
export interface Room {
  /** Null if nothing can be leased to this process. */
  node: number | null;
  /** Webhooks whose room differs from `each`. */
  webhooks: ReadonlyMap<string, number>;
  /** For every other webhook. */
  each: number;
  /** For all webhooks together. */
  total: number;
}

export const noRoom: Room = { node: null, webhooks: new Map(), each: 0, total: 0 };

/** Returns the room as the last arguments of `posthorn.record`. */
export function roomValues({ node, webhooks, each, total }: Room): unknown[] {
  if (webhooks.size === 0) return [node, null, null, each, total];
  return [node, [...webhooks.keys()], [...webhooks.values()], each, total];
}
