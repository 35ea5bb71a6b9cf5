import type { Logger } from 'pino';
import type { Database } from '../storage/database.js';
import { registerNode, releaseDeadNodes, releaseOrphans, renewNode, retireNodes } from '../storage/nodes.js';

const renewEveryMs = 1_000;
/** Every so many renewals it is looked whether anything is held by a node that no longer exists. */
const orphansEvery = 5;
/** What is released at once ends here or soon after; the rest is held by a node that no longer exists. */
const releasedAtOnce = 20_000;
/** A lease outlives an attempt by this much, so that nobody else takes what is still on the wire. */
const marginMs = 2_500;

/** This process's standing among the nodes: what it holds is its own only while it keeps saying so. */
export class NodeLease {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #leaseMs: number;
  readonly #attemptMs: number;
  #id: number | undefined;
  #goodUntilMs = 0;
  #renewals = 0;
  #moreToRelease = false;
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> | undefined;
  #stopped = false;
  /** Called with the released count after dead nodes' deliveries went back to the pool. */
  onReleased: () => void = () => undefined;
  /** Called when this node was taken for dead: whatever it held belongs to others now. */
  onLost: () => void = () => undefined;
  /** Called after each renewal. */
  onRenewed: () => void = () => undefined;

  constructor(database: Database, logger: Logger, attemptMs: number) {
    this.#database = database;
    this.#logger = logger;
    this.#attemptMs = attemptMs;
    this.#leaseMs = attemptMs + marginMs;
  }

  /** `alone`: nobody else can be running on this database, so whoever is registered is dead. */
  async start(alone: boolean): Promise<void> {
    if (alone) await retireNodes(this.#database, 'all');
    await this.#renew();
    this.#schedule();
  }

  get id(): number | undefined {
    return this.#id;
  }

  /** Whether a whole attempt still fits into the lease. */
  get coversAttempt(): boolean {
    return this.#id !== undefined && performance.now() + this.#attemptMs < this.#goodUntilMs;
  }

  /**
   * Gives up whatever is leased to this node, and goes on under another name. What is on the wire can still
   * be settled: the old name lapses only when that is over.
   */
  abandon(): void {
    if (this.#id === undefined) return;
    this.#logger.warn('deliveries may be leased to this node without its knowledge; it starts anew');
    this.#id = undefined;
    this.onLost();
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#renewing = this.#renew()
        .catch((error) =>
          this.#logger.warn({ reason: (error as Error).message }, 'the lease could not be renewed'),
        )
        .finally(() => this.#schedule());
    }, renewEveryMs);
  }

  async #renew(): Promise<void> {
    const askedMs = performance.now();
    const id = this.#id;
    if (id !== undefined && !(await renewNode(this.#database, id, this.#leaseMs)) && id === this.#id) {
      this.#logger.warn('this node was taken for dead; what it held is attempted by others');
      this.#id = undefined;
      this.onLost();
    }
    this.#id ??= await registerNode(this.#database, this.#leaseMs);
    this.#goodUntilMs = askedMs + this.#leaseMs;
    this.onRenewed();
    let released = await releaseDeadNodes(this.#database);
    this.#renewals += 1;
    if (this.#renewals % orphansEvery === 0 || this.#moreToRelease)
      released += await releaseOrphans(this.#database);
    this.#moreToRelease = released >= releasedAtOnce;
    if (released > 0) this.onReleased();
  }

  /** Gives back everything at once. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#renewing;
    if (this.#id === undefined) return;
    await retireNodes(this.#database, [this.#id]);
    await releaseDeadNodes(this.#database);
  }
}
