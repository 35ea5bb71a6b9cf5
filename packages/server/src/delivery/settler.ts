import type { Logger } from 'pino';
import { type OwnEvent, webhookDisabled } from '../domain/own-event.js';
import { type Database, isUnreachable, type Queryable } from '../storage/database.js';
import { batchOf, type Placement, type RecordedBatch, recordBatch } from '../storage/recording.js';
import { countSettled, type Settlement, settleBundled, settleDeliveries } from '../storage/settlements.js';
import { disableWebhook, type WebhookKey } from '../storage/webhooks.js';

/** One outcome to be written, and what is recorded with it in the same transaction. */
export interface Entry {
  /** The node under whose lease the attempt was made. */
  node: number;
  settlement: Settlement;
  event?: OwnEvent;
  /** The receiver answered 410: its webhook is disabled along with this. */
  gone?: { id: string; organization_id: string; workspace_id: string | null };
  /** Writing it failed, or seemed to: it may be written. */
  again?: true;
  /** Certainly written, and counted. */
  written?: true;
  /** The database refused it twice with others: it is tried by itself, so that they are not kept waiting by it. */
  alone?: true;
}

export interface SettlerOptions {
  /** Awaited before outcomes are written, and after. */
  beforeWriting: (outcomes: number) => Promise<void>;
  afterWriting: () => Promise<void>;
  /** It is written that deliveries to these are to be tried again. */
  onRetries: (webhooks: readonly WebhookKey[]) => void;
  placement: () => Placement;
  onRecorded: (batch: RecordedBatch) => void;
  onDisabled: (webhook: WebhookKey) => void;
}

/** Long enough to gather what a busy moment brings into one commit, short enough to go unnoticed. */
const gatherMs = 20;
const entriesMax = 500;
const againMs = 500;
const behindMin = 3_000;

/** Writes outcomes in batches: one statement, one commit, for all that finished in the last moment. */
export class Settler {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #options: SettlerOptions;
  #entries: Entry[] = [];
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;

  constructor(database: Database, logger: Logger, options: SettlerOptions) {
    this.#database = database;
    this.#logger = logger;
    this.#options = options;
  }

  /** So much is not written yet that it would be sent again after a crash: nothing more should be sent now. */
  get isBehind(): boolean {
    return this.#entries.length >= behindMin;
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    if (this.#entries.length >= entriesMax) this.#flushSoon(0);
    else this.#flushSoon(gatherMs);
  }

  /** Resolves once everything added so far is written, or was tried once after `deadlineMs`. */
  async drain(deadlineMs: number): Promise<void> {
    while (this.#entries.length > 0 || this.#flushing) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      await (this.#flushing ?? this.#flush());
      if (performance.now() > deadlineMs) return;
    }
  }

  #flushSoon(ms: number): void {
    if (this.#flushing) return;
    if (ms === 0) clearTimeout(this.#timer);
    else if (this.#timer) return;
    this.#timer = setTimeout(() => void this.#flush(), ms);
  }

  async #flush(): Promise<void> {
    this.#timer = undefined;
    if (this.#flushing || this.#entries.length === 0) return;
    let batch: readonly Entry[] = [];
    const writing = async () => {
      // First, and then they are taken: what is told of a webhook's health is about these, or written already.
      await this.#options.beforeWriting(Math.min(this.#entries.length, entriesMax));
      batch = this.#take();
      await this.#write(batch);
    };
    this.#flushing = writing().then(
      () => {
        this.#flushing = undefined;
        if (this.#entries.length > 0) this.#flushSoon(this.#entries.length >= entriesMax ? 0 : gatherMs);
      },
      (error) => {
        // Nothing is lost: it is tried again, and should our lease run out first, others attempt it anew.
        this.#logger.warn(
          { reason: (error as Error).message },
          'outcomes could not be written; trying again',
        );
        this.#putBack(
          batch.filter((entry) => !entry.written),
          isUnreachable(error),
        );
        this.#flushing = undefined;
        this.#flushSoon(againMs);
      },
    );
    await this.#flushing;
  }

  /** To the front again, but one that is refused even by itself to the back: others may fare better. */
  #putBack(unwritten: readonly Entry[], isUnreachable: boolean): void {
    const isRefused = !isUnreachable && unwritten.every((entry) => entry.again);
    const [first] = unwritten;
    for (const entry of unwritten) {
      entry.again = true;
      if (isRefused) entry.alone = true;
    }
    if (isRefused && unwritten.length === 1 && first) this.#entries.push(first);
    else this.#entries.unshift(...unwritten);
  }

  #take(): Entry[] {
    const alone = this.#entries.findIndex((entry) => entry.alone);
    if (alone === 0) return this.#entries.splice(0, 1);
    return this.#entries.splice(0, alone > 0 ? Math.min(alone, entriesMax) : entriesMax);
  }

  async #write(batch: readonly Entry[]): Promise<void> {
    const byNode = new Map<number, Entry[]>();
    for (const entry of batch) {
      const entries = byNode.get(entry.node);
      if (entries) entries.push(entry);
      else byNode.set(entry.node, [entry]);
    }
    for (const [node, entries] of byNode) {
      if (entries.some(({ event, gone }) => event || gone)) await this.#writeWithEvents(node, entries);
      else await settle(this.#database, node, entries, false);
      countSettled(entries.map(({ settlement }) => settlement));
      // Should the next name's fail, these are not tried again: counted twice, a bundle would end too early.
      for (const entry of entries) entry.written = true;
      this.#options.onRetries(retriedOf(entries));
    }
    await this.#options.afterWriting();
  }

  async #writeWithEvents(node: number, entries: readonly Entry[]): Promise<void> {
    const placement = this.#options.placement();
    const disabled: WebhookKey[] = [];
    const batch = await this.#database.transaction(async (client) => {
      const settled = await settle(client, node, entries, true);
      const events: OwnEvent[] = [];
      for (const { settlement, event, gone } of entries) {
        if (!settled.has(settlement.delivery.delivery_id)) continue;
        if (event) events.push(event);
        if (gone && (await disableWebhook(client, gone, 'gone'))) {
          events.push(webhookDisabled(gone, 'gone'));
          disabled.push(gone);
        }
      }
      if (events.length === 0) return undefined;
      return recordBatch(client, batchOf(events), placement);
    });
    for (const webhook of disabled) this.#options.onDisabled(webhook);
    if (batch) this.#options.onRecorded(batch);
  }
}

function retriedOf(entries: readonly Entry[]): readonly WebhookKey[] {
  const webhooks = new Map<string, WebhookKey>();
  for (const { settlement } of entries) {
    if (!settlement.wait_ms) continue;
    const { organization_id, webhook_id: id } = settlement.delivery;
    webhooks.set(id, { organization_id, id });
  }
  return [...webhooks.values()];
}

/** Answers which were written, where asked to. */
async function settle(
  client: Queryable,
  node: number,
  entries: readonly Entry[],
  answer: boolean,
): Promise<ReadonlySet<string>> {
  const ofBundles: Settlement[] = [];
  const ofRows: Settlement[] = [];
  for (const { settlement } of entries) (settlement.delivery.bundle ? ofBundles : ofRows).push(settlement);
  const settled = new Set<string>();
  if (ofBundles.length > 0) {
    const again = entries.some((entry) => entry.again);
    for (const id of await settleBundled(client, node, ofBundles, { again, answer })) settled.add(id);
  }
  if (ofRows.length > 0) {
    for (const id of await settleDeliveries(client, node, ofRows, answer)) settled.add(id);
  }
  return settled;
}
