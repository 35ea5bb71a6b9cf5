import { errorOf, PosthornError, unexpected } from './error.js';
import { countOption, isHeaderValue } from './option-values.js';
import { pause, unlessAborted } from './pause.js';

export interface RetryOptions {
  /** The maximum number of times that a request is sent. Default: 5. */
  attempts?: number;
  /** The longest wait before a request is repeated. If the service asks for more, the request fails. Default: 60 s. */
  maxWaitMs?: number;
}

/** The address of a cell, and its token if that differs. */
export interface Cell {
  url: string | URL;
  token?: TransportOptions['token'];
}

export interface TransportOptions {
  /** Address of the listener, such as `https://hooks.example.com`. A path is kept as a prefix. */
  url: string | URL;
  /**
   * Access token, or a function that returns the current one. `timeoutMs` also limits how long the function may take;
   * for a tail, the limit is 45 seconds.
   */
  token: string | (() => string | Promise<string>);
  /**
   * The addresses of the cells, by name, if you run several. If the service responds that an organization lives in
   * another cell (`wrong_cell`), the client repeats the request there, once.
   */
  cells?: Readonly<Record<string, string | URL | Cell>>;
  retry?: RetryOptions;
  /** How long one attempt may take. Default: 30 s. */
  timeoutMs?: number;
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** Parses responses and events. Replace it to keep numbers that JavaScript rounds. Default: `JSON.parse`. */
  parse?: (text: string) => unknown;
}

export type Query = object;

interface RequestOptions {
  query?: Query | undefined;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Whether to repeat the request in the right cell if this is the wrong one. Default: true. */
  follows?: boolean;
  /** The name of the cell to send the request to. Default: the cell at `url`. */
  cell?: string | undefined;
  /** Whether the request may be sent again even though the service may already have handled it. */
  repeatable?: boolean;
  /** Called with the address of each cell that the request is sent to, and with undefined before its token is known. */
  onSend?: (url: string | URL | undefined) => void;
}

interface ApiRequest extends RequestOptions {
  method: string;
  path: string;
}

type Parse<T> = (text: string, response: Response) => T;

const firstWaitMs = 250;
/** A timer with a longer delay fires immediately. */
const timerMsMax = 2 ** 31 - 1;

/** Sends requests, and repeats those that failed temporarily. */
export class Transport {
  readonly #home: Required<Cell>;
  readonly #cells: ReadonlyMap<string, Required<Cell>>;
  readonly #fetch: typeof globalThis.fetch;
  readonly #attempts: number;
  readonly #maxWaitMs: number;
  readonly #timeoutMs: number;
  readonly parse: (text: string) => unknown;

