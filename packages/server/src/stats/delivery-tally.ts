import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import { limits } from '../engine/limits.js';
import type { Outcome } from '../outcomes/outcome.js';
import type { Verdict } from '../outcomes/retry-schedule.js';
import type { Database } from '../postgres/database.js';
import { Repeating } from '../signals/timers.js';
import { type CountedDeliveries, type Step, writeDeliveryCounts } from './count-store.js';
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
  /** Distinguishes the rows of this span from those of other processes, and of other spans for the same time. */
  readonly part = randomInt(1, 2 ** 31 - 1);
  readonly #webhooks = new Map<string, Tallied>();

  constructor(step: Step, nowMs: number) {
    this.step = step;
    this.atMs = nowMs - (nowMs % (step * minuteMs));
  }

  /** Returns whether the span includes this time, and has counts of at most `webhooksMax` webhooks. */
  goesOn(nowMs: number, webhooksMax: number): boolean {
    const isNow = nowMs >= this.atMs && nowMs < this.atMs + this.step * minuteMs;
    return isNow && this.#webhooks.size <= webhooksMax;
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

export interface TallyOptions {
  database: Database;
  logger: Logger;
  now: () => number;
}

/**
 * Counts the results of attempts in memory, by the minute and by the hour, and writes the counts every few seconds, so
 * that settling a delivery causes no additional writes.
 */
export class DeliveryTally {
  readonly #options: TallyOptions;
  readonly #writing: Repeating;
  #current: readonly Span[];
  /** Spans that have ended since they were written. */
  readonly #ended = new Set<Span>();

  constructor(options: TallyOptions) {
    this.#options = options;
    const nowMs = options.now();
    this.#current = [new Span(1, nowMs), new Span(60, nowMs)];
    this.#writing = new Repeating(limits.tallyEveryMs, () => this.#write(), options.logger);
  }

  /** Counts an attempt that has just ended. */
  note(webhook: TalliedWebhook, outcome: Outcome, verdict: Verdict): void {
    this.#turn(Number.POSITIVE_INFINITY);
    for (const span of this.#current) countAttempt(span.of(webhook), outcome, verdict);
  }

  /** Replaces the spans that have ended, and those with counts of more webhooks than this. */
  #turn(webhooksMax = limits.talliedWebhooks): void {
    const nowMs = this.#options.now();
    this.#current = this.#current.map((span) => {
      if (span.goesOn(nowMs, webhooksMax)) return span;
      this.#ended.add(span);
      return new Span(span.step, nowMs);
    });
  }

  async #write(): Promise<void> {
    this.#turn();
    for (const span of [...this.#ended, ...this.#current]) await this.#writeSpan(span);
  }

  /** Writes a span, a limited number of rows at a time. A row has complete counts, so it can be written again. */
  async #writeSpan(span: Span): Promise<void> {
    try {
      const rows = span.take();
      for (let n = 0; n < rows.length; n += rowsAtOnce)
        await writeDeliveryCounts(this.#options.database, rows.slice(n, n + rowsAtOnce));
      this.#ended.delete(span);
    } catch (error) {
      span.markUnwritten();
      throw error;
    }
  }

  /** Writes the remaining counts. */
  async stop(): Promise<void> {
    await this.#writing.stop();
    await this.#write().catch(() => undefined);
  }
}
