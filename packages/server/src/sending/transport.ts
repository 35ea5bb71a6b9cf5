import { Pool } from 'undici';
import type { AddressPolicy } from '../domain/address.js';
import type { Outcome, Withheld } from '../domain/delivery.js';
import { Connection } from './connection.js';
import { Exchange } from './exchange.js';
import { createGuardedConnector, type GuardOptions } from './guard.js';

const poolsMax = 1_000;
const poolIdleMs = 60_000;
/** How long an idle connection is used again when its receiver does not say how long it keeps one. */
const idleMsUnannounced = 1_000;
/** How much earlier than announced we let go: our request must arrive before the receiver closes. */
const idleMsMargin = 500;

export interface TransportOptions {
  policy: AddressPolicy;
  timeoutMs: number;
  /** For tests of the guard: no packet leaves while these are replaced. */
  resolve?: GuardOptions['resolve'];
  connect?: GuardOptions['connect'];
}

export interface PostOptions {
  url: URL;
  /** Names and values in turn. */
  headers: string[];
  body: Buffer;
  timeoutMs: number;
  mayStart: () => boolean;
}

/** Sends signed requests: one pool of kept-alive connections an origin, no redirects, no proxy. */
export class Transport {
  readonly #connect: ReturnType<typeof createGuardedConnector>;
  readonly #pools = new Map<string, { pool: Pool; usedAtMs: number }>();
  readonly #sweep: NodeJS.Timeout;

  constructor(options: TransportOptions) {
    this.#connect = createGuardedConnector(options);
    this.#sweep = setInterval(() => this.#dropIdle(), poolIdleMs / 2);
    this.#sweep.unref();
  }

  /**
   * Sends one POST; never rejects. The status decides, and nothing in the body can change that.
   * `mayStart` is asked once a connection is open, right before the first byte: finding the name and
   * connecting may have taken seconds. It is asked again if the request has to be sent again because an idle
   * connection turned out to be closed.
   */
  post({ url, headers, body, timeoutMs, mayStart }: PostOptions): Promise<Outcome | Withheld> {
    return new Promise((resolve) => {
      const request = { path: url.pathname + url.search, method: 'POST' as const, headers, body };
      const exchange = new Exchange(request, timeoutMs, mayStart, resolve);
      try {
        this.#pool(url.origin).dispatch(request, exchange);
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
    this.#pools.set(origin, { pool, usedAtMs: Date.now() });
    return pool;
  }

  /** Closing a pool lets what is under way on it finish. */
  #dropIdle(oldest = false): void {
    for (const [origin, { pool, usedAtMs }] of this.#pools) {
      if (!oldest && Date.now() - usedAtMs < poolIdleMs) continue;
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
