import { Pool } from 'undici';
import type { Outcome, Withheld } from '../outcomes/outcome.js';
import { Connection } from './connection.js';
import { Exchange } from './exchange.js';
import { createGuardedConnector, type GuardOptions } from './guard.js';

const poolsMax = 1_000;
const poolIdleMs = 60_000;
/**
 * How long a pool is used. It keeps an object of 5 kB for each connection that was ever open at the same time. undici's
 * `clientTtl` frees them, too, but it looks at each of them for each request: that took 40 µs with 1,200 webhooks.
 */
const poolAgeMs = 600_000;
/** How long an idle connection may be kept for reuse if the receiver does not announce a limit. */
const idleMsUnannounced = 1_000;
/** How long before the announced limit we stop reusing a connection, so that a request still arrives in time. */
const idleMsMargin = 500;

export type TransportOptions = Omit<GuardOptions, 'openFile'>;

export interface PostOptions {
  origin: string;
  path: string;
  /** Names and values, alternating. */
  headers: string[];
  body: Buffer;
  timeoutMs: number;
  mayStart: () => boolean;
}

/** Sends signed requests: one pool of keep-alive connections per origin, no redirects, no proxy. */
export class Transport {
  readonly #connect: ReturnType<typeof createGuardedConnector>;
  readonly #pools = new Map<string, { pool: Pool; usedAtMs: number; openedAtMs: number }>();
  readonly #sweep: NodeJS.Timeout;

  constructor(options: TransportOptions) {
    this.#connect = createGuardedConnector(options);
    this.#sweep = setInterval(() => this.#dropIdle(), poolIdleMs / 2);
    this.#sweep.unref();
  }

  /**
   * Sends one POST. Never rejects. Calls `mayStart` when a connection is open, right before the first byte, because DNS
   * and connecting may have taken seconds. Calls it again if the request must be sent again, because the receiver had
   * closed an idle connection.
   */
  post({ origin, path, headers, body, timeoutMs, mayStart }: PostOptions): Promise<Outcome | Withheld> {
    return new Promise((resolve) => {
      const request = { path, method: 'POST' as const, headers, body };
      const exchange = new Exchange(request, timeoutMs, mayStart, resolve);
      try {
        this.#pool(origin).dispatch(request, exchange);
      } catch (error) {
        exchange.onResponseError(undefined, error as Error);
      }
    });
  }

  #pool(origin: string): Pool {
    const known = this.#pools.get(origin);
    if (known) {
      known.usedAtMs = Date.now();
      return known.pool;
    }
    if (this.#pools.size >= poolsMax) this.#dropIdle(true);
    const options = {
      connect: this.#connect,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: idleMsUnannounced,
      keepAliveTimeoutThreshold: idleMsMargin,
      keepAliveMaxTimeout: poolIdleMs,
    };
    const pool = new Pool(origin, { factory: (url) => new Connection(url, options) });
    const nowMs = Date.now();
    this.#pools.set(origin, { pool, usedAtMs: nowMs, openedAtMs: nowMs });
    return pool;
  }

  /** Closes idle and old pools or, with `oldest`, only the oldest pool. Requests in flight finish. */
  #dropIdle(oldest = false): void {
    const nowMs = Date.now();
    for (const [origin, { pool, usedAtMs, openedAtMs }] of this.#pools) {
      if (!oldest && nowMs - usedAtMs < poolIdleMs && nowMs - openedAtMs < poolAgeMs) continue;
      this.#pools.delete(origin);
      pool.close().catch(() => undefined);
      if (oldest) return;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep);
    await Promise.all([...this.#pools.values()].map(({ pool }) => pool.destroy()));
    this.#pools.clear();
  }
}
