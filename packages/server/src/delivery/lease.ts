import type { Logger } from 'pino';
import { Repeating } from '../signals/repeating.js';
import type { Database } from '../storage/database.js';
import { registerNode, releaseLeases, renewNode, retireNodes } from '../storage/nodes.js';
import { limits } from './limits.js';

/**
 * - `renewed`: attempts may start again
 * - `released`: what dead nodes held waits in the database
 * - `lost`: this node was taken for dead or gave up its name; what it held belongs to others
 */
export type LeaseChange = 'renewed' | 'released' | 'lost';

export interface LeaseOptions {
  database: Database;
  logger: Logger;
  /** How long an attempt may take. */
  attemptMs: number;
}

/** This process's place among the nodes: what it holds is its own only while it keeps saying so. */
export class NodeLease {
  readonly #options: LeaseOptions;
  readonly #onChange: (change: LeaseChange) => void;
  #id: number | undefined;
  #goodUntilMs = 0;
  #repeating: Repeating | undefined;

  constructor(options: LeaseOptions, onChange: (change: LeaseChange) => void) {
    this.#options = options;
    this.#onChange = onChange;
  }

  /** `alone`: nobody else can run on this database, so every registered node is dead. */
  async start(alone: boolean): Promise<void> {
    if (alone) await retireNodes(this.#options.database, 'all');
    await this.#renew();
    this.#repeating = new Repeating(limits.renewEveryMs, () => this.#renew(), this.#options.logger);
  }

  get id(): number | undefined {
    return this.#id;
  }

  /** Whether a whole attempt still fits into the lease. */
  get coversAttempt(): boolean {
    return this.#id !== undefined && performance.now() + this.#options.attemptMs < this.#goodUntilMs;
  }

  /**
   * Gives up whatever is leased to this node and continues under another name. What is under way can still be settled:
   * the old name lapses only when that is over.
   */
  abandon(): void {
    if (this.#id === undefined) return;
    this.#options.logger.warn(
      'deliveries may be leased to this node without its knowledge; it takes a new name',
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
    if (id !== undefined && !(await renewNode(database, id, leaseMs)) && id === this.#id) {
      logger.warn('this node was taken for dead; other nodes attempt what it held');
      this.#lose();
    }
    this.#id ??= await registerNode(database, leaseMs);
    this.#goodUntilMs = askedMs + leaseMs;
    this.#onChange('renewed');
    const released = await releaseLeases(database, limits.releaseDeliveries);
    if (released > 0) this.#onChange('released');
  }

  /** Releases everything at once. */
  async stop(): Promise<void> {
    await this.#repeating?.stop();
    if (this.#id === undefined) return;
    await retireNodes(this.#options.database, [this.#id]);
    while (
      (await releaseLeases(this.#options.database, limits.releaseDeliveries)) >= limits.releaseDeliveries
    );
  }
}
