import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import type { Outcome, Verdict } from '../outcomes/outcome.js';
import type { Database } from '../postgres/database.js';
import { Repeating } from '../signals/repeating.js';
import { type CountedDeliveries, type Step, writeDeliveryCounts } from './delivery-count-store.js';
import { addCounts, countAttempt, type DeliveryCounts, noCounts } from './stats.js';

interface TalliedWebhook {
  id: string;
  organization_id: string;
  workspace_id: string | null;
}

/** The counts of one webhook in one span. */
interface Tallied {
  webhook: TalliedWebhook;
  counts: DeliveryCounts;
  /** Whether the database has these counts. */
  isWritten: boolean;
}

const minuteMs = 60_000;
/** As many rows as one statement writes within its time limit. */
const rowsAtOnce = 5_000;

/** The counts of this process for one minute or one hour, by webhook. */
class Span {
  readonly step: Step;
  readonly atMs: number;
  /**
   * Distinguishes the rows of this span from those of other processes, and of other spans for the same time. An hour
   * and its minutes have the same part, so that `addUpHours` can compute the hour from its minutes.
   */
  readonly part: number;
  readonly #webhooks = new Map<string, Tallied>();

  constructor(step: Step, nowMs: number, part: number) {
    this.step = step;
    this.part = part;
    this.atMs = nowMs - (nowMs % (step * minuteMs));
  }

  get size(): number {
    return this.#webhooks.size;
  }

  includes(nowMs: number): boolean {
    return nowMs >= this.atMs && nowMs < this.atMs + this.step * minuteMs;
  }

  /** Returns the counts of a webhook, for the caller to update. */
  of(webhook: TalliedWebhook): DeliveryCounts {
    let tallied = this.#webhooks.get(webhook.id);
    if (!tallied) {
      tallied = { webhook, counts: noCounts(), isWritten: false };
      this.#webhooks.set(webhook.id, tallied);
    }
    tallied.isWritten = false;
    return tallied.counts;
  }

  add(other: Span): void {
    for (const { webhook, counts } of other.#webhooks.values()) addCounts(this.of(webhook), counts);
  }

  /**
   * Returns the complete counts of the webhooks whose counts have changed since the last call, and of their workspaces
   * and organizations. Marks them as written.
   */
  take(): readonly CountedDeliveries[] {
    const changed: CountedDeliveries[] = [];
    const wider = new Map<string, CountedDeliveries>();
    const dirty = new Set<string>();
    for (const { webhook, counts, isWritten } of this.#webhooks.values()) {
      const { organization_id, workspace_id, id } = webhook;
      for (const scope of workspace_id === null ? [''] : ['', workspace_id]) {
        const key = `${organization_id} ${scope}`;
        const sum = wider.get(key) ?? this.#row(organization_id, scope, noCounts());
        wider.set(key, sum);
        addCounts(sum, counts);
        if (!isWritten) dirty.add(key);
      }
      if (!isWritten) {
        // Copy the counts, because attempts continue while they are written.
        changed.push(this.#row(organization_id, id, { ...counts, latencies: [...counts.latencies] }));
      }
    }
    for (const tallied of this.#webhooks.values()) tallied.isWritten = true;
    for (const [key, row] of wider) if (dirty.has(key)) changed.push(row);
    return changed;
  }

  /** Marks all counts as not written, so that the next call of `take` returns them again. */
  markUnwritten(): void {
    for (const tallied of this.#webhooks.values()) tallied.isWritten = false;
  }

  #row(organization_id: string, scope: string, counts: DeliveryCounts): CountedDeliveries {
    return { organization_id, scope, step: this.step, atMs: this.atMs, part: this.part, ...counts };
  }
}

function newHour(nowMs: number): Span {
  return new Span(60, nowMs, randomInt(1, 2 ** 31 - 1));
}

export interface TallyOptions {
  database: Database;
  logger: Logger;
  now: () => number;
  everyMs: number;
  /** The maximum number of webhooks with counts in memory. Beyond this, counts continue in new rows. */
  webhooksMax: number;
}

/**
 * Counts the results of attempts in memory, and writes the counts every few seconds, so that settling a delivery causes
 * no additional writes. The row of a minute is written whenever it has changed. The row of an hour is written only when
 * a minute ends, because readers add up the minutes of the current hour.
 */
export class DeliveryTally {
  readonly #options: TallyOptions;
  readonly #writing: Repeating;
  #minute: Span;
  #hour: Span;
  /** Minutes that have ended and hours that have grown since they were written. */
  readonly #due = new Set<Span>();

  constructor(options: TallyOptions) {
    this.#options = options;
    const nowMs = options.now();
    this.#hour = newHour(nowMs);
    this.#minute = new Span(1, nowMs, this.#hour.part);
    this.#writing = new Repeating(options.everyMs, () => this.#write(), options.logger);
  }

  /** Counts an attempt that has just ended. */
  note(webhook: TalliedWebhook, outcome: Outcome, verdict: Verdict): void {
    const nowMs = this.#options.now();
    if (!this.#minute.includes(nowMs)) this.#endMinute(nowMs);
    countAttempt(this.#minute.of(webhook), outcome, verdict);
  }

  /** Adds the current minute to its hour, and starts a new one. */
  #endMinute(nowMs: number): void {
    const { webhooksMax } = this.#options;
    if (this.#minute.size > 0) {
      this.#hour.add(this.#minute);
      this.#due.add(this.#minute).add(this.#hour);
    }
    // This minute may go on in new rows, or come again because the clock was set back. Such rows need another part, and
    // therefore a new hour.
    const isRepeated = nowMs < this.#minute.atMs + minuteMs;
    if (!this.#hour.includes(nowMs) || this.#hour.size > webhooksMax || isRepeated)
      this.#hour = newHour(nowMs);
    this.#minute = new Span(1, nowMs, this.#hour.part);
  }

  async #write(): Promise<void> {
    const nowMs = this.#options.now();
    if (!this.#minute.includes(nowMs) || this.#minute.size > this.#options.webhooksMax)
      this.#endMinute(nowMs);
    for (const span of [...this.#due, this.#minute]) await this.#writeSpan(span);
  }

  /** Writes a span, a limited number of rows at a time. A row has complete counts, so it can be written again. */
  async #writeSpan(span: Span): Promise<void> {
    this.#due.delete(span);
    try {
      const rows = span.take();
      for (let n = 0; n < rows.length; n += rowsAtOnce)
        await writeDeliveryCounts(this.#options.database, rows.slice(n, n + rowsAtOnce));
    } catch (error) {
      span.markUnwritten();
      if (span !== this.#minute) this.#due.add(span);
      throw error;
    }
  }

  /** Writes the remaining counts. */
  async stop(): Promise<void> {
    await this.#writing.stop();
    this.#endMinute(this.#options.now());
    await this.#write().catch(() => undefined);
  }
}
