import { limits } from './limits.js';

/**
 * How the receiver of a webhook currently responds, as one node sees it:
 * - `new`: has not responded successfully yet
 * - `healthy`: responds
 * - `slow`: responds, but takes more than a second
 * - `stalled`: has requests in flight, but none has ended for a second
 * - `failing`: its last attempts all failed
 */
export const conditions = ['new', 'healthy', 'slow', 'stalled', 'failing'] as const;
export type Condition = (typeof conditions)[number];

/**
 * An immutable snapshot of what a node has observed about a webhook. Every attempt creates two, so a snapshot holds
 * only integers and is built field by field: floats and object spread would add 10 µs.
 */
export interface Observed {
  readonly successes: number;
  readonly failuresInARow: number;
  /** The moving average of the time an attempt takes, and its recent minimum, in microseconds. */
  readonly responseUs: number;
  readonly bestUs: number;
  /** How many requests the webhook may have in flight. */
  readonly window: number;
  readonly inFlight: number;
  /** When a request last ended, or when the first of those in flight started. */
  readonly silentSinceMs: number;
}

export const nothingObserved: Observed = {
  successes: 0,
  failuresInARow: 0,
  responseUs: 0,
  bestUs: 1_000_000_000,
  window: limits.windowAtStart,
  inFlight: 0,
  silentSinceMs: 0,
};

/** The current load of a node. */
export interface Load {
  /** Requests in flight, and how many of them started while their webhook was not healthy. */
  inFlight: number;
  unhealthy: number;
  /** Requests in flight to webhooks that are currently stalled. */
  stalled: number;
  /** The size of the payloads in flight, and of those sent while their webhook was not healthy. */
  bytesInFlight: number;
  unhealthyBytesInFlight: number;
  /** Deliveries of responsive webhooks in memory, the size of their payloads, and the size of all other payloads. */
  queued: number;
  queuedBytes: number;
  unresponsiveBytes: number;
  /** Failing webhooks with deliveries in memory. */
  failing: number;
}

/** What a webhook has in a node's memory. */
export interface Held {
  queued: number;
  bytes: number;
  /** The usual size of a delivery; 0 if the node has not had any. */
  usualBytes: number;
  /** How many places in the window are taken. */
  occupied: number;
}

/** What a webhook is allowed at the moment. */
export interface Allowance {
  /** How many deliveries may be in memory, and the number above which some are given back. */
  inMemory: number;
  kept: number;
  /** How long a failed request keeps its place in the window. */
  restMs: number;
  /** Deliveries to claim. */
  toClaim: number;
}

/** Returns the condition of a webhook. `isStuck`: it has started nothing for a second, which counts as stalled. */
export function conditionOf(observed: Observed, nowMs: number, isStuck = false): Condition {
  if (observed.failuresInARow >= limits.failingAfter) return 'failing';
  if (isStuck) return 'stalled';
  if (observed.inFlight > 0 && nowMs - observed.silentSinceMs > limits.slowMs) return 'stalled';
  if (observed.successes === 0) return 'new';
  return observed.responseUs > limits.slowMs * 1_000 ? 'slow' : 'healthy';
}

/** Returns whether a webhook has responded successfully and is not failing. Such webhooks get most of the memory. */
export function isResponsive({ successes, failuresInARow }: Observed): boolean {
  return successes > 0 && failuresInARow < limits.failingAfter;
}

export function started(observed: Observed, nowMs: number): Observed {
  const { successes, failuresInARow, responseUs, bestUs, window, inFlight } = observed;
  const silentSinceMs = inFlight === 0 ? Math.floor(nowMs) : observed.silentSinceMs;
  return { successes, failuresInARow, responseUs, bestUs, window, inFlight: inFlight + 1, silentSinceMs };
}

/** The parts of an attempt's result that the policy needs. */
export type Ended = { kind: 'delivered' | 'failed'; tookMs: number } | { kind: 'not attempted' };

