import { limits } from './limits.js';

/**
 * How the receiver of a webhook currently responds, as one node sees it:
 * - `new`: has not responded successfully yet
 * - `healthy`: responds
 * - `slow`: responds, but takes more than a second
 * - `stalled`: has requests in flight, but none has ended for a second
 * - `failing`: its last attempts, five or more, all failed
 */
export const conditions = ['new', 'healthy', 'slow', 'stalled', 'failing'] as const;
export type Condition = (typeof conditions)[number];

/**
 * An immutable snapshot of what a node has observed about a webhook. Each attempt creates two snapshots, so creating
 * one must be cheap. A snapshot holds only integers and is built field by field: floats and object spread would add
 * 10 µs to each attempt.
 */
export interface Observed {
  /** Successes since the webhook was last failing, or since this node started to send to it. */
  readonly successes: number;
  readonly failuresInARow: number;
  /** The moving average of how long an attempt takes, in microseconds. 0 before the first one has ended. */
  readonly responseUs: number;
  /** The lowest `responseUs` so far. It rises slowly if the receiver becomes permanently slower. */
  readonly bestUs: number;
  /** How many requests the webhook may have in flight. */
  readonly window: number;
  readonly inFlight: number;
  /** When a request last ended or, if none was left in flight then, when the next one started. */
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
  inFlight: number;
  /** Requests in flight that started while their webhook was not healthy. */
  unhealthy: number;
  /** Requests in flight to webhooks that are currently stalled. */
  stalled: number;
  /** The size of the deliveries in flight. */
  bytesInFlight: number;
  /** The size of the deliveries in flight that started while their webhook was not healthy. */
  unhealthyBytesInFlight: number;
  /** Queued deliveries of responsive webhooks, and surplus deliveries of any webhook, until they are given back. */
  queued: number;
  /** The size of the deliveries that `queued` counts. */
  queuedBytes: number;
  /** The size of the queued deliveries of webhooks that are not responsive. */
  unresponsiveBytes: number;
  /** Failing webhooks with queued deliveries. */
  failing: number;
}

/** What a webhook has in a node's memory. */
export interface Held {
  queued: number;
  /** The size of the queued deliveries. */
  bytes: number;
  /** The usual size of one delivery; 0 if the node has not had any. */
  usualBytes: number;
  /** How many places in the window are taken. */
  occupied: number;
}

/** What a webhook is allowed at the moment. */
export interface Allowance {
  /** How many deliveries may be queued in memory. The node takes no more than this. */
  inMemory: number;
  /** How many queued deliveries the webhook may keep. If it has more, the rest is given back. */
  kept: number;
  /** How long a failed request keeps its place in the window. */
  restMs: number;
  /** How many deliveries to claim. */
  toClaim: number;
}

/**
 * Returns the condition of a webhook. `isStuck`: memory is full, and the webhook has queued deliveries but has started
 * none of them for a second. It then counts as stalled, too.
 */
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

/** Returns the observations after a request has started. */
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
    // The first attempt sets the average. If the average started at 0, the first responses would look too fast, and the
    // receiver would then always seem to have slowed down.
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
 * Returns the next window. Called each time a webhook has had as many successes as its window has places. The window
 * doubles until it has the usual size. It grows further only while deliveries are waiting and responses take
 * at least `elasticMs`, but no longer than before: such a receiver is limited by latency, not by load. If responses
 * take less time or have become slower, the window shrinks again, down to the usual size.
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
  // For each slot that a stalled webhook holds, there is a spare one. Only healthy webhooks get those.
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
 * Returns whether a webhook that has `ownBytes` in flight may start a delivery of `bytes`. The bytes in flight
 * are limited because requests that hang keep their payloads in memory until they time out.
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
 * Returns whether a delivery fits into a limit on the bytes in flight. Each part of the limit has a purpose:
 * - Up to `severalFraction`, a webhook may have several deliveries of any size in flight, within `laneFraction`.
 * - From there to `firstFraction`, only a webhook with nothing in flight may start a large delivery, so that every
 *   webhook makes progress.
 * - The rest is for small deliveries, which therefore never wait for large ones.
 */
