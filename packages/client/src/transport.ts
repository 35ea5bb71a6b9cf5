import { errorOf, PosthornError } from './error.js';
import { pause } from './pause.js';

export interface RetryOptions {
  /** The maximum number of times that a request is sent. Default: 5. */
  attempts?: number;
  /** The longest wait before a request is repeated. If the service asks for more, the request fails. Default: 60 s. */
  maxWaitMs?: number;
}

export interface TransportOptions {
  /** Address of the listener, such as `https://hooks.example.com`. A path is kept as a prefix. */
  url: string | URL;
  /** Access token, or a function that returns the current one. */
  token: string | (() => string | Promise<string>);
  retry?: RetryOptions;
  /** How long one attempt may take. Default: 30 s. */
  timeoutMs?: number;
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** Parses responses and events. Replace it to keep numbers that JavaScript rounds. Default: `JSON.parse`. */
  parse?: (text: string) => unknown;
}

export type Query = object;

export interface RequestOptions {
  query?: Query | undefined;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Whether the request may be sent again even though the service may already have handled it. */
  repeatable?: boolean;
}

const firstWaitMs = 250;

/** Sends requests, and repeats those that failed temporarily. */
export class Transport {
  readonly #base: string;
  readonly #token: TransportOptions['token'];
  readonly #fetch: typeof globalThis.fetch;
  readonly #attempts: number;
  readonly #maxWaitMs: number;
  readonly #timeoutMs: number;
  readonly parse: (text: string) => unknown;

  constructor(options: TransportOptions) {
    this.#base = String(options.url).replace(/\/+$/, '');
    this.#token = options.token;
    // Browsers refuse a fetch that is called as a method of another object.
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.#attempts = options.retry?.attempts ?? 5;
    this.#maxWaitMs = options.retry?.maxWaitMs ?? 60_000;
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.parse = options.parse ?? JSON.parse;
  }

  /** Returns the parsed body of a successful response; undefined if it has none. */
  async json<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    return this.#withRetries(
      method,
      path,
      options,
      (text) => (text === '' ? undefined : this.parse(text)) as T,
    );
  }

  /** Returns the body of a successful response as it is. */
  async text(method: string, path: string, options: RequestOptions = {}): Promise<string> {
    return this.#withRetries(method, path, options, (text) => text);
  }

  async #withRetries<T>(
    method: string,
    path: string,
    options: RequestOptions,
    parse: (text: string) => T,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#once(method, path, options, parse);
      } catch (error) {
        const waitMs = this.#waitMs(error, attempt, options.repeatable ?? method !== 'POST');
        if (waitMs === undefined) throw error;
        await pause(waitMs, options.signal);
      }
    }
  }

  async #once<T>(
    method: string,
    path: string,
    options: RequestOptions,
    parse: (text: string) => T,
  ): Promise<T> {
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
    const response = await this.open(method, path, { ...options, signal }).catch((error) => {
      throw timeout.aborted && !options.signal?.aborted ? timeoutError(this.#timeoutMs) : error;
    });
    try {
      return parse(await response.text());
    } catch (cause) {
      options.signal?.throwIfAborted();
      if (timeout.aborted) throw timeoutError(this.#timeoutMs);
      throw unreachable(cause);
    }
  }

  /** Sends one request, once. Returns the response if it is successful; its body is not read yet. */
  async open(method: string, path: string, options: RequestOptions): Promise<Response> {
    const { query, body, headers, signal } = options;
    const token = typeof this.#token === 'function' ? await this.#token() : this.#token;
    signal?.throwIfAborted();
    const response = await this.#fetch(`${this.#base}${path}${queryText(query)}`, {
      method,
      headers: {
        Accept: 'application/json',
        Authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
      // A redirect fails below. With `error`, Node.js 20 loses the signal after a garbage collection, so that
      // a tail would never end.
      redirect: 'manual',
    }).catch((cause) => {
      signal?.throwIfAborted();
      throw unreachable(cause);
    });
    if (!response.ok) throw await errorOf(response);
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

/** Returns whether the same request may succeed a little later. */
export function isTransient(error: PosthornError): boolean {
  return error.status === 503 || error.code === 'unreachable' || error.code === 'timeout';
}

function unreachable(cause: unknown): PosthornError {
  const detail = 'There was no response: the connection failed or broke.';
  return new PosthornError({ status: 0, code: 'unreachable', detail, cause });
}

function timeoutError(timeoutMs: number): PosthornError {
  const detail = `There was no response within ${timeoutMs} ms.`;
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