/** Returns the observations after an attempt has ended. `isWaiting`: more deliveries of the webhook are queued. */
export function ended(observed: Observed, attempt: Ended, isWaiting: boolean, nowMs: number): Observed {
  let { successes, failuresInARow, responseUs, bestUs, window } = observed;
  if (attempt.kind !== 'not attempted') {
    // If the average started at 0, the first responses would look fast, and the receiver would then always seem to have
    // slowed down.
    const tookUs = attempt.tookMs * 1_000;
    responseUs = Math.round(responseUs === 0 ? tookUs : responseUs + (tookUs - responseUs) / 8);
    bestUs = Math.min(responseUs, bestUs);
  }
  if (attempt.kind === 'delivered') {
    successes += 1;
    failuresInARow = 0;
    if (successes % window === 0) {
      // A receiver may have become permanently slower. This can be measured only at the usual window: a
      // larger window can itself slow the receiver down.
      if (window === limits.windowUsual) bestUs = Math.round(bestUs + (responseUs - bestUs) / 32);
      window = nextWindow(window, responseUs, bestUs, isWaiting);
    }
  } else if (attempt.kind === 'failed') {
    failuresInARow += 1;
    if (failuresInARow === limits.failingAfter) [successes, window] = [0, limits.windowAtStart];
  }
  const [inFlight, silentSinceMs] = [observed.inFlight - 1, Math.floor(nowMs)];
  return { successes, failuresInARow, responseUs, bestUs, window, inFlight, silentSinceMs };
}

/**
 * Returns the window after a round of successes. It doubles up to the usual window. It grows further only
 * while deliveries are waiting and the receiver responds slowly but not more slowly than before: such a
 * receiver is limited by latency, not by load.
 */
function nextWindow(window: number, responseUs: number, bestUs: number, isWaiting: boolean): number {
  if (window < limits.windowUsual) return window * 2;
  const isQuick = responseUs < limits.elasticMs * 1_000;
  const isSlowedDown = responseUs > bestUs * 1.5 + limits.gatherMs * 1_000;
  if (isQuick || isSlowedDown) return Math.max(limits.windowUsual, Math.floor(window * 0.75));
  return isWaiting ? Math.min(window * 2, limits.windowMax) : window;
}

/** Returns what a webhook is allowed, given its condition, deliveries in memory and rate limit, and the node's load. */
export function allow(
  condition: Condition,
  observed: Observed,
  held: Held,
  load: Load,
  rateLimit: number = Number.POSITIVE_INFINITY,
): Allowance {
  const inMemory = Math.min(inMemoryOf(condition, observed, held, load), rateLimit * limits.pacedSeconds);
  const room = inMemory - held.queued;
  return {
    inMemory,
    kept: keptOf(condition, observed, inMemory, load),
    restMs: condition === 'failing' ? restMsOf(observed, load) : 0,
    toClaim: room >= inMemory * limits.claimRoomMin ? Math.max(0, room) : 0,
  };
}

/** Returns how many requests a webhook may have in flight, given its condition and window, and the node's load. */
export function inFlightOf(
  condition: Condition,
  window: number,
  load: Pick<Load, 'inFlight' | 'unhealthy' | 'stalled'>,
): number {
  if (load.inFlight - Math.min(load.stalled, limits.spareSlots) >= limits.slots) return 0;
  const isSpare = load.inFlight >= limits.slots;
  switch (condition) {
    case 'healthy':
      if (isSpare) return Math.min(window, limits.windowAtStart);
      return load.inFlight < limits.elasticSlots ? window : Math.min(window, limits.windowUsual);
    case 'new':
    case 'slow':
    case 'stalled':
      if (isSpare || load.unhealthy >= limits.unhealthySlots) return 0;
      return load.unhealthy < limits.elasticUnhealthySlots ? window : Math.min(window, limits.windowUsual);
    case 'failing':
      return isSpare || load.unhealthy >= limits.unhealthySlots ? 0 : limits.windowFailing;
  }
}

/**
 * Returns whether a webhook may start a delivery of this size, given the size of what it and the node have in flight.
 * Requests that hang keep their payloads in memory until they time out.
 */
export function fitsInFlight(
  condition: Condition,
  bytes: number,
  ownBytes: number,
  load: Pick<Load, 'bytesInFlight' | 'unhealthyBytesInFlight'>,
): boolean {
  if (!fitsInto(limits.inFlightBytes, load.bytesInFlight, bytes, ownBytes)) return false;
  if (condition === 'healthy') return true;
  return fitsInto(limits.unhealthyInFlightBytes, load.unhealthyBytesInFlight, bytes, ownBytes);
}