function fitsInto(limit: number, used: number, bytes: number, ownBytes: number): boolean {
  if (ownBytes + bytes <= (limit - used) * limits.littleFraction) return true;
  if (ownBytes === 0) return used < limit * limits.firstFraction;
  return used + bytes <= limit * limits.severalFraction && ownBytes + bytes <= limit * limits.laneFraction;
}

/** Returns how many deliveries a webhook may have queued, before its rate limit is applied. */
function inMemoryOf(condition: Condition, observed: Observed, held: Held, load: Load): number {
  if (!isResponsive(observed)) return Math.min(queuedMaxOf(condition), unresponsiveInMemory(held, load));
  if (condition !== 'stalled') return responsiveInMemory(held, load);
  // A stalled webhook gets room only while the others use less than half of the memory.
  const othersBytes = load.queuedBytes - held.bytes;
  const share = (limits.queuedBytes / 2 - othersBytes) * limits.shareFraction;
  return Math.min(queuedMaxOf(condition), fitting(share, held));
}

/** Returns the maximum number of queued deliveries for a webhook that is new, failing or stalled. */
function queuedMaxOf(condition: Condition): number {
  return condition === 'failing' ? limits.laneQueuedFailing : limits.laneQueuedNew;
}

/**
 * Returns how many queued deliveries a webhook may keep. While memory is free, giving some back is not worth a write.
 */
function keptOf(condition: Condition, observed: Observed, inMemory: number, load: Load): number {
  if (isResponsive(observed))
    return condition === 'stalled' && isFull(load) ? inMemory : Number.POSITIVE_INFINITY;
  return load.unresponsiveBytes > limits.unresponsiveBytes
    ? inMemory
    : Math.max(inMemory, queuedMaxOf(condition));
}

/** Returns whether responsive webhooks have filled the memory, except for what is reserved (`reservedBytes`). */
export function isFull({ queuedBytes }: Load): boolean {
  return queuedBytes >= limits.queuedBytes;
}

/** Returns how many deliveries a responsive webhook may have queued, unless it is stalled. */
function responsiveInMemory(held: Held, load: Load): number {
  const freeBytes = Math.max(0, limits.queuedBytes - load.queuedBytes);
  // A webhook that already has its part keeps what it has, but gets no more.
  if (held.queued > 0 && held.bytes >= Math.min(limits.laneBytes, freeBytes / 2)) return held.queued;
  if (freeBytes === 0) {
    // The webhook has nothing queued, so it gets a part of what is reserved for such webhooks.
    const share = (limits.queuedBytes + limits.reservedBytes - load.queuedBytes) * limits.shareFraction;
    return Math.min(limits.windowAtStart, fitting(share, held));
  }
  // Half of what the other webhooks leave free, so that some room always remains.
  const others = load.queued - held.queued;
  const half = Math.floor((limits.queued - others - limits.queuedReserve) / 2);
  return Math.max(limits.queuedMin, Math.min(limits.laneQueued, half));
}

/**
 * Returns how many deliveries a webhook that is not responsive may have queued. However many such webhooks there are,
 * another one still gets some room, unless its payloads are large.
 */
function unresponsiveInMemory(held: Held, load: Load): number {
  const othersBytes = load.unresponsiveBytes - held.bytes;
  const share = (limits.unresponsiveBytesMax - othersBytes) * limits.shareFraction;
  const fits = fitting(Math.min(limits.laneUnresponsiveBytes, share), held);
  if (othersBytes >= limits.unresponsiveBytes)
    return Math.min(Math.max(held.queued, limits.windowAtStart), fits);
  // With nothing in flight, a webhook gets at least one delivery, so that it makes progress.
  return held.occupied === 0 ? Math.max(1, fits) : fits;
}

/** Returns how many deliveries of the usual size fit into this many bytes. */
function fitting(bytes: number, { usualBytes }: Held): number {
  return usualBytes === 0 ? limits.laneQueued : Math.max(0, Math.floor(bytes / usualBytes));
}

/**
 * Returns how long a failed request keeps its place in the window. This time grows with the number of failures in a
 * row and with the number of failing webhooks. All failing webhooks together get at most about 600 attempts per second,
 * so that they do not slow down the others.
 */
function restMsOf({ failuresInARow }: Observed, { failing }: Load): number {
  const factor = Math.min(limits.restFactorMax, 1 + failuresInARow / limits.restLongerEvery);
  return limits.restMs * Math.max(factor, failing / limits.windowFailing);
}
