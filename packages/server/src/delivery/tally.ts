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

/** The counts of one webhook in one span of time. */
interface Tallied {
  webhook: TalliedWebhook;
  counts: DeliveryCounts;
  isWritten: boolean;
}

const minuteMs = 60_000;

/** What this process counts in a minute or an hour, by webhook. */
class Span {
  readonly step: Step;
  readonly atMs: number;
  /** Another process, and another span of the same time, has another one, so their rows do not meet. */
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

  /** Takes what has changed since the last time: webhooks, and with them their workspaces and organizations, complete. */
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
        // A copy: attempts go on while it is written.
        changed.push(this.#row(organization_id, id, { ...counts, latencies: [...counts.latencies] }));
      }
    }
    for (const tallied of this.#webhooks.values()) tallied.isWritten = true;
    for (const [key, row] of wider) if (dirty.has(key)) changed.push(row);
    return changed;
  }

  /** Takes back what could not be written: all of it is written the next time. */
  putBack(): void {
    for (const tallied of this.#webhooks.values()) tallied.isWritten = false;
  }

  #row(organization_id: string, scope: string, counts: DeliveryCounts): CountedDeliveries {
    return { organization_id, scope, step: this.step, atMs: this.atMs, part: this.part, ...counts };
  }
}

/**
 * Counts what comes of attempts, in memory, and writes it every few seconds in one statement: nothing is added to what
 * is written for a delivery. A process that is killed loses the counts of these seconds, and nothing else.
 */
export class DeliveryTally {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #writing: Repeating;
  #current: Record<Step, Span> = { 1: new Span(1, 0), 60: new Span(60, 0) };
  /** Spans that are over, until they are written. */
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
    // What comes later gets rows of its own, so memory stays bounded however many webhooks there are.
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

  /** Writes what is left. */
  async stop(): Promise<void> {
    await this.#writing.stop();
    await this.#write().catch(() => undefined);
  }
}
