import { type Dispatcher, Pool } from 'undici';
import type { AddressPolicy } from '../domain/address.js';
import { type AttemptError, type Outcome, parseRetryAfterMs, type Withheld } from '../domain/delivery.js';
import {
  BlockedAddressError,
  createGuardedConnector,
  type GuardOptions,
  NameNotResolvedError,
} from './guard.js';

const bodyBytesMax = 64 * 1024;
const keptBytesMax = 1024;
const hintsMax = 5;
const poolsMax = 1_000;
const poolIdleMs = 60_000;

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
   * One POST; never rejects. The status decides, and whatever the body does cannot change that any more.
   * `mayStart` is asked when a connection is there, right before the first byte: until then seconds may
   * have passed with the name and the connection.
   */
  post({ url, headers, body, timeoutMs, mayStart }: PostOptions): Promise<Outcome | Withheld> {
    return new Promise((resolve) => {
      const exchange = new Exchange(timeoutMs, mayStart, resolve);
      try {
        const options = { path: url.pathname + url.search, method: 'POST' as const, headers, body };
        this.#pool(url.origin).dispatch(options, exchange);
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
    const pool = new Pool(origin, {
      connect: this.#connect,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
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

type Controller = Parameters<NonNullable<Dispatcher.DispatchHandler['onRequestStart']>>[0];

/** One request and its answer, as undici tells it. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #startedMs = performance.now();
  readonly #mayStart: () => boolean;
  readonly #resolve: (outcome: Outcome | Withheld) => void;
  readonly #timer: NodeJS.Timeout;
  #controller: Controller | undefined;
  #ended = false;
  #httpStatus: number | undefined;
  #durationMs = 0;
  #retryAfterMs: number | undefined;
  #kept: Buffer[] = [];
  #read = 0;
  #hints = 0;

  constructor(timeoutMs: number, mayStart: () => boolean, resolve: (outcome: Outcome | Withheld) => void) {
    this.#mayStart = mayStart;
    this.#resolve = resolve;
    this.#timer = setTimeout(() => this.#end('timeout'), timeoutMs);
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#ended) controller.abort(new Error('too late'));
    else if (!this.#mayStart()) this.#withhold('recalled');
  }

  onResponseStart(
    _controller: Controller,
    httpStatus: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (httpStatus < 200) {
      // Hints without end would keep us reading, at the cost of everybody else.
      this.#hints += 1;
      if (this.#hints > hintsMax) this.#end('protocol');
      return;
    }
    this.#durationMs = this.#elapsedMs();
    this.#httpStatus = httpStatus;
    const retryAfter = headers['retry-after'];
    this.#retryAfterMs = parseRetryAfterMs(
      Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
      Date.now(),
    );
  }

  onResponseData(_controller: Controller, chunk: Buffer): void {
    const keptSoFar = Math.min(this.#read, keptBytesMax);
    if (keptSoFar < keptBytesMax) this.#kept.push(Buffer.from(chunk.subarray(0, keptBytesMax - keptSoFar)));
    this.#read += chunk.length;
    if (this.#read >= bodyBytesMax) this.#end('reset');
  }

  onResponseEnd(): void {
    this.#controller = undefined;
    this.#end('protocol');
  }

  onResponseError(_controller: Controller | undefined, error: Error): void {
    if (exhaustedCodes.has((error as NodeJS.ErrnoException).code ?? '')) this.#withhold('exhausted');
    else this.#end(errorKind(error));
  }

  #withhold(reason: Withheld['reason']): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#resolve({ kind: 'withheld', reason });
    this.#controller?.abort(new Error('withheld'));
  }

  /** `error` counts only where no status came. */
  #end(error: AttemptError): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#resolve(
      this.#httpStatus === undefined
        ? { kind: 'unanswered', error, durationMs: this.#elapsedMs() }
        : {
            kind: 'answered',
            httpStatus: this.#httpStatus,
            durationMs: this.#durationMs,
            response: this.#read === 0 ? null : storableText(Buffer.concat(this.#kept)),
            retryAfterMs: this.#retryAfterMs,
          },
    );
    // Where the exchange is not complete the connection is dropped.
    this.#controller?.abort(new Error('done with'));
  }

  #elapsedMs(): number {
    return Math.round(performance.now() - this.#startedMs);
  }
}

/** Bytes of any kind as text that PostgreSQL can hold; a character cut in half at the end is left out. */
function storableText(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .replace(/\uFFFD$/, '')
    .replaceAll('\0', '\uFFFD');
}

/** Nothing that a receiver could be blamed for. */
const exhaustedCodes = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);
const connectCodes = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EHOSTDOWN',
  'ENETDOWN',
]);
const timeoutCodes = new Set([
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);
const tlsCode =
  /^(ERR_TLS|ERR_SSL|CERT_|EPROTO|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|INVALID_CA|UNSUITABLE_|CRL_)/;
const protocolCode = /^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_|UND_ERR_RESPONSE|UND_ERR_INFO)/;

/** Why there was no status, in the words of the API. */
function errorKind(error: Error): AttemptError {
  if (error instanceof BlockedAddressError) return 'blocked_address';
  if (error instanceof NameNotResolvedError) return 'dns';
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (timeoutCodes.has(code)) return 'timeout';
  if (connectCodes.has(code)) return 'connect';
  if (tlsCode.test(code) || /TLS|SSL/.test(error.message)) return 'tls';
  if (protocolCode.test(code) || error.name === 'HTTPParserError') return 'protocol';
  // How undici puts it when a receiver switches protocols, or says 100 Continue, without being asked to.
  if (/^bad (upgrade|response)$/.test(error.message)) return 'protocol';
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return errorKind(error.errors[0]);
  return 'reset';
}
