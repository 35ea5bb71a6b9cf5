import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { CoalescedCall } from '../signals/coalesced-call.js';
import { type Database, isPooled, type Queryable } from './database.js';
import { isUnreachable } from './database-errors.js';

export interface ReadReplicaOptions {
  primary: Database;
  replica: Database;
  logger: Logger;
  onRead: (from: 'replica' | 'primary') => void;
}

/** A read on the replica takes no longer than this, so that the primary can still respond in time. */
const readMsMax = 500;
/** How long a read waits for the replica to catch up: far more than the usual lag of a few milliseconds. */
const catchUpMsMax = 50;
const catchUpStepMs = 2;
/** How long the replica rests before it is tried again. */
const restMs = 1_000;

/**
 * Reads events from a replica if it has everything that the primary had committed before the read began, and otherwise
 * from the primary. So a read is never behind what was acknowledged, and never behind an earlier read, no matter which
 * nodes recorded the events and where the earlier read took place.
 *
 * It asks the primary where its write-ahead log ends, and the replica how much of the log it has replayed. Every
 * commit that was acknowledged earlier lies before that end. Concurrent reads share one query to the primary. After a
 * failover, a replica that does not follow the new primary may have replayed more than that primary has written, so
 * positions count only on the same timeline.
 */
export class ReadReplica {
  readonly #options: ReadReplicaOptions;
  readonly #needed: CoalescedCall<LogPosition>;
  /** How far the server of each connection had replayed: a host name may resolve to several replicas. */
  readonly #replayed = new WeakMap<object, LogPosition>();
  #isResting = false;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: ReadReplicaOptions) {
    this.#options = options;
    this.#needed = new CoalescedCall(() => readEndOfLog(options.primary));
  }

  /** Returns whether reads use the replica. */
  get isUsed(): boolean {
    return !this.#isResting;
  }

  async read<T>(work: (database: Queryable) => Promise<T>): Promise<T> {
    const { primary, onRead } = this.#options;
    let isPrimaryLost = false;
    if (this.isUsed) {
      try {
        const needed = await this.#needed.call().catch((error) => {
          // A primary that became a standby, for example, is still reachable.
          isPrimaryLost = isUnreachable(error);
          throw error;
        });
        const value = await this.#readReplica(needed, work);
        onRead('replica');
        return value;
      } catch (error) {
        if (isPrimaryLost) throw error;
        this.#rest((error as Error).message);
      }
    }
    onRead('primary');
    return work(primary);
  }

  /** Throws an error with the reason if the replica cannot be used. */
  async #readReplica<T>(needed: LogPosition, work: (client: Queryable) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const timeUp = delay(readMsMax, undefined, { signal: late.signal }).then(() => {
      throw new Error(`no response within ${readMsMax} ms`);
    });
    const read = this.#options.replica.onConnection(async (client, connection) => {
      await this.#catchUp(needed, client, connection);
      return work(client);
    });
    return Promise.race([read, timeUp]).finally(() => late.abort());
  }

  async #catchUp(needed: LogPosition, client: Queryable, connection: object): Promise<void> {
    if (!this.#replayed.has(connection) && (await isPooled(client, connection)))
      throw new Error('the URL points to a connection pooler; use the address of the replica');
    const deadlineMs = performance.now() + catchUpMsMax;
    while (!hasReached(this.#replayed.get(connection), needed)) {
      const replayed = await readReplayed(client);
      if (replayed === undefined) throw new Error('the database is not a replica');
      if (replayed.timeline !== needed.timeline) {
        const [own, other] = [replayed.timeline, needed.timeline];
        throw new Error(`the replica is on timeline ${own}, but the primary is on timeline ${other}`);
      }
      this.#replayed.set(connection, replayed);
      if (hasReached(replayed, needed)) return;
      if (performance.now() > deadlineMs) {
        const bytes = Number(needed.bytes - replayed.bytes);
        throw new Error(`the replica has been ${bytes} bytes behind for more than ${catchUpMsMax} ms`);
      }
      await delay(catchUpStepMs);
    }
  }

  #rest(reason: string): void {
    if (!this.isUsed || this.#stopped) return;
    this.#isResting = true;
    this.#options.logger.warn(
      { reason },
      'the read replica cannot be used; events are read from the primary',
    );
    this.#tryLater();
  }

  #tryLater(): void {
    this.#timer = setTimeout(async () => {
      const isBack = await this.#needed
        .call()
        .then((needed) => this.#readReplica(needed, async () => true))
        .catch(() => false);
      if (this.#stopped) return;
      if (!isBack) return this.#tryLater();
      this.#isResting = false;
      this.#options.logger.info('the read replica is in use again');
    }, restMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#options.replica.close();
  }
}

/** A position in the write-ahead log. */
interface LogPosition {
  /**
   * The identifier of the database system and the number of the timeline, which changes with every failover. Positions
   * on different timelines cannot be compared.
   */
  timeline: string;
  bytes: bigint;
}

function hasReached(replayed: LogPosition | undefined, needed: LogPosition): boolean {
  return replayed !== undefined && replayed.timeline === needed.timeline && replayed.bytes >= needed.bytes;
}

/**
 * Returns the position at which the primary will write next. At the start of a page it comes after a header of 24 or 40
 * bytes, which a replica does not count as long as nothing follows it.
 */
async function readEndOfLog(primary: Queryable): Promise<LogPosition> {
  const { rows } = await primary.query<{ position: string; timeline: string }>({
    name: 'end of log',
    text: `
  select w.lsn - '0/0' as position,
         concat((select system_identifier from pg_control_system()), '/',
                ('x' || left(pg_walfile_name(w.lsn), 8))::bit(32)::int) as timeline
    from pg_current_wal_insert_lsn() as w (lsn)`,
  });
  const { position, timeline } = rows[0]!;
  const bytes = BigInt(position);
  const inPage = bytes % 8_192n;
  return { timeline, bytes: inPage === 24n || inPage === 40n ? bytes - inPage : bytes };
}

/**
 * Returns how far a replica has replayed the log. Undefined if the database is not a replica. Only a role with the
 * privileges of `pg_read_all_stats` sees the timeline that the replica receives. The timeline that every role sees
 * changes only at the replica's next restart point. Until then, the replica may seem to be on the previous timeline.
 */
async function readReplayed(client: Queryable): Promise<LogPosition | undefined> {
  const { rows } = await client.query<{ position: string | null; timeline: string }>({
    name: 'replayed log',
    text: `
  select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() - '0/0' end as position,
         concat((select system_identifier from pg_control_system()), '/',
                greatest((select min_recovery_end_timeline from pg_control_recovery()),
                         (select received_tli from pg_stat_wal_receiver))) as timeline`,
  });
  const { position = null, timeline = '' } = rows[0] ?? {};
  return position === null ? undefined : { timeline, bytes: BigInt(position) };
}
