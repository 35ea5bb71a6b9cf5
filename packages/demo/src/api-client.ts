import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';

/** A response other than 2xx. */
export class Refused extends Error {
  override name = 'Refused';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const timeoutMs = 30_000;
const triesMax = 5;
const waitSecondsMax = 30;

/** Talks to one listener of the service over HTTP, as its users do. */
export class ApiClient {
  readonly #agent: Agent;
  readonly #baseUrl: string;
  readonly #token: string;

  constructor(baseUrl: string, token: string, connections: number) {
    this.#baseUrl = baseUrl;
    this.#token = token;
    // The body timeout also applies to a tail, which sends something every 15 s.
    this.#agent = new Agent({ connections, headersTimeout: timeoutMs, bodyTimeout: 2 * timeoutMs });
  }

  /** Returns the body of a 2xx response. Waits and retries if the service asks for it, as it does for a rate limit. */
  async ask<T>(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<T> {
    for (let tries = 1; ; tries++) {
      const answer = await this.#send(method, path, body);
      const text = await answer.body.text();
      if (answer.statusCode < 300) return parsed(text) as T;
      const waitSeconds = Number(answer.headers['retry-after']);
      const comesBack = answer.statusCode === 429 && tries < triesMax && waitSeconds <= waitSecondsMax;
      if (!comesBack) throw new Refused(answer.statusCode, refusal(method, path, answer.statusCode, text));
      await delay(waitSeconds * 1000);
    }
  }

  /** Returns the text of a response that may never end, as it arrives. */
  async follow(
    path: string,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Buffer>> {
    const answer = await this.#send('GET', path, undefined, { headers, signal });
    if (answer.statusCode === 200) return answer.body;
    throw new Refused(answer.statusCode, refusal('GET', path, answer.statusCode, await answer.body.text()));
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #send(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body: unknown,
    options: { headers?: Record<string, string>; signal?: AbortSignal } = {},
  ) {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#token}`, ...options.headers };
    if (body !== undefined) headers['content-type'] = 'application/json';
    return request(this.#baseUrl + path, {
      ...{ method, headers, dispatcher: this.#agent },
      body: body === undefined ? null : JSON.stringify(body),
      ...(options.signal && { signal: options.signal }),
    });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function refusal(method: string, path: string, status: number, text: string): string {
  const { detail, errors } = (parsed(text) ?? {}) as { detail?: string; errors?: { detail: string }[] };
  const reason = errors?.map((error) => error.detail).join('; ') ?? detail ?? text.slice(0, 200);
  return `${method} ${path.split('?', 1)[0]} returned ${status}: ${reason}`;
}
