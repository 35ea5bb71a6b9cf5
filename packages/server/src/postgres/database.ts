import { finished, type Stream } from 'node:stream';
import pg from 'pg';
import { markReported } from '../signals/reported-error.js';
import { cancelStatement, keepAlive, SessionClient, types } from './connection.js';
import * as errors from './database-errors.js';
import type { Reachability } from './reachability.js';

export interface Statement {
  /** A named statement is prepared once per connection and keeps its plan. */
  name?: string;
  text: string;
  values?: unknown[];
  /** Whether the statement leases deliveries to this node. If the response is lost, `onLeaseInDoubt` is called. */
  leases?: boolean;
  /** How long the statement may take, instead of `databaseLimits.queryMs`. */
  limitMs?: number;
  /** Cancels the statement on the server. */
  signal?: AbortSignal;
}

/** Anything that runs statements: the pool, or the client of a transaction. */
export interface Queryable {
  query<Row extends object>(statement: Statement): Promise<{ rows: Row[]; rowCount: number | null }>;
}

/** The client of a transaction. */
export interface Transaction extends Queryable {
  /** Starts a `copy` whose rows are streamed. If the copy does not complete, the connection is closed. */
  stream<Copy extends pg.Submittable & Stream>(copy: Copy): Copy;
}

export type DatabaseTarget = { connectionString: string } | (pg.ClientConfig & { host: string });

/**
 * Together, these limit how long a request waits for the database, so that the service can still respond with 503 in
 * time.
 */
export const databaseLimits: { readonly connectMs: number; readonly queryMs: number } = {
  connectMs: 2_000,
  queryMs: 2_500,
};
/**
 * PostgreSQL ends a transaction whose process has sent nothing for this long: its machine may have vanished, and its
 * locks would otherwise last until TCP notices, two hours later. Ten seconds is plenty, because a process only computes
 * between two statements.
 */
const idleTransactionMs = 10_000;
/** Each statement relies on getting a new snapshot, whatever the default of the database is. */
const begin = `begin isolation level read committed; set local idle_in_transaction_session_timeout = ${idleTransactionMs}`;

/** Lifts the time limits of the database and the role, for work that may take a long time. */
const withoutTimeLimits = 'set local statement_timeout = 0; set local lock_timeout = 0';

/** The condition, in SQL, under which writes are refused: the server is a standby, or someone made it read-only. */
export const readOnlySql =
  "(pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean)";

const readOnly =
  'the database is read-only; requests that write get 503, and deliveries wait until it accepts writes: ' +
  'free up space if its disk is full, or set DATABASE_URL to the primary if it is a standby';
const outOfSpace =
  'the database has no disk space left; requests that need more get 503, and deliveries may wait: ' +
  'free up space on its disk';

/**
 * Lets PostgreSQL keep the plans of named statements. Otherwise it plans a read of one partition each time, because the
 * plan for all partitions looks more expensive, although it opens no more of them: a quarter of the work is left.
 */
const genericPlans = 'set plan_cache_mode = force_generic_plan';

/** What lies between this process and PostgreSQL. */
export interface Route {
  /**
   * Whether successive statements on one connection may run on different PostgreSQL connections. Undefined until
   * somebody has looked.
   */
  hasPooler: boolean | undefined;
}

export class Database implements Queryable {
  readonly #pool: pg.Pool;
  readonly #reachability: Reachability | undefined;
  #hasConnected = false;
  /** When the database last refused to write. */
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  /** Shared by the pools of one database. */
  readonly route: Route;
  /** Called when the response to a statement that leases deliveries was lost: the statement may have been executed. */
  onLeaseInDoubt: () => void = () => undefined;

