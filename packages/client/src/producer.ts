import { PosthornError } from './error.js';
import { countOption, sizeOption } from './option-values.js';
import type { NewEvent, RecordedEvent } from './platform-api.js';
import { Recorder, type Waiting } from './recorder.js';
import { newKey, Transport, type TransportOptions } from './transport.js';

declare global {
  /**
   * The payloads of the platform's event types, by type. Empty, unless the program imports a file that `posthorn types
   * generate` has written.
   */
  interface PosthornEventTypes {}
}

type ProducedType = Exclude<keyof PosthornEventTypes, `webhook.${string}`>;

/** An event of one of the platform's types, if the program has them; otherwise, any event. */
export type ProducedEvent = keyof PosthornEventTypes extends never
  ? NewEvent
  : {
      [Name in ProducedType]: Omit<NewEvent, 'type' | 'payload'> & {
        type: Name;
        payload: PosthornEventTypes[Name];
      };
    }[ProducedType];

export interface ProducerOptions extends Omit<TransportOptions, 'retry'> {
  /**
   * When to send a batch: as soon as one of these limits is reached. Default: 500 events, 1 MiB, 10 ms after
   * its first event.
   */
  batch?: { events?: number; bytes?: number; delayMs?: number };
  /** How much may be queued or in flight. Default: 10,000 events, 32 MiB. */
  queue?: { events?: number; bytes?: number };
  /** How many requests may be in flight. With 1, the default, events are recorded in the order of `send`. */
  concurrency?: number;
  /** How long to keep repeating a batch while the service is unreachable or busy. Default: 60 s. */
  giveUpMs?: number;
}

const limits = { events: 1_000, bytes: 8 * 1024 * 1024 - 1_024 };
const utf8 = new TextEncoder();

/**
 * Records events through the platform listener, many in one request. Each event gets an idempotency key, so
 * it is recorded only once, no matter how many times its batch is sent. Close the producer to send the events
 * that are still queued.
 */
export class Producer {
  readonly #recorder: Recorder;
  readonly #batch: { events: number; bytes: number; delayMs: number };
  readonly #queueMax: { events: number; bytes: number };
  readonly #concurrency: number;
  readonly #queue: Waiting[] = [];
  readonly #pending = new Set<Promise<unknown>>();
  readonly #roomWaiters = new Set<() => void>();
  #held = { events: 0, bytes: 0 };
  #queuedBytes = 0;
  #sending = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether a caller was told that there is room, and nothing has been sent since. */
  #isAdmitted = false;
  #turn: ReturnType<typeof setTimeout> | undefined;
  #isFlushing = false;
  #isClosed = false;