  constructor(options: TransportOptions) {
    const { url, token, cells = {} } = options;
    if (typeof token !== 'string' && typeof token !== 'function')
      throw new TypeError(
        'the option token is missing: pass an access token, or a function that returns one',
      );
    this.#home = { url: checkedUrl(url, 'url'), token };
    this.#cells = new Map(
      Object.entries(cells).map(([name, cell]) => {
        const given = typeof cell === 'object' && !(cell instanceof URL) ? cell : { url: cell };
        return [name, { token, ...given, url: checkedUrl(given.url, `cells.${name}`) }];
      }),
    );
    // Browsers refuse a fetch that is called as a method of another object.
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.#attempts = options.retry?.attempts ?? 5;
    this.#maxWaitMs = options.retry?.maxWaitMs ?? 60_000;
    this.#timeoutMs = countOption('timeoutMs', options.timeoutMs ?? 30_000, timerMsMax);
    this.parse = options.parse ?? JSON.parse;
  }

  /** Returns the parsed body of a successful response, which has `data`. */
  async json<T extends { data: unknown }>(
    method: string,
    path: string,
    options: RequestOptions = {},
  ): Promise<T> {
    return this.#withRetries({ ...options, method, path }, (text, response) => {
      const body = (text === '' ? undefined : this.parse(text)) as T | null | undefined;
      if (!body?.data) throw unexpected(response);
      return body;
    });
  }

  /** Sends a body, if there is one, and returns the `data` of the response. */
  async send<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    const { data } = await this.json<{ data: T }>(method, path, { body, signal });
    return data;
  }

  /** Deletes what is at the path. */
  async delete(path: string, signal: AbortSignal | undefined): Promise<void> {
    // If the request succeeded but its response was lost, a repeated request would fail with `not_found`.
    const once = { method: 'DELETE', path, signal, repeatable: false };
    await this.#withRetries(once, (_text, response) => {
      if (response.status !== 204) throw unexpected(response);
    });
  }

  /** Returns the body of a successful response as it is. */
  text(path: string, signal: AbortSignal | undefined): Promise<string> {
    return this.#withRetries({ method: 'GET', path, signal }, (text) => text);
  }

  async #withRetries<T>(request: ApiRequest, parse: Parse<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#once(request, parse);
      } catch (error) {
        if (error instanceof TokenFailure) throw error.cause;
        const waitMs = this.#waitMs(error, attempt, request.repeatable ?? request.method !== 'POST');
        if (waitMs === undefined) throw error;
        await pause(waitMs, request.signal);
      }
    }
  }

  async #once<T>(request: ApiRequest, parse: Parse<T>): Promise<T> {
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    const signal = request.signal ? AbortSignal.any([request.signal, timeout]) : timeout;
    let address: string | URL | undefined;
    const onSend = (url: string | URL | undefined) => {
      address = url;
    };
    const response = await this.open({ ...request, signal, onSend }).catch((error) => {
      if (!timeout.aborted || request.signal?.aborted) throw error;
      throw address === undefined ? lateToken(this.#timeoutMs) : timeoutError(address, this.#timeoutMs);
    });
    const text = await unlessAborted(response.text(), signal).catch((cause) => {
      request.signal?.throwIfAborted();
      throw timeout.aborted ? timeoutError(address!, this.#timeoutMs) : broken(cause);
    });
    try {
      return parse(text, response);
    } catch (cause) {
      throw cause instanceof SyntaxError ? unexpected(response, cause) : cause;
    }
  }

  /** Returns whether the client knows the address of this cell. */
  knows(cell: string | undefined): cell is string {
    return cell !== undefined && this.#cells.has(cell);
  }

  /**
   * Sends a request once, and a second time if its organization lives in another cell. Returns the response if it is
   * successful; its body is not read yet.
   */
  async open(request: ApiRequest): Promise<Response> {
    try {
      return await this.#sendTo(this.#cells.get(request.cell ?? '') ?? this.#home, request);
    } catch (error) {
      const other = error instanceof PosthornError && error.code === 'wrong_cell' ? error.cell : undefined;
      if (request.follows === false || !this.knows(other)) throw error;
      return this.#sendTo(this.#cells.get(other)!, request);
    }
  }

  async #sendTo(cell: Required<Cell>, request: ApiRequest): Promise<Response> {
    const { method, path, query, body, headers, signal, onSend } = request;
    onSend?.(undefined);
    const authorization = await authorizationOf(cell, signal);
    signal?.throwIfAborted();
    onSend?.(cell.url);
    const sent = this.#fetch(`${String(cell.url).replace(/\/+$/, '')}${path}${queryText(query)}`, {
      method,
      headers: {
        Accept: 'application/json',
        Authorization: authorization,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
      // A redirect fails below. With `error`, Node.js 20 loses the signal after a garbage collection, so that
      // a tail would never end.
      redirect: 'manual',
    });
    // A `fetch` that a caller passes may ignore the signal.
    const response = await unlessAborted(sent, signal).catch((cause) => {
      signal?.throwIfAborted();
      throw unreachable(cell.url, cause);
    });
    if (!response.ok) throw await unlessAborted(errorOf(response), signal);
    return response;
  }

  /** Returns how long to wait before the next attempt; undefined if there is none. */
  #waitMs(error: unknown, attempt: number, repeatable: boolean): number | undefined {
    if (!(error instanceof PosthornError) || attempt >= this.#attempts) return undefined;
    // A refused request changed nothing. Anything else may have.
    const isRefused = error.status === 429 || error.code === 'idempotency_in_progress';
    if (!isRefused && !(repeatable && isTransient(error))) return undefined;
    const ownMs = firstWaitMs * 2 ** (attempt - 1) * (1 + Math.random() / 4);
    const waitMs = error.retryAfterMs ?? ownMs;
    return waitMs <= this.#maxWaitMs ? waitMs : undefined;
  }
}