/**
 * Returns whether a payload fits into a limit. The first part of the limit is for any payload, and the second is for
 * webhooks with nothing in flight, so that each makes progress. The rest is for small payloads, which therefore never
 * wait for large ones.
 */
function fitsInto(limit: number, used: number, bytes: number, ownBytes: number): boolean {
  if (ownBytes + bytes <= (limit - used) * limits.littleFraction) return true;
  if (ownBytes === 0) return used < limit * limits.firstFraction;
  return used + bytes <= limit * limits.severalFraction && ownBytes + bytes <= limit * limits.laneFraction;
}

function inMemoryOf(condition: Condition, observed: Observed, held: Held, load: Load): number {
  if (!isResponsive(observed)) return Math.min(mostOf(condition), unresponsiveInMemory(held, load));
  if (condition !== 'stalled') return responsiveInMemory(held, load);
  // Webhooks that are stalled never fill more than half of the memory.
  const othersBytes = load.queuedBytes - held.bytes;
  const share = (limits.queuedBytes / 2 - othersBytes) * limits.shareFraction;
  return Math.min(mostOf(condition), fitting(share, held));
}

function mostOf(condition: Condition): number {
  return condition === 'failing' ? limits.laneQueuedFailing : limits.laneQueuedNew;
}

/**
 * Returns how many deliveries a webhook may keep. As long as memory is free, giving some back is not worth a write.
 */
function keptOf(condition: Condition, observed: Observed, inMemory: number, load: Load): number {
  if (isResponsive(observed))
    return condition === 'stalled' && isFull(load) ? inMemory : Number.POSITIVE_INFINITY;
  return load.unresponsiveBytes > limits.unresponsiveBytes ? inMemory : Math.max(inMemory, mostOf(condition));
}

/** Returns whether only the reserve is left for webhooks that are responsive. */
export function isFull({ queuedBytes }: Load): boolean {
  return queuedBytes >= limits.queuedBytes;
}

function responsiveInMemory(held: Held, load: Load): number {
  const freeBytes = Math.max(0, limits.queuedBytes - load.queuedBytes);
  if (held.queued > 0 && held.bytes >= Math.min(limits.laneBytes, freeBytes / 2)) return held.queued;
  if (freeBytes === 0) {
    const share = (limits.queuedBytes + limits.reservedBytes - load.queuedBytes) * limits.shareFraction;
    return Math.min(limits.windowAtStart, fitting(share, held));
  }
  // Half of what the other webhooks leave free, so that some room always remains.
  const others = load.queued - held.queued;
  const half = Math.floor((limits.queued - others - limits.queuedReserve) / 2);
  return Math.max(limits.queuedMin, Math.min(limits.laneQueued, half));
}

/**
 * Returns how many deliveries a webhook that is not responsive may have in memory. However many such webhooks there
 * are, a new one gets some room, unless its payloads are large.
 */
function unresponsiveInMemory(held: Held, load: Load): number {
  const othersBytes = load.unresponsiveBytes - held.bytes;
  const share = (limits.unresponsiveBytesMax - othersBytes) * limits.shareFraction;
  const fits = fitting(Math.min(limits.laneUnresponsiveBytes, share), held);
  if (othersBytes >= limits.unresponsiveBytes)
    return Math.min(Math.max(held.queued, limits.windowAtStart), fits);
  return held.occupied === 0 ? Math.max(1, fits) : fits;
}

/** Returns how many deliveries of the usual size fit into this many bytes. */
function fitting(bytes: number, { usualBytes }: Held): number {
  return usualBytes === 0 ? limits.laneQueued : Math.max(0, Math.floor(bytes / usualBytes));
}

/**
 * Returns how long a failed request keeps its place. This time grows with the number of consecutive failures and with
 * the number of failing webhooks: together they get about 600 attempts per second, and webhooks that respond lose
 * nothing.
 */
function restMsOf({ failuresInARow }: Observed, { failing }: Load): number {
  const factor = Math.min(limits.restFactorMax, 1 + failuresInARow / limits.restLongerEvery);
  return limits.restMs * Math.max(factor, failing / limits.windowFailing);
}
