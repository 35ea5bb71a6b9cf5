import { PosthornError } from './error.js';
import { pause } from './pause.js';
import type { RecordedEvent } from './platform-api.js';
import { isTransient, type Transport } from './transport.js';

/** An event as JSON, with the functions that settle its `send`. */
export interface Waiting {
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

/** Sends batches of events to the cells where their organizations live, until each event is recorded or refused. */
export class Recorder {
  readonly #transport: Transport;
  readonly #giveUpMs: number;
  /** The cells of organizations that do not live in the cell at `url`. */
  readonly #homes = new Map<string, string>();

  constructor(transport: Transport, giveUpMs: number) {
    this.#transport = transport;
    this.#giveUpMs = giveUpMs;
  }

  /** Records a batch. The service records all or nothing, so refused events are removed and the rest is sent again. */
  async record(batch: readonly Waiting[], hops = 0): Promise<void> {
    if (batch.length === 0) return;
    const cells = groupsOf(batch, ({ organizationId }) => this.#homes.get(organizationId));
    if (cells.size > 1) {
      for (const group of cells.values()) await this.record(group, hops);
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
        for (const group of organizations.values()) await this.record(group, isOne ? hops + 1 : hops);
        return;
      }
      const faulty = error instanceof PosthornError ? faultyEvents(error, batch.length) : new Map();
      if (faulty.size > 0) {
        for (const [index, fault] of faulty) batch[index]?.reject(fault);
        await this.record(batch.filter((_, index) => !faulty.has(index)));
      } else if (batch.length > 1 && isAboutOne(error)) {
        // The error does not say which event it is about.
        const half = Math.ceil(batch.length / 2);
        await this.record(batch.slice(0, half));
        await this.record(batch.slice(half));
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
    // Not the system clock, which can be set.
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