/** Returns whether the same request may succeed a little later. Proxies send 502 and 504 while a node restarts. */
export function isTransient(error: PosthornError): boolean {
  return [502, 503, 504].includes(error.status) || error.code === 'unreachable' || error.code === 'timeout';
}

/** Keeps an error about the token apart from the errors of the request, some of which are retried. */
export class TokenFailure extends Error {}

/** Returns the value of the `Authorization` header. Throws a `TokenFailure` if there is no token that can be sent. */
async function authorizationOf({ token }: Required<Cell>, signal: AbortSignal | undefined): Promise<string> {
  try {
    const current = typeof token === 'function' ? unlessAborted(Promise.resolve(token()), signal) : token;
    const value = `Bearer ${await current}`;
    if (isHeaderValue(value)) return value;
    throw new TypeError(
      'The token contains a character that an HTTP header cannot contain. Check that it was copied in full.',
    );
  } catch (cause) {
    throw new TokenFailure(undefined, { cause });
  }
}

/** Returns the failure of a token function that has not returned a token in time. */
export function lateToken(timeoutMs: number): TokenFailure {
  const detail = `The token function did not return a token within ${timeoutMs} ms.`;
  return new TokenFailure(undefined, { cause: new PosthornError({ status: 0, code: 'timeout', detail }) });
}

/** Returns the URL, or throws if no request could be sent to it. A retry would not help, so it must fail early. */
function checkedUrl(url: string | URL, name: string): string | URL {
  const { protocol = '', username, password } = URL.canParse(url) ? new URL(url) : ({} as Partial<URL>);
  if (username || password) throw new TypeError(`${name} must not contain a username or a password`);
  if (/^https?:$/.test(protocol)) return url;
  throw new TypeError(`${name} must start with http:// or https://, but is ${JSON.stringify(url)}`);
}

/** Names only the origin of the URL: the rest may be private. */
function unreachable(url: string | URL, cause: unknown): PosthornError {
  const { origin } = new URL(url);
  const isSecure = origin.startsWith('https:');
  const other = isSecure ? origin.replace('https:', 'http:') : origin.replace('http:', 'https:');
  const reason = reasonOf(cause);
  let detail = `There was no response from ${origin}: ${reason}.`;
  // What OpenSSL reports if the other side does not speak TLS.
  if (/wrong version number|packet length too long/.test(reason))
    detail = `There was no response from ${origin}: the server does not use TLS. Use ${other}.`;
  // A server that expects TLS closes a connection without it, and the other way around.
  else if (/ECONNRESET|EPIPE|other side closed|socket disconnected/.test(reason))
    detail += ` If the server ${isSecure ? 'does not use' : 'uses'} TLS, use ${other}.`;
  return new PosthornError({ status: 0, code: 'unreachable', detail, cause });
}

function broken(cause: unknown): PosthornError {
  const detail = `The connection was lost before the response was complete: ${reasonOf(cause)}.`;
  return new PosthornError({ status: 0, code: 'unreachable', detail, cause });
}

/** Returns the innermost reason, without its period. `fetch` wraps it, and Node.js has one for each address. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.map(reasonOf).join(', ');
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error
    ? reasonOf(error.cause)
    : (error.message || error.name).replace(/\.$/, '');
}

/** Names only the origin of the URL: the rest may be private. */
function timeoutError(url: string | URL, timeoutMs: number): PosthornError {
  const detail = `There was no response from ${new URL(url).origin} within ${timeoutMs} ms.`;
  return new PosthornError({ status: 0, code: 'timeout', detail });
}

function queryText(query: Query | undefined): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  if (given.length === 0) return '';
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/** Returns a key that makes a request or an event safe to repeat. */
export function newKey(): string {
  // Unlike randomUUID, this also works on pages without HTTPS.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Returns a path with every ID in it escaped: at`/v1/events/${id}`. */
export const at = (strings: TemplateStringsArray, ...ids: string[]) =>
  String.raw({ raw: strings }, ...ids.map(escaped));

/**
 * Escapes an ID. `fetch` removes the segments `.` and `..`, even if they are escaped once, and the request would go to
 * another path. Escaped twice, they are IDs that do not exist.
 */
function escaped(id: string): string {
  return /^\.{1,2}$/.test(id) ? id.replaceAll('.', '%252E') : encodeURIComponent(id);
}
