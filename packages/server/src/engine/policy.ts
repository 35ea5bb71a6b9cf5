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
  /** When the first of these successes was. */
  readonly respondsSinceMs: number;
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
  respondsSinceMs: 0,
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

/** What a webhook contributes to the load of a node. */
export interface LaneLoad {
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

/** Returns the condition of a webhook. */
export function conditionOf(observed: Observed, nowMs: number): Condition {
  if (observed.failuresInARow >= limits.failingAfter) return 'failing';
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
  const { successes, respondsSinceMs, failuresInARow, responseUs, bestUs, window } = observed;
  const inFlight = observed.inFlight + 1;
  const silentSinceMs = inFlight === 1 ? Math.floor(nowMs) : observed.silentSinceMs;
  return {
    successes,
    respondsSinceMs,
    failuresInARow,
    responseUs,
    bestUs,
    window,
    inFlight,
    silentSinceMs,
  };
}

/** The parts of an attempt's result that the policy needs. */
export type Ended = { kind: 'delivered' | 'failed'; tookMs: number } | { kind: 'not attempted' };

/** Returns the observations after an attempt has ended. `isWaiting`: more deliveries of the webhook are queued. */
export function ended(observed: Observed, attempt: Ended, isWaiting: boolean, nowMs: number): Observed {
  let { successes, respondsSinceMs, failuresInARow, responseUs, bestUs, window } = observed;
  if (attempt.kind !== 'not attempted') {
    // The first attempt sets the average. If the average started at 0, the first responses would look too fast, and the
    // receiver would then always seem to have slowed down.
    const tookUs = attempt.tookMs * 1_000;
    responseUs = Math.round(responseUs === 0 ? tookUs : responseUs + (tookUs - responseUs) / 8);
    bestUs = Math.min(responseUs, bestUs);
  }
  if (attempt.kind === 'delivered') {
    if (successes === 0) respondsSinceMs = Math.floor(nowMs);
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
  return {
    successes,
    respondsSinceMs,
    failuresInARow,
    responseUs,
    bestUs,
    window,
    inFlight,
    silentSinceMs,
  };
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
  lane: LaneLoad,
  load: Load,
  rateLimit: number = Number.POSITIVE_INFINITY,
): Allowance {
  const responds = isResponsive(observed);
  const [used, limit] = responds
    ? [load.queuedBytes, limits.queuedBytes]
    : [load.unresponsiveBytes, limits.unresponsiveBytes];
  const others = used - lane.bytes;
  const crowdedAt = limit * limits.crowdedFraction;
  // With nothing in flight, a webhook gets at least one delivery, so that it makes progress.
  const least = lane.occupied === 0 && others < crowdedAt ? 1 : 0;
  const fits = (part: number) => Math.max(least, fitting((limit - others) * part, lane));
  const countMax = countMaxOf(condition, lane, load);
  const inMemory = Math.min(countMax, rateLimit * limits.pacedSeconds, fits(limits.laneFraction));
  const room = inMemory - lane.queued;
  return {
    inMemory,
    kept: Math.min(
      responds ? Number.POSITIVE_INFINITY : countMax,
      // More than it may take, so that nothing goes back and forth.
      used < crowdedAt ? Number.POSITIVE_INFINITY : fits(limits.laneFraction * 2),
    ),
    restMs: condition === 'failing' ? restMsOf(observed, load) : 0,
    toClaim: room >= inMemory * limits.claimRoomMin ? Math.max(0, room) : 0,
  };
}

/**
 * Returns how many requests a webhook may have in flight while it has an old backlog, of at most `max`: a few when it
 * begins to respond, and evenly more over a minute. Such a backlog waited for a verification or for a repair, and its
 * receiver may not be made for days of events at once.
 */
export function gently(max: number, { successes, respondsSinceMs }: Observed, nowMs: number): number {
  const part = successes === 0 ? 0 : Math.min(1, (nowMs - respondsSinceMs) / limits.gentleMs);
  const first = Math.min(limits.gentleFrom, max);
  return Math.floor(first + (max - first) * part);
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
  const fits = (limit: number, used: number) =>
    ownBytes + bytes <= (limit - (used - ownBytes)) * limits.laneFraction ||
    (ownBytes === 0 && used < limit * limits.firstFraction);
  if (!fits(limits.inFlightBytes, load.bytesInFlight)) return false;
  return condition === 'healthy' || fits(limits.unhealthyInFlightBytes, load.unhealthyBytesInFlight);
}

/** Returns how many deliveries a webhook may have queued, whatever their size. */
function countMaxOf(condition: Condition, lane: LaneLoad, load: Load): number {
  if (condition === 'failing') return limits.laneQueuedFailing;
  if (condition === 'new' || condition === 'stalled') return limits.laneQueuedNew;
  // Half of what the other webhooks leave free, so that some room always remains.
  const others = load.queued - lane.queued;
  const half = Math.floor((limits.queued - others - limits.queuedReserve) / 2);
  return Math.max(limits.queuedMin, Math.min(limits.laneQueued, half));
}

/** Returns whether so many bytes are queued that deliveries are given back, and unknown webhooks get little. */
export function isCrowded({ queuedBytes, unresponsiveBytes }: Load): boolean {
  return (
    queuedBytes >= limits.queuedBytes * limits.crowdedFraction ||
    unresponsiveBytes >= limits.unresponsiveBytes * limits.crowdedFraction
  );
}

/** Returns how many deliveries of the usual size fit into this many bytes. */
function fitting(bytes: number, { usualBytes }: LaneLoad): number {
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
