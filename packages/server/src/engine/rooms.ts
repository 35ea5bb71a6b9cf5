import type { Room } from '../events/room.js';
import type { Lane } from './lane.js';
import { limits } from './limits.js';
import { type Allowance, isFull, type Load } from './policy.js';

/** The state from which the room of a node is calculated. */
export interface Occupancy {
  /** The ID under which the node leases deliveries. */
  node: number;
  lanes: Iterable<Lane>;
  load: Load;
  nowMs: number;
}

/**
 * Returns how many deliveries a recording may hand to this node: at most a quarter of what is free, and none for a
 * webhook with many waiting in the database, because those come first.
 */
export function roomToRecord(at: Occupancy): Room {
  return roomOf(at, limits.laneQueuedNew, freeIn(at.load) / 4, ({ waiting, queued }, { inMemory }) =>
    waiting === 'many' ? 0 : Math.floor(inMemory * limits.recordedFraction) - queued,
  );
}

/** Returns how many deliveries a claim may lease to this node. `fraction` scales the claim down. */
export function roomToClaim(at: Occupancy, fraction: number): Room {
  const free = freeIn(at.load);
  const claimable = free > limits.queuedReserve ? free - limits.queuedReserve : free / 4;
  const total = Math.min(limits.claimDeliveries, claimable) * fraction;
  return roomOf(at, Math.max(1, limits.claimEach * fraction), total, (_, { toClaim }) =>
    Math.ceil(toClaim * fraction),
  );
}

/** Returns how many more deliveries fit into memory, or 0 if the limit on their size is reached. */
function freeIn({ queued, queuedBytes }: Load): number {
  return queuedBytes >= limits.queuedBytes + limits.reservedBytes ? 0 : Math.max(0, limits.queued - queued);
}

/** Returns the room for each webhook: what `ofLane` returns if it has a lane, and otherwise `each`. */
function roomOf(
  { node, lanes, load, nowMs }: Occupancy,
  each: number,
  total: number,
  ofLane: (lane: Lane, may: Allowance) => number,
): Room {
  const isCrowded = isFull(load) || load.unresponsiveBytes >= limits.unresponsiveBytes;
  const webhooks = new Map<string, number>();
  for (const lane of lanes) {
    // Most lanes are idle. They need not be listed, because they get the same room as an unknown webhook, unless
    // memory is crowded.
    if (lane.isIdle && !isCrowded) continue;
    webhooks.set(lane.webhookId, Math.max(0, ofLane(lane, lane.allowance(load, nowMs))));
  }
  const eachMax = isCrowded ? limits.windowAtStart : each;
  return { node, webhooks, each: Math.floor(Math.min(each, eachMax)), total: Math.floor(total) };
}
