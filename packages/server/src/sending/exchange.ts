import type { Dispatcher } from 'undici';
import type { AttemptError, FailureDetail, Outcome, RawHeaders, Withheld } from '../outcomes/outcome.js';
import { parseRetryAfterMs } from '../outcomes/retry-schedule.js';
import type { ConnectionRequest } from './connection.js';
import { BlockedAddressError, NameNotResolvedError } from './guard.js';

const bodyBytesMax = 64 * 1024;
const keptBytesMax = 1024;
const informationalMax = 5;

type Controller = Parameters<NonNullable<Dispatcher.DispatchHandler['onRequestStart']>>[0];

/** One request and its response, as undici reports them. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #startedMs = performance.now();
  readonly #request: ConnectionRequest;
  readonly #mayStart: () => boolean;
  readonly #resolve: (outcome: Outcome | Withheld) => void;
  readonly #timer: NodeJS.Timeout;
  #controller: Controller | undefined;
  /** Whether a connection is open. From then on, a timeout is the receiver's fault. */
  #began = false;
  #sentAgain = false;
  #ended = false;
  #httpStatus: number | undefined;
  #durationMs = 0;
  #retryAfterMs: number | undefined;
  #headers: RawHeaders = {};
  #kept: Buffer[] = [];
  #read = 0;
  #informational = 0;

  constructor(
    request: ConnectionRequest,
    timeoutMs: number,
    mayStart: () => boolean,
    resolve: (outcome: Outcome | Withheld) => void,
  ) {
    this.#request = request;
    this.#mayStart = mayStart;
    this.#resolve = resolve;
    this.#timer = setTimeout(() => this.#end('timeout', this.#timeoutDetail), timeoutMs);
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    this.#began = true;
    if (this.#ended) controller.abort(new Error('too late'));
    else if (!this.#mayStart()) this.#withhold('recalled');
    else this.#request.connection?.begin();
  }

  onResponseStart(_controller: Controller, httpStatus: number, headers: RawHeaders): void {
    if (httpStatus < 200) {
      // Endless informational responses would keep us reading. A number below 100 is not a status.
      this.#informational += 1;
      if (this.#informational > informationalMax || httpStatus < 100) this.#end('protocol');
      return;
    }
    this.#durationMs = this.#elapsedMs();
    this.#httpStatus = httpStatus;
    this.#headers = headers;
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

  onResponseError(_controller: Controller | undefined, latest: Error): void {
    if (this.#ended) return;
    const { connection } = this.#request;
    if (connection?.wasStale && !connection.closed && !this.#sentAgain) {
      // The receiver closed an idle socket while our request was on its way. The same connection now opens a new
      // socket; another idle connection could be closed as well.
      this.#sentAgain = true;
      connection.dispatch(this.#request, this);
      return;
    }
    const error = connection?.firstError ?? latest;
    const kind = attemptError(error);
    if (outOfResourcesCodes.has(codeOf(error))) this.#withhold('out_of_resources');
    else if (kind === 'timeout' && !this.#began) this.#end(kind, this.#timeoutDetail);
    else this.#end(kind === 'reset' && connection?.wasRefused ? 'tls' : kind, failureDetail(error));
  }

  #withhold(reason: Withheld['reason']): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#resolve({ kind: 'withheld', reason });
    this.#controller?.abort(new Error('withheld'));
  }

  /** Ends with the status if there is one, or else with `error`. */
  #end(error: AttemptError, detail?: FailureDetail): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#resolve(
      this.#httpStatus === undefined
        ? { kind: 'no_response', error, durationMs: this.#elapsedMs(), detail }
        : {
            kind: 'response',
            httpStatus: this.#httpStatus,
            durationMs: this.#durationMs,
            response: this.#read === 0 ? null : storableText(Buffer.concat(this.#kept)),
            headers: this.#headers,
            retryAfterMs: this.#retryAfterMs,
          },
    );
    // Aborting an incomplete exchange closes its connection.
    this.#controller?.abort(new Error('the exchange has ended'));
  }

  /** Returns what is known about a timeout, or undefined if the request was sent. */
  get #timeoutDetail(): FailureDetail | undefined {
    if (this.#began) return undefined;
    return this.#request.connection?.isInTlsHandshake ? tlsTimeout : connectTimeout;
  }

  #elapsedMs(): number {
    return Math.round(performance.now() - this.#startedMs);
  }
}

/** Returns bytes as text that PostgreSQL can store, without a truncated character at the end. */
function storableText(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .replace(/\uFFFD$/, '')
    .replaceAll('\0', '\uFFFD');
}

/** This machine has no file descriptor or memory left for another connection. That is no fault of the receiver. */
const outOfResourcesCodes = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);
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
  /^(ERR_TLS|ERR_SSL|ERR_OSSL|EPROTO|CERT_|CRL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|ERROR_IN_C|UNSUITABLE_|UNSPECIFIED)/;
const protocolCode = /^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_|UND_ERR_RESPONSE|UND_ERR_INFO)/;

/** Returns the error code that the API shows for an attempt that got no status. */
function attemptError(error: Error): AttemptError {
  if (error instanceof BlockedAddressError) return 'blocked_address';
  if (error instanceof NameNotResolvedError) return 'dns';
  const code = codeOf(error);
  if (timeoutCodes.has(code)) return 'timeout';
  if (connectCodes.has(code)) return 'connect';
  if (tlsCode.test(code) || /TLS|SSL/.test(error.message)) return 'tls';
  if (protocolCode.test(code) || error.name === 'HTTPParserError') return 'protocol';
  // undici's messages for a 101 or 100 response that was not requested.
  if (/^bad (upgrade|response)$/.test(error.message)) return 'protocol';
  if (error instanceof AggregateError && error.errors[0] instanceof Error)
    return attemptError(error.errors[0]);
  return 'reset';
}

/** What Node attaches to TLS errors in addition to the code. */
interface TlsError extends NodeJS.ErrnoException {
  reason?: string;
  cert?: { subjectaltname?: string; valid_to?: string };
}

/** Returns what the network or TLS reported, to explain the failure later. */
function failureDetail(error: Error): FailureDetail {
  const { message, reason, cert } = error as TlsError;
  return {
    code: codeOf(error) || undefined,
    // OpenSSL's message contains memory addresses and source lines. Its reason is the readable part.
    message: reason ?? message,
    altNames: cert?.subjectaltname,
    validTo: cert?.valid_to,
    address: error instanceof BlockedAddressError ? error.address : (error as { address?: string }).address,
  };
}

/** Time ran out before a TCP connection was open, so the receiver never saw the request. */
const connectTimeout = { code: 'connect_timeout', message: 'no connection in time' };

/** Time ran out during the TLS handshake: there was a TCP connection, but the receiver never saw the request. */
const tlsTimeout = { code: 'tls_timeout', message: 'no TLS handshake in time' };

function codeOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}
