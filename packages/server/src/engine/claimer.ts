import type { Logger } from 'pino';
import type { LeasedDelivery } from '../events/recording-store.js';
import { type Database, databaseLimits } from '../postgres/database.js';
import { levelFor } from '../signals/reported-error.js';
import { claim } from './claim-store.js';
import type { Lanes } from './lanes.js';
import { limits } from './limits.js';

export interface ClaimerOptions {
  database: Database;
  logger: Logger;
  lanes: Lanes;
  /** The ID under which this node leases deliveries; undefined while it has none. */
  node: () => number | undefined;
  onClaimed: (deliveries: readonly LeasedDelivery[]) => void;
}

/**
 * Claims deliveries that are waiting in the database: the backlog, retries, and deliveries that a node gave back or
 * that a dead node left behind. Runs one claim at a time.
 */
export class Claimer {
  readonly #options: ClaimerOptions;
  #timer: NodeJS.Timeout | undefined;
  /** When the next claim is scheduled. */
  #dueAtMs = Number.POSITIVE_INFINITY;
  #claiming: Promise<void> | undefined;
  /**
   * How large the next claim may be, as a fraction of the usual limits. A claim can fail because it was too large, so
   * each failure halves the fraction, and each success raises it a little. A smaller claim also gets more time: while
   * an old transaction is open, vacuum cannot remove dead rows, and even a small claim has to skip all of them.
   */
  #fraction = 1;
  readonly #stopping = new AbortController();

  constructor(options: ClaimerOptions) {
    this.#options = options;
  }

  /** Schedules a claim in `ms` milliseconds, unless an earlier one is already scheduled. */
  wake(ms = 0): void {
    if (this.#stopping.signal.aborted) return;
    const dueAtMs = performance.now() + ms;
    if (dueAtMs >= this.#dueAtMs) return;
    this.#dueAtMs = dueAtMs;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#run(), ms);
  }

  #run(): void {
    // The running claim checks `#dueAtMs` when it ends.
    if (this.#claiming || this.#stopping.signal.aborted) return;
    this.#dueAtMs = Number.POSITIVE_INFINITY;
    this.#claiming = this.#claim()
      .catch((error) => {
        if (this.#stopping.signal.aborted) return limits.pollMs;
        const fields = { reason: (error as Error).message };
        this.#options.logger[levelFor(error)](fields, 'deliveries could not be claimed');
        return limits.pollMs;
      })
      .then((againMs) => {
        this.#claiming = undefined;
        const dueMs = this.#dueAtMs - performance.now();
        this.#dueAtMs = Number.POSITIVE_INFINITY;
        this.wake(Math.max(0, Math.min(againMs, dueMs)));
      });
  }

  /** Makes one claim. Returns how many milliseconds to wait before the next claim. */
  async #claim(): Promise<number> {
    const { database, lanes, node, onClaimed } = this.#options;
    const id = node();
    const room = id === undefined ? undefined : lanes.roomToClaim(id, this.#fraction);
    // With a total of 0, memory is full.
    if (!room || room.total < 1) return limits.pollMs;
    const beganMs = performance.now();
    const bounds = {
      webhooksMax: Math.max(1, Math.floor(limits.claimWebhooks * this.#fraction)),
      bytesMax: Math.floor(limits.claimBytes * this.#fraction),
      limitMs: Math.min(limits.claimMsMax, databaseLimits.queryMs / this.#fraction),
      signal: this.#stopping.signal,
    };
    const fraction = this.#fraction;
    // This is the fraction for the next claim if this one fails.
    this.#fraction = Math.max(limits.claimFractionMin, fraction / 2);
    const claimed = await claim(database, room, bounds);
    // Grow slowly: a claim that times out costs this node all its leases.
    this.#fraction = Math.min(1, fraction * 1.1);
    // If this node got a new ID during the claim, the leases belong to the old ID and will be released with it.
    if (id !== node()) return 0;
    onClaimed(claimed.deliveries);
    const hasMore = lanes.claimed(claimed, room, beganMs);
    // If more are waiting but the claim got none, another node is claiming them, so pause briefly.
    if (hasMore) return claimed.deliveries.length > 0 ? 0 : limits.wakeMs;
    if (claimed.nextMs === undefined || claimed.nextMs >= limits.pollMs) return limits.pollMs;
    return Math.max(0, Math.ceil(claimed.nextMs / limits.retryStepMs) * limits.retryStepMs);
  }

  /** Cancels the claim in progress, if any, and prevents further claims. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#claiming;
  }
}
