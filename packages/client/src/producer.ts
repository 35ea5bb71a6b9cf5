import { PosthornError } from './error.js';
import { pause } from './pause.js';
import type { NewEvent, RecordedEvent } from './platform-api.js';
import { isTransient, newKey, Transport, type TransportOptions } from './transport.js';

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

interface Waiting {
  organizationId: string;
  text: string;
  bytes: number;
  resolve: (recorded: RecordedEvent) => void;
  reject: (error: unknown) => void;
}

/** The maximum number of organizations whose cells are remembered. If there are more, all are forgotten. */
const homesMax = 10_000;
/** How many times a batch follows an organization: once to another cell, and once back if it has returned. */
const hopsMax = 2;
const limits = { events: 1_000, bytes: 8 * 1024 * 1024 - 1_024 };
const utf8 = new TextEncoder();

/**
 * Records events through the platform listener, many in one request. Each event gets an idempotency key, so
 * it is recorded only once, no matter how many times its batch is sent. Close the producer to send the events
 * that are still queued.
 */
export class Producer {
  readonly #transport: Transport;
  readonly #batch: { events: number; bytes: number; delayMs: number };
  readonly #queueMax: { events: number; bytes: number };
  readonly #concurrency: number;
  readonly #giveUpMs: number;
  readonly #queue: Waiting[] = [];
  readonly #pending = new Set<Promise<unknown>>();
  readonly #roomWaiters = new Set<() => void>();
  /** The cells of organizations that do not live in the cell at `url`. */
  readonly #homes = new Map<string, string>();
  #held = { events: 0, bytes: 0 };
  #queuedBytes = 0;
  #sending = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether someone was told that there is room, and nothing has been sent since. */
  #isAdmitted = false;
  #turn: ReturnType<typeof setTimeout> | undefined;
  #isFlushing = false;
  #isClosed = false;

