import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import type { Outcome, Verdict } from '../domain/delivery.js';
import { addCounts, countAttempt, type DeliveryCounts, noCounts } from '../domain/delivery-counts.js';
import { Repeating } from '../signals/repeating.js';
import type { Database } from '../storage/database.js';
import { type CountedDeliveries, type Step, writeDeliveryCounts } from '../storage/delivery-counts.js';
import { limits } from './limits.js';

interface TalliedWebhook {
  id: string;
  organization_id: string;
  workspace_id: string | null;
}

/** The counts of one webhook in one period. */
interface Tallied {
  webhook: TalliedWebhook;
  counts: DeliveryCounts;
  isWritten: boolean;
}

const minuteMs = 60_000;

/** The counts of this process for one minute or one hour, by webhook. */
class Span {
  readonly step: Step;
  readonly atMs: number;
  /** Distinguishes the rows of this span from those of other processes, and of other spans for the same time. */
  readonly part = randomInt(1, 2 ** 31 - 1);
  readonly #webhooks = new Map<string, Tallied>();

  constructor(step: Step, atMs: number) {
    this.step = step;
    this.atMs = atMs;
  }

  get size(): number {
    return this.#webhooks.size;
  }

  note(webhook: TalliedWebhook, outcome: Outcome, verdict: Verdict): void {
    let tallied = this.#webhooks.get(webhook.id);
    if (!tallied) {
      tallied = { webhook, counts: noCounts(), isWritten: false };
      this.#webhooks.set(webhook.id, tallied);
    }
    tallied.isWritten = false;
    countAttempt(tallied.counts, outcome, verdict);
  }

  /**
   * Takes the complete counts of webhooks that changed since the last call, and of their workspaces and organizations.
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

  /** Puts back counts that could not be written. They are all written the next time. */
  putBack(): void {
    for (const tallied of this.#webhooks.values()) tallied.isWritten = false;
  }

  #row(organization_id: string, scope: string, counts: DeliveryCounts): CountedDeliveries {
    return { organization_id, scope, step: this.step, atMs: this.atMs, part: this.part, ...counts };
  }
}

/**
 * Counts the results of attempts in memory, and writes the counts every few seconds in one statement. So nothing is
 * added to what is written for a delivery. A process that is killed loses only the counts of these seconds.
 */
export class DeliveryTally {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #writing: Repeating;
  #current: Record<Step, Span> = { 1: new Span(1, 0), 60: new Span(60, 0) };
  /** Spans that have ended but are not written yet. */
  #past: Span[] = [];

  constructor(database: Database, logger: Logger, now: () => number) {
    this.#database = database;
    this.#now = now;
    this.#writing = new Repeating(limits.tallyEveryMs, () => this.#write(), logger);
  }

  /** Counts an attempt that has just ended. */
  note(webhook: TalliedWebhook, outcome: Outcome, verdict: Verdict): void {
    const nowMs = this.#now();
    this.#spanAt(1, nowMs).note(webhook, outcome, verdict);
    this.#spanAt(60, nowMs).note(webhook, outcome, verdict);
  }

  #spanAt(step: Step, nowMs: number): Span {
    const atMs = nowMs - (nowMs % (step * minuteMs));
    const current = this.#current[step];
    if (current.atMs === atMs) return current;
    this.#past.push(current);
    this.#current[step] = new Span(step, atMs);
    return this.#current[step];
  }

  async #write(): Promise<void> {
    const past = this.#past;
    const spans = [...past, ...Object.values(this.#current)];
    this.#past = [];
    // Later counts get their own rows, so memory stays bounded no matter how many webhooks there are.
    for (const span of Object.values(this.#current)) {
      if (span.size > limits.talliedWebhooks) this.#current[span.step] = new Span(span.step, span.atMs);
    }
    try {
      await writeDeliveryCounts(
        this.#database,
        spans.flatMap((span) => span.take()),
      );
    } catch (error) {
      for (const span of spans) span.putBack();
      const current: readonly Span[] = Object.values(this.#current);
      this.#past.unshift(...spans.filter((span) => !current.includes(span) && span.size > 0));
      throw error;
    }
  }

  /** Writes the remaining counts. */
  async stop(): Promise<void> {
    await this.#writing.stop();
    await this.#write().catch(() => undefined);
  }
}