  constructor(
    target: DatabaseTarget,
    connectionsMax = 10,
    reachability?: Reachability,
    route: Route = { hasPooler: undefined },
  ) {
    this.#reachability = reachability;
    this.route = route;
    this.#pool = new pg.Pool({
      ...target,
      Client: SessionClient,
      types,
      max: connectionsMax,
      connectionTimeoutMillis: databaseLimits.connectMs,
      idleTimeoutMillis: 60_000,
      ...keepAlive,
      application_name: 'posthorn',
      // A pooler would let others have the connection with this setting.
      onConnect: async (client) => {
        if (this.route.hasPooler === false) await client.query(genericPlans);
      },
    });
    // An idle connection that breaks is replaced on next use. If that fails, the caller gets the error.
    this.#pool.on('error', () => undefined);
    // If a connection breaks while in use, its statement fails. Between two statements, nothing else listens for
    // errors, and an unhandled 'error' event would end the process.
    this.#pool.on('connect', (client) => {
      this.#hasConnected = true;
      client.on('error', () => undefined);
    });
  }

  /** Detects a pooler between this process and PostgreSQL. Call it before the first named statement. */
  async detectPooler(): Promise<void> {
    await this.onConnection(async (client, connection) => {
      this.route.hasPooler = await isPooled(client, connection);
      if (!this.route.hasPooler) await client.query({ text: genericPlans });
    });
  }

  /**
   * Returns whether the database accepts writes. A changed setting applies only to new sessions, so a session that
   * refuses writes is closed.
   */
  async isWritable(): Promise<boolean> {
    let refuses = true;
    const ask = async (client: pg.PoolClient) => {
      const text = `select ${readOnlySql} as refuses`;
      const { rows } = await this.#run<{ refuses: boolean }>(client, { text });
      refuses = rows[0]?.refuses !== false;
      return !refuses;
    };
    return this.#use(
      ask,
      () => false,
      () => refuses,
    );
  }

  /**
   * Runs a statement. Through a pooler it is not prepared: the next execution may reach a PostgreSQL connection that
   * does not know it.
   */
  #run<Row extends object>(
    client: pg.PoolClient,
    { name, text, values, limitMs = databaseLimits.queryMs }: Statement,
    hasLimit = true,
  ) {
    return client.query<Row>({
      name: this.route.hasPooler ? undefined : name,
      text,
      values,
      query_timeout: hasLimit ? limitMs : undefined,
    } as pg.QueryConfig);
  }

  async query<Row extends object>(statement: Statement) {
    const { signal } = statement;
    return this.#use(
      async (client) => {
        signal?.throwIfAborted();
        const cancel = () => cancelStatement(client);
        signal?.addEventListener('abort', cancel);
        try {
          return await this.#run<Row>(client, statement);
        } finally {
          signal?.removeEventListener('abort', cancel);
        }
      },
      () => statement.leases === true,
      // The cancel request may reach the server late and cancel the next statement of the connection instead.
      () => signal?.aborted === true,
    );
  }

  /**
   * Runs statements on one connection, without a transaction. `connection` identifies the connection: it is the same
   * object each time the connection is used.
   */
  async onConnection<T>(work: (client: Queryable, connection: object) => Promise<T>): Promise<T> {
    return this.#use(
      (pooled) => work({ query: (statement) => this.#run(pooled, statement) }, pooled),
      () => false,
    );
  }

  /**
   * Runs `work` in one transaction and rolls back if it throws. By default, its statements have a time limit. The pauses
   * between them always have one, unless `work` calls `allowPauses`.
   */
  async transaction<T>(work: (client: Transaction) => Promise<T>, hasNoTimeLimit = false): Promise<T> {
    let [leases, committing, copies] = [false, false, 0];
    const run = async (pooled: pg.PoolClient) => {
      const client: Transaction = {
        query: <Row extends object>(statement: Statement) => {
          leases ||= statement.leases === true;
          return this.#run<Row>(pooled, statement, !hasNoTimeLimit);
        },
        stream: (copy) => {
          copies += 1;
          finished(copy as unknown as NodeJS.ReadableStream, (error) => {
            if (!error) copies -= 1;
          });
          return pooled.query(copy);
        },
      };
      await client.query({ text: hasNoTimeLimit ? `${begin}; ${withoutTimeLimits}` : begin });
      try {
        const result = await work(client);
        committing = true;
        await client.query({ text: 'commit' });
        return result;
      } catch (error) {
        if (!errors.isUnreachable(error) && copies === 0) await client.query({ text: 'rollback' });
        throw error;
      }
    };
    // Before the commit nothing can have been leased: closing the connection rolls the transaction back.
    return this.#use(
      run,
      () => leases && committing,
      () => copies > 0,
    );
  }

  async #use<T>(
    work: (client: pg.PoolClient) => Promise<T>,
    leases: () => boolean,
    mustClose = () => false,
  ): Promise<T> {
    const client = await this.#connect();
    let broken = false;
    try {
      const result = await work(client);
      this.#reachability?.regained();
      broken = mustClose();
      return result;
    } catch (error) {
      // A statement that timed out here may still be running on the server, so its connection cannot be used again.
      const isLost = errors.isUnreachable(error);
      broken = isLost || mustClose();
      if (errors.isRefusedWrite(error)) this.#refused(error as Error);
      else if (errors.isOutOfSpace(error)) this.#reachability?.refused(error as Error, outOfSpace);
      else if (isLost && leases()) this.onLeaseInDoubt();
      if (error instanceof Error && error.message === errors.timedOut) cancelStatement(client);
      throw error;
    } finally {
      client.release(broken);
    }
  }

  #refused(error: Error): void {
    this.#refusedAtMs = performance.now();
    this.#reachability?.refused(error, readOnly);
    if (this.#reachability) markReported(error);
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      for (;;) {
        const client = await this.#pool.connect();
        const { openedAtMs } = client as unknown as SessionClient;
        if (openedAtMs > this.#refusedAtMs) return client;
        // A session keeps the settings that it began with, so it may refuse to write even if the database no longer does.
        client.release(true);
      }
    } catch (error) {
      if (error instanceof Error) errors.noteConnectFailure(error);
      // If all connections are in use, waiting for one times out although the database is reachable. A login that is
      // refused at startup makes startup fail. Later, any refused login counts as a lost database.
      const { totalCount, options, ending } = this.#pool;
      const isLost = errors.isUnreachable(error) || (this.#hasConnected && !ending);
      if (this.#reachability && isLost && totalCount < options.max) {
        this.#reachability.lost(error as Error);
        markReported(error as Error);
      }
      throw error;
    }
  }

  /**
   * Returns how the connections are used, and how many statements and transactions are waiting for one. The pool queues
   * everything for a moment, even if a connection is free. Only what exceeds the free connections has to wait.
   */
  get use(): { inUse: number; idle: number; max: number; waiting: number } {
    const { totalCount, idleCount, waitingCount, options } = this.#pool;
    const inUse = totalCount - idleCount;
    const waiting = Math.max(0, waitingCount - (options.max - inUse));
    return { inUse, idle: idleCount, max: options.max, waiting };
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

/** Lets a transaction wait for something else between its statements, for any length of time. */
export async function allowPauses(client: Queryable): Promise<void> {
  await client.query({ text: 'set local idle_in_transaction_session_timeout = 0' });
}

type Step = 'seqscan' | 'indexscan' | 'indexonlyscan' | 'hashjoin' | 'mergejoin';

/**
 * Until the transaction ends, keeps PostgreSQL from using these scans and joins, unless there is no other way. Also
 * turns off just-in-time compilation: before PostgreSQL 18, a disabled scan or join that is used anyway makes a plan
 * look so expensive that it is compiled for each execution, which takes up to 0.3 s.
 */
export async function avoidScans(client: Queryable, steps: readonly Step[] = ['seqscan']): Promise<void> {
  const disabled = steps.map((step) => `set local enable_${step} = off`);
  await client.query({ text: ['set local jit = off', ...disabled].join('; ') });
}

/** Returns the database's current time, in milliseconds. */
export async function readClockMs(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ at: Date }>({ text: 'select clock_timestamp() as at' });
  return rows[0]!.at.getTime();
}

/** Returns whether a connection leads to a pooler, which gives its clients process IDs of its own. */
export async function isPooled(client: Queryable, connection: object): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' });
  return rows[0]?.pid !== (connection as { processID?: number }).processID;
}