  constructor(options: ProducerOptions) {
    // The producer repeats batches itself, so that a batch can change between attempts.
    this.#transport = new Transport({ ...options, retry: { attempts: 1 } });
    const { batch = {}, queue = {} } = options;
    this.#batch = {
      events: Math.min(batch.events ?? 500, limits.events),
      bytes: Math.min(batch.bytes ?? 1024 * 1024, limits.bytes),
      delayMs: batch.delayMs ?? 10,
    };
    this.#queueMax = { events: queue.events ?? 10_000, bytes: queue.bytes ?? 32 * 1024 * 1024 };
    this.#concurrency = options.concurrency ?? 1;
    this.#giveUpMs = options.giveUpMs ?? 60_000;
  }

  /** How many events are queued or in flight. */
  get size(): number {
    return this.#held.events;
  }

  /**
   * Queues an event. Resolves once the event is stored durably. Rejects if the service refuses it or is
   * unreachable for too long. Rejects with `queue_full` if the queue is full: wait for `ready()` before you
   * send more.
   */
  send(event: NewEvent): Promise<RecordedEvent> {
    if (this.#isClosed) return Promise.reject(ownError('closed', 'The producer is closed.'));
    if (this.#isFull())
      return Promise.reject(
        ownError('queue_full', 'The queue is full. Wait for ready() before you send more.'),
      );
    const text = JSON.stringify({ ...event, idempotency_key: event.idempotency_key ?? newKey() });
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
  async sendAll(events: Iterable<NewEvent> | AsyncIterable<NewEvent>, signal?: AbortSignal): Promise<number> {
    let count = 0;
    let failure: { error: unknown } | undefined;
    const sent = new Set<Promise<unknown>>();
    for await (const event of events) {
      do {
        await this.ready(signal);
        signal?.throwIfAborted();
        // Someone who did not wait for room may have taken it.
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

  /** Tells the first of those who wait that there is room; all of them if the producer is closed. */
  #letIn(): void {
    for (const enter of this.#roomWaiters) {
      if (!this.#isClosed) {
        if (this.#isFull()) return;
        if (this.#isAdmitted) {
          // Whoever was told first may never send anything.
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

  /** Sends a batch if one is due, or sets the time when it will be. */
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
    void this.#record(batch).finally(() => {
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

  /** Records a batch. The service records all or nothing, so refused events are removed and the rest is sent again. */
  async #record(batch: readonly Waiting[], hops = 0): Promise<void> {
    if (batch.length === 0) return;
    const cells = groupsOf(batch, ({ organizationId }) => this.#homes.get(organizationId));
    if (cells.size > 1) {
      for (const group of cells.values()) await this.#record(group, hops);
      return;
    }
    const [cell] = cells.keys();
    try {
      const recorded = await this.#post(batch, cell);
      for (const [index, { resolve }] of batch.entries()) resolve(recorded[index]!);
    } catch (error) {
      if (this.#hasMoved(error, batch, hops)) {
        const organizations = groupsOf(batch, ({ organizationId }) => organizationId);
        const isOne = organizations.size === 1;
        for (const group of organizations.values()) await this.#record(group, isOne ? hops + 1 : hops);
        return;
      }
      const faulty = error instanceof PosthornError ? faultyEvents(error, batch.length) : new Map();
      if (faulty.size > 0) {
        for (const [index, fault] of faulty) batch[index]?.reject(fault);
        await this.#record(batch.filter((_, index) => !faulty.has(index)));
      } else if (batch.length > 1 && isAboutOne(error)) {
        // The error does not say which event it is about.
        const half = Math.ceil(batch.length / 2);
        await this.#record(batch.slice(0, half));
        await this.#record(batch.slice(half));
      } else for (const { reject } of batch) reject(error);
    }
  }

  /**
   * Returns whether to send the batch again because an organization lives in another cell, and notes which. The service
   * does not say which organization it is, so a batch of several is first sent again one organization at a time.
   */
  #hasMoved(error: unknown, batch: readonly Waiting[], hops: number): boolean {
    if (!(error instanceof PosthornError) || error.code !== 'wrong_cell') return false;
    const { organizationId } = batch[0]!;
    if (batch.some((event) => event.organizationId !== organizationId)) return true;
    this.#homes.delete(organizationId);
    if (hops >= hopsMax || !this.#transport.knows(error.cell)) return false;
    if (this.#homes.size >= homesMax) this.#homes.clear();
    this.#homes.set(organizationId, error.cell);
    return true;
  }

  async #post(batch: readonly Waiting[], cell: string | undefined): Promise<RecordedEvent[]> {
    const body = `[${batch.map(({ text }) => text).join(',')}]`;
    // Not the time of day, which can be set.
    const deadlineMs = performance.now() + this.#giveUpMs;
    for (let attempt = 0; ; attempt += 1) {
      try {
        const { data } = await this.#transport.json<{ data: RecordedEvent[] }>('POST', '/platform/events', {
          body,
          cell,
          // A batch must not be recorded in another cell as a whole: its other organizations may not live there.
          follows: false,
        });
        return data;
      } catch (error) {
        const mayPass = error instanceof PosthornError && (isTransient(error) || error.status === 429);
        if (!mayPass) throw error;
        // Some proxies ask to retry after 0 seconds.
        const waitMs = error.retryAfterMs || Math.min(5_000, 100 * 2 ** attempt) * (1 + Math.random() / 4);
        if (performance.now() + waitMs > deadlineMs) throw error;
        await pause(waitMs);
      }
    }
  }
}

function groupsOf<Key>(
  batch: readonly Waiting[],
  keyOf: (event: Waiting) => Key,
): ReadonlyMap<Key, readonly Waiting[]> {
  const groups = new Map<Key, Waiting[]>();
  for (const event of batch) {
    const group = groups.get(keyOf(event));
    if (group) group.push(event);
    else groups.set(keyOf(event), [event]);
  }
  return groups;
}

/** Returns the error of each event that the service reports, by its index in the batch. */
function faultyEvents(error: PosthornError, count: number): Map<number, PosthornError> {
  const faults = new Map<number, PosthornError['errors'][number][]>();
  for (const fault of error.errors) {
    const [, index, rest = ''] = /^\/(\d+)(\/.*)?$/.exec(fault.pointer ?? '') ?? [];
    if (index === undefined || Number(index) >= count) continue;
    faults.set(Number(index), [...(faults.get(Number(index)) ?? []), { ...fault, pointer: rest }]);
  }
  return new Map(
    [...faults].map(([index, errors]) => {
      const detail = errors
        .map(({ pointer, detail }) => sentence(`${pointer || 'The event'}: ${detail}`))
        .join(' ');
      const { status, code, requestId } = error;
      return [index, new PosthornError({ status, code, requestId, errors, detail, cause: error })];
    }),
  );
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function isAboutOne(error: unknown): boolean {
  return error instanceof PosthornError && (error.status === 422 || error.status === 413);
}

function ownError(code: string, detail: string): PosthornError {
  return new PosthornError({ status: 0, code, detail });
}
