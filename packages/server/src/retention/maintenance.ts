import type { Logger } from 'pino';
import { deleteRequestKeys } from '../access/request-key-store.js';
import { deletePortalSessions } from '../access/token-store.js';
import { earliestAuditMs } from '../audit/audit.js';
import { earliestReadableMs } from '../events/event.js';
import { deleteEventKeys } from '../events/event-store.js';
import type { Database } from '../postgres/database.js';
import { type Partitioned, partitioned } from '../postgres/partitions.js';
import { readClockMs } from '../postgres/transaction.js';
import { Repeating } from '../signals/repeating.js';
import { levelFor } from '../signals/reported.js';
import { dayMs } from '../values/duration.js';
import { deleteOldBacklog, releaseHeld } from '../webhooks/waiting-store.js';
import { dropPartitions, makePartitionsAhead, withMaintenanceLock } from './partition-store.js';

const everyMs = 600_000;
/** How many rows one statement deletes or releases, so that it ends within its time limit. */
const deletedAtOnce = 10_000;
const heldAtOnce = 1_000;
/**
 * How long one run may repeat a part. It is short because the start of a node waits for its first run, and because the
 * move of an organization to another cell waits for the run's transaction to end.
 */
const repeatMsMax = 5_000;

/** Runs periodic maintenance of the database, on one node at a time. */
export class Maintenance {
  readonly #database: Database;
  readonly #logger: Logger;
  /** How long events and deliveries can be read. */
  readonly #retentionMs: number;
  /** Returns the database's time: a node whose clock is ahead must not delete what is not old. */
  readonly #now: () => Promise<number> | number;
  #repeating: Repeating | undefined;
  #isStopping = false;

  constructor(
    database: Database,
    logger: Logger,
    retentionMs: number,
    now: () => Promise<number> | number = () => readClockMs(database),
  ) {
    this.#database = database;
    this.#logger = logger;
    this.#retentionMs = retentionMs;
    this.#now = now;
  }

  async start(): Promise<void> {
    await this.run();
    this.#repeating = new Repeating(everyMs, () => this.run(), this.#logger);
  }

  /** Runs all parts unless another node is running them. */
  async run(): Promise<void> {
    await this.#try('the lock', () =>
      withMaintenanceLock(this.#database, async () => this.#runParts(await this.#now())),
    );
  }

  async #runParts(nowMs: number): Promise<void> {
    const dayAgo = new Date(nowMs - dayMs);
    const earliestMs = earliestReadableMs(nowMs, this.#retentionMs);
    await this.#try('partitions ahead', () => makePartitionsAhead(this.#database, nowMs));
    await this.#repeat('held deliveries', () => releaseHeld(this.#database, heldAtOnce));
    await this.#repeat('old backlog', () =>
      deleteOldBacklog(this.#database, new Date(earliestMs), deletedAtOnce),
    );
    for (const parent of partitioned) {
      const keepFromMs = parent === 'audit_log' ? earliestAuditMs(nowMs) : earliestMs;
      await this.#try(`old ${parent}`, () => this.#drop(parent, keepFromMs, nowMs));
    }
    await this.#repeat('event keys', () => deleteEventKeys(this.#database, deletedAtOnce));
    await this.#repeat('request keys', () => deleteRequestKeys(this.#database, deletedAtOnce));
    await this.#repeat('portal sessions', () => deletePortalSessions(this.#database, dayAgo, deletedAtOnce));
  }

  /** Repeats a part until it changes no more rows, or until its time is up. In that case, the next run continues. */
  async #repeat(part: string, work: () => Promise<number>): Promise<void> {
    const endMs = performance.now() + repeatMsMax;
    await this.#try(part, async () => {
      while (!this.#isStopping && (await work()) > 0 && performance.now() < endMs);
    });
  }

  /** Runs a part. If it fails, only logs that, so that the other parts still run. */
  async #try(part: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const fields = { part, reason: (error as Error).message };
      this.#logger[levelFor(error)](fields, 'maintenance failed and will be retried');
    }
  }

  async #drop(parent: Partitioned, keepFromMs: number, nowMs: number): Promise<void> {
    const dropped = await dropPartitions(this.#database, parent, new Date(keepFromMs), new Date(nowMs));
    if (dropped.length > 0)
      this.#logger.info({ partitions: dropped }, 'dropped partitions past their retention');
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#repeating?.stop();
  }
}
