import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import * as nodes from '../cells/node-store.js';
import type { Database } from '../postgres/database.js';
import { isTransient } from '../postgres/database-errors.js';
import { Repeating } from '../signals/timers.js';
import { limits } from './limits.js';

/**
 * A change to the lease:
 * - `renewed`: attempts may start again
 * - `released`: deliveries of dead nodes are waiting in the database again
 * - `lost`: this node was declared dead or gave up its ID, and must drop the deliveries that are waiting in its memory
 */
export type LeaseChange = 'renewed' | 'released' | 'lost';

export interface LeaseOptions {
  database: Database;
  logger: Logger;
  /** The longest time an attempt can take. */
  attemptMs: number;
}

/**
 * Keeps this process registered as a node: its leases are valid only while the registration is. Also releases the
 * leases of dead nodes.
 */
export class NodeLease {
  readonly #options: LeaseOptions;
  readonly #onChange: (change: LeaseChange) => void;
  /** Identifies this process, which can have several node IDs, one after another. */
  readonly #process = randomUUID();
  /** Set before the first registration: it may be committed even if the response is lost. */
  #mayBeRegistered = false;
  #id: number | undefined;
  /** When the registration expires unless it is renewed. */
  #goodUntilMs = 0;
  /** How many nodes are alive, including this one. */
  #nodes = 1;
  /**
   * How many deliveries to release at once. A release can fail because it was too large, so each failure halves this
   * number, and each success doubles it again, up to the limit.
   */
  #releaseMax = limits.releaseDeliveries;
  #repeating: Repeating | undefined;

  constructor(options: LeaseOptions, onChange: (change: LeaseChange) => void) {
    this.#options = options;
    this.#onChange = onChange;
  }

  /** Registers this node. `alone`: no other node can run on this database, so every registered node is dead. */
  async start(alone: boolean): Promise<void> {
    if (alone) await nodes.retireNodes(this.#options.database, 'all');
    await this.#renew();
    await this.#release().catch((error) => {
      // Another node may be releasing the same deliveries. This node can start anyway.
      if (!isTransient(error)) throw error;
      this.#options.logger.warn(
        { reason: (error as Error).message },
        'the deliveries of dead nodes could not be released yet',
      );
    });
    const keep = () => this.#renew().then(() => this.#release());
    this.#repeating = new Repeating(limits.renewEveryMs, keep, this.#options.logger);
  }

  /** Returns the part of a webhook's limit that this node may use: of its rate limit, or of its requests in flight. */
  shareOf<Limit extends number | undefined>(limit: Limit): Limit;
  shareOf(limit: number | undefined): number | undefined {
    return limit && Math.max(1, limit / this.#nodes);
  }

  get id(): number | undefined {
    return this.#id;
  }

  /** Returns whether the lease lasts longer than an attempt can take. */
  get coversAttempt(): boolean {
    return this.#id !== undefined && performance.now() + this.#options.attemptMs < this.#goodUntilMs;
  }

  /**
   * Gives up all leases of this node, which continues with a new ID. Attempts in flight can still be settled, because
   * the old ID expires only after they end.
   */
  abandon(): void {
    if (this.#id === undefined) return;
    this.#options.logger.warn(
      'this node may have leases that it does not know about; it continues with a new id',
    );
    this.#lose();
  }

  #lose(): void {
    this.#id = undefined;
    this.#onChange('lost');
  }

  async #renew(): Promise<void> {
    const { database, logger, attemptMs } = this.#options;
    const leaseMs = attemptMs + limits.leaseMarginMs;
    const askedMs = performance.now();
    const id = this.#id;
    if (id !== undefined && !(await nodes.renewNode(database, id, leaseMs)) && id === this.#id) {
      logger.warn('this node was declared dead; other nodes will attempt its deliveries');
      this.#lose();
    }
    this.#mayBeRegistered = true;
    this.#id ??= await nodes.registerNode(database, leaseMs, this.#process);
    this.#goodUntilMs = askedMs + leaseMs;
    this.#onChange('renewed');
    this.#nodes = 1 + (await nodes.countOtherNodes(database, this.#id));
  }

  async #release(): Promise<void> {
    const { database, logger } = this.#options;
    const atMost = this.#releaseMax;
    // This is the number for the next release if this one fails.
    this.#releaseMax = Math.max(limits.releaseDeliveriesMin, Math.floor(atMost / 2));
    const { released, overdue } = await nodes.releaseDeadNodes(database, atMost);
    this.#releaseMax = Math.min(limits.releaseDeliveries, atMost * 2);
    if (overdue.length > 0)
      logger.warn(
        { nodes: overdue, deliveries: released },
        'a node died; other nodes will attempt its deliveries',
      );
    if (released > 0) this.#onChange('released');
  }

  /** Stops renewing, and releases all leases without waiting for them to expire. */
  async stop(): Promise<void> {
    await this.#repeating?.stop();
    if (!this.#mayBeRegistered) return;
    const { database } = this.#options;
    await nodes.retireProcess(database, this.#process);
    const atMost = limits.releaseDeliveries;
    while ((await nodes.releaseLeases(database, atMost)) >= atMost);
  }
}
