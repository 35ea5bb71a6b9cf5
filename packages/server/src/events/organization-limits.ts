import { rateLimited } from '../values/problem.js';
import { durationText } from '../values/time.js';

/** Limits for each organization. A limit of 0 is off. */
export interface OrganizationLimits {
  /** How many events this process records per second. */
  eventsPerSecond: number;
  /** How many deliveries may wait in the database. */
  waitingMax: number;
}

/** Counts the waiting deliveries of an organization. Stops at `atMost`. */
export type CountWaiting = (organizationId: string, atMost: number) => Promise<number>;

interface Known {
  /** When the events that were recorded so far are within the rate. */
  paidUntilMs: number;
  waiting: number;
  /** When to count the waiting deliveries again. */
  countAtMs: number;
}

/** An organization that was idle may record this much at once. */
const burstMs = 1_000;
const countEveryMs = 1_000;
/** A count takes at most this part of the time. */
const countFraction = 0.05;
const waitingRetrySeconds = 10;
/** Limits memory use: the organization that recorded least recently is forgotten. */
const organizationsMax = 10_000;

/** Refuses requests to record events of organizations that exceed a limit. */
export class OrganizationLimiter {
  readonly #limits: OrganizationLimits;
  readonly #countWaiting: CountWaiting;
  readonly #now: () => number;
  readonly #known = new Map<string, Known>();

  constructor(limits: OrganizationLimits, countWaiting: CountWaiting, now = () => performance.now()) {
    this.#limits = limits;
    this.#countWaiting = countWaiting;
    this.#now = now;
  }

  /** Counts the events of a request. Throws a problem, and counts nothing, if an organization exceeds a limit. */
  admit(events: readonly { organization_id: string }[]): void {
    const nowMs = this.#now();
    const counts = new Map<string, number>();
    for (const { organization_id: id } of events) counts.set(id, (counts.get(id) ?? 0) + 1);
    for (const id of counts.keys()) this.#refuseAbove(id, nowMs);
    const { eventsPerSecond } = this.#limits;
    if (eventsPerSecond === 0) return;
    for (const [id, count] of counts) {
      const known = this.#of(id);
      known.paidUntilMs = Math.max(nowMs, known.paidUntilMs) + (count * 1_000) / eventsPerSecond;
    }
  }

  #refuseAbove(id: string, nowMs: number): void {
    const { eventsPerSecond, waitingMax } = this.#limits;
    const known = this.#of(id);
    const waitSeconds = Math.ceil((known.paidUntilMs - nowMs - burstMs) / 1_000);
    if (waitSeconds > 0)
      throw rateLimited(
        `${id} can record ${eventsPerSecond} events per second through each process. Nothing was recorded. Try again ` +
          `in ${durationText(waitSeconds * 1_000)}. POSTHORN_EVENTS_PER_SECOND sets the limit.`,
        waitSeconds,
      );
    if (waitingMax === 0) return;
    if (nowMs >= known.countAtMs) void this.#count(id, known, waitingMax);
    if (known.waiting >= waitingMax)
      throw rateLimited(
        `${id} has ${waitingMax} or more deliveries waiting. Nothing was recorded. Repair, resume or disable the ` +
          `webhooks that do not keep up, and try again. POSTHORN_WAITING_PER_ORGANIZATION sets the limit.`,
        waitingRetrySeconds,
      );
  }

  /** Counts in the background, so that no request waits for it. If that fails, the last count stays. */
  async #count(id: string, known: Known, waitingMax: number): Promise<void> {
    const startedMs = this.#now();
    known.countAtMs = Number.POSITIVE_INFINITY;
    known.waiting = await this.#countWaiting(id, waitingMax).catch(() => known.waiting);
    const endedMs = this.#now();
    known.countAtMs = endedMs + Math.max(countEveryMs, (endedMs - startedMs) / countFraction);
  }

  #of(id: string): Known {
    const known = this.#known.get(id) ?? { paidUntilMs: 0, waiting: 0, countAtMs: 0 };
    // Who recorded most recently comes last.
    this.#known.delete(id);
    this.#known.set(id, known);
    if (this.#known.size > organizationsMax) {
      const [oldest = ''] = this.#known.keys();
      this.#known.delete(oldest);
    }
    return known;
  }
}
