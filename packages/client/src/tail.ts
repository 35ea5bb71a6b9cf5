import type { Event, TailEventsQuery } from './api.js';
import { PosthornError, unexpected } from './error.js';
import { headerOption } from './option-values.js';
import { pause, unlessAborted } from './pause.js';
import { isTransient, lateToken, TokenFailure, type Transport } from './transport.js';

export interface TailOptions {
  /** Event ID. The tail continues after this event. Without it, the tail starts now. */
  lastEventId?: string | undefined;
  /** Ends the tail: the iteration throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Called when the connection is lost, with the time until the next attempt. If it throws, the tail ends. */
  onDisconnect?: ((error: unknown, waitMs: number) => void) | undefined;
  /** Called each time the tail connects, including the first. If it throws, the tail ends with that error. */
  onConnect?: (() => void) | undefined;
}

/** The service sends something every 15 s, so a connection that is silent for longer is dead. */
const silenceMs = 45_000;
/**
 * A connection that has lasted this long counts as a success, even without events. A shorter one may have been cut by a
 * proxy as soon as it was open.
 */
const steadyMs = 5_000;
const waitMsMax = 30_000;
/** The longest wait that the service can ask for. `setTimeout` fires immediately if the delay is too long. */
const retryAfterMsMax = 3_600_000;

/**
 * New events, as they are recorded. If the connection is lost, the tail reconnects and continues where it
 * stopped, without gaps or duplicates, until the signal is aborted or the service refuses the request.
 * Iterate over it only once.
 */
export class Tail implements AsyncIterable<Event> {
  readonly #transport: Transport;
  readonly #query: TailEventsQuery;
  readonly #options: TailOptions;
  #lastEventId: string | undefined;
  #retryMs = 2_000;

  constructor(transport: Transport, query: TailEventsQuery, options: TailOptions) {
    this.#transport = transport;
    this.#query = query;
    this.#options = options;
    const { lastEventId } = options;
    this.#lastEventId = lastEventId === undefined ? undefined : headerOption('lastEventId', lastEventId);
  }

  /**
   * The position of the tail: the last event that you received, or where the tail began. Store it to continue in
   * another process.
   */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    const { signal, onConnect, onDisconnect } = this.#options;
    let failures = 0;
    let wasConnected = false;
    for (;;) {
      let failure: PosthornError | undefined;
      let openedMs: number | undefined;
      try {
        for await (const { id, data } of this.#connection()) {
          if (data === undefined && id !== undefined) this.#lastEventId = id;
          if (openedMs === undefined) {
            openedMs = performance.now();
            wasConnected = true;
            onConnect?.();
          }
          if (data === undefined) continue;
          failures = 0;
          const event = this.#transport.parse(data) as Event;
          // Set before the event is yielded: a caller that breaks out of the loop has received the event.
          this.#lastEventId = id ?? event.id;
          yield event;
        }
      } catch (error) {
        // An error of `token`, of a callback or of `parse` ends the tail: connecting again would only repeat it.
        if (error instanceof TokenFailure) throw error.cause;
        if (!(error instanceof LostConnection)) throw error;
        signal?.throwIfAborted();
        failure = error.cause;
        if (!canReconnect(failure) || (!wasConnected && failures >= 4)) throw failure;
      }
      if (openedMs !== undefined && performance.now() - openedMs >= steadyMs) failures = 0;
      const waitMs = this.#waitMs(failure, wasConnected ? failures : failures + 1);
      failures += 1;
      onDisconnect?.(failure, waitMs);
      await pause(waitMs, signal);
    }
  }

  /** Returns how long to wait. A lost connection is reopened almost immediately; after that, the waits grow. */
  #waitMs(failure: PosthornError | undefined, failures: number): number {
    // Some proxies ask to retry after 0 seconds.
    if (failure?.retryAfterMs) return Math.min(retryAfterMsMax, failure.retryAfterMs);
    if (failures === 0) return Math.random() * 250;
    return Math.min(waitMsMax, this.#retryMs * 2 ** (failures - 1)) * (0.5 + Math.random() / 2);
  }

  /** Yields the messages of one connection, until it ends. Its errors are `TokenFailure` or `LostConnection`. */
  async *#connection(): AsyncGenerator<Pick<Message, 'id' | 'data'>, void, undefined> {
    const silence = new AbortController();
    const { signal } = this.#options;
    const abort = signal ? AbortSignal.any([signal, silence.signal]) : silence.signal;
    const watch = <T>(arrival: Promise<T>): Promise<T> => {
      const timer = setTimeout(() => silence.abort(), silenceMs);
      return arrival.finally(() => clearTimeout(timer));
    };
    try {
      const opening = this.#transport.open({
        method: 'GET',
        path: '/v1/events/tail',
        query: this.#query,
        headers: {
          Accept: 'text/event-stream',
          ...(this.#lastEventId !== undefined && { 'Last-Event-ID': this.#lastEventId }),
        },
        signal: abort,
      });
      const response = await watch(opening);
      if (!/^text\/event-stream\b/i.test(response.headers.get('Content-Type') ?? ''))
        throw unexpected(response);
      let isEmpty = true;
      const body = response.body ?? new ReadableStream();
      const read = <T>(arrival: Promise<T>) => watch(unlessAborted(arrival, abort));
      for await (const { id, data, retryMs } of messagesOf(body, read)) {
        isEmpty = false;
        if (retryMs !== undefined) this.#retryMs = retryMs;
        yield { id, data };
      }
      if (isEmpty) throw new Error('the stream ended before its first message');
    } catch (cause) {
      if (cause instanceof TokenFailure)
        throw silence.signal.aborted && !signal?.aborted ? lateToken(silenceMs) : cause;
      if (cause instanceof PosthornError) throw new LostConnection(cause);
      const detail = 'The connection was lost.';
      throw new LostConnection(new PosthornError({ status: 0, code: 'unreachable', detail, cause }));
    } finally {
      silence.abort();
    }
  }
}

/** Tells a failed connection apart from an error of a callback. It never leaves the tail. */
class LostConnection extends Error {
  declare readonly cause: PosthornError;

  constructor(cause: PosthornError) {
    super(cause.detail, { cause });
  }
}

/** Returns whether the tail can reconnect after this error. */
function canReconnect(error: PosthornError): boolean {
  return isTransient(error) || error.status === 429 || error.status >= 500;
}

/**
 * A message in a stream of Server-Sent Events. A message without data only sets the last event ID or the time
 * to wait before reconnecting.
 */
interface Message {
  id: string | undefined;
  data: string | undefined;
  retryMs: number | undefined;
}

/**
 * Yields the messages of a response as they arrive. A comment arrives as a message without fields. `watch` gets the
 * promise of each read, of which a large message needs many.
 */
async function* messagesOf(
  body: ReadableStream<Uint8Array>,
  watch: <T>(arrival: Promise<T>) => Promise<T>,
): AsyncGenerator<Message, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await watch(reader.read());
      // Drop a message that was cut off.
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) yield messageOf(block);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function messageOf(block: string): Message {
  const message: Message = { id: undefined, data: undefined, retryMs: undefined };
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    const [field, value] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
    if (field === 'id') message.id = value;
    else if (field === 'data')
      message.data = message.data === undefined ? value : `${message.data}\n${value}`;
    else if (field === 'retry' && /^\d+$/.test(value)) message.retryMs = Number(value);
  }
  return message;
}