  constructor(options: ProducerOptions) {
    // The recorder repeats batches itself, so that a batch can change between attempts.
    const transport = new Transport({ ...options, retry: { attempts: 1 } });
    this.#recorder = new Recorder(transport, options.giveUpMs ?? 60_000);
    const { batch = {}, queue = {} } = options;
    this.#batch = {
      events: Math.min(countOption('batch.events', batch.events ?? 500), limits.events),
      bytes: Math.min(sizeOption('batch.bytes', batch.bytes ?? 1024 * 1024), limits.bytes),
      delayMs: batch.delayMs ?? 10,
    };
    this.#queueMax = {
      events: countOption('queue.events', queue.events ?? 10_000),
      bytes: sizeOption('queue.bytes', queue.bytes ?? 32 * 1024 * 1024),
    };
    this.#concurrency = countOption('concurrency', options.concurrency ?? 1);
  }

  /** How many events are queued or in flight. */
  get size(): number {
    return this.#held.events;
  }

  /**
   * Queues an event. Resolves once the event is stored durably. Rejects if JSON cannot express the event, or if the
   * service refuses it or is unreachable for too long. Rejects with `queue_full` if the queue is full: wait for
   * `ready()` before you send more.
   */
  send(event: ProducedEvent): Promise<RecordedEvent> {
    if (this.#isClosed) return Promise.reject(ownError('closed', 'The producer is closed.'));
    if (this.#isFull())
      return Promise.reject(
        ownError('queue_full', 'The queue is full. Wait for ready() before you send more.'),
      );
    let text: string;
    try {
      text = JSON.stringify({ ...event, idempotency_key: event.idempotency_key ?? newKey() });
    } catch (error) {
      return Promise.reject(error);
    }
    const bytes = utf8.encode(text).length + 1;
    const recorded = new Promise<RecordedEvent>((resolve, reject) => {
      this.#queue.push({ organizationId: event.organization_id, text, bytes, resolve, reject });
    });
    this.#held = { events: this.#held.events + 1, bytes: this.#held.bytes + bytes };
    this.#queuedBytes += bytes;
    const settled = recorded
      .catch(() => undefined)
      .then(() => {
        this.#pending.delete(settled);
        this.#held = { events: this.#held.events - 1, bytes: this.#held.bytes - bytes };
        this.#letIn();
      });
    this.#pending.add(settled);
    this.#wake();
    this.#isAdmitted = false;
    this.#letIn();
    return recorded;
  }

  /**
   * Resolves when there is room for another event. If several callers wait, they take turns: each is told only after
   * the one before it has sent its event. So call `send` as soon as this resolves.
   */
  async ready(signal?: AbortSignal): Promise<void> {
    if (this.#isClosed) return;
    if (!this.#isFull() && !this.#isAdmitted && this.#roomWaiters.size === 0) {
      this.#isAdmitted = true;
      return;
    }
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const stop = () => {
        this.#roomWaiters.delete(enter);
        reject(signal?.reason);
      };
      const enter = () => {
        signal?.removeEventListener('abort', stop);
        resolve();
      };
      this.#roomWaiters.add(enter);
      signal?.addEventListener('abort', stop, { once: true });
      this.#letIn();
    });
  }

  /** Sends all events of a source, as fast as the service takes them. Returns how many. Stops at the first failure. */
  async sendAll(
    events: Iterable<ProducedEvent> | AsyncIterable<ProducedEvent>,
    signal?: AbortSignal,
  ): Promise<number> {
    let count = 0;
    let failure: { error: unknown } | undefined;
    const sent = new Set<Promise<unknown>>();
    for await (const event of events) {
      do {
        await this.ready(signal);
        signal?.throwIfAborted();
        // A caller that did not wait for room may have taken it.
      } while (this.#isFull() && !this.#isClosed);
      if (failure) break;
      const one: Promise<unknown> = this.send(event).then(
        () => sent.delete(one),
        (error) => {
          failure ??= { error };
        },
      );
      sent.add(one);
      count += 1;
    }
    await Promise.all(sent);
    if (failure) throw failure.error;
    return count;
  }

  /** Sends queued events immediately. Resolves when everything sent so far is recorded or refused. */
  async flush(): Promise<void> {
    this.#isFlushing = true;
    this.#wake();
    await Promise.all(this.#pending);
  }

  /** Accepts no more events, and resolves when all that were sent are recorded or refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#letIn();
    await this.flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #isFull(): boolean {
    return this.#held.events >= this.#queueMax.events || this.#held.bytes >= this.#queueMax.bytes;
  }

  /** Tells the first waiting caller that there is room, or all of them if the producer is closed. */
  #letIn(): void {
    for (const enter of this.#roomWaiters) {
      if (!this.#isClosed) {
        if (this.#isFull()) return;
        if (this.#isAdmitted) {
          // The caller that was told may never send anything.
          this.#turn ??= setTimeout(() => {
            this.#turn = undefined;
            this.#isAdmitted = false;
            this.#letIn();
          }, 0);
          return;
        }
        this.#isAdmitted = true;
      }
      this.#roomWaiters.delete(enter);
      enter();
    }
  }

  /** Sends the batches that are due, and sets a timer for the next one. */
  #wake(): void {
    if (this.#queue.length === 0) this.#isFlushing = false;
    while (this.#sending < this.#concurrency && this.#queue.length > 0) {
      const isFilled = this.#queue.length >= this.#batch.events || this.#queuedBytes >= this.#batch.bytes;
      if (!isFilled && !this.#isFlushing && !this.#isClosed) {
        this.#timer ??= setTimeout(() => {
          this.#timer = undefined;
          this.#dispatch();
          this.#wake();
        }, this.#batch.delayMs);
        return;
      }
      this.#dispatch();
    }
  }

  #dispatch(): void {
    if (this.#sending >= this.#concurrency || this.#queue.length === 0) return;
    const batch = this.#take();
    this.#sending += 1;
    void this.#recorder.record(batch).finally(() => {
      this.#sending -= 1;
      this.#wake();
    });
  }

  #take(): Waiting[] {
    let [count, bytes] = [0, 0];
    for (const { bytes: more } of this.#queue) {
      if (count >= this.#batch.events || (count > 0 && bytes + more > this.#batch.bytes)) break;
      count += 1;
      bytes += more;
    }
    this.#queuedBytes -= bytes;
    return this.#queue.splice(0, count);
  }
}

function ownError(code: string, detail: string): PosthornError {
  return new PosthornError({ status: 0, code, detail });
}
