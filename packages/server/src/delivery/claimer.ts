import type { Logger } from 'pino';
import { type BundleClaim, type ClaimedBundles, claimBundles, claimDeliveries } from '../storage/claims.js';
import type { Database } from '../storage/database.js';
import { readOldestUnfinished } from '../storage/deliveries.js';
import type { LeasedDelivery } from '../storage/leased-delivery.js';
import type { LeftShare } from '../storage/recording.js';
import { Alarms } from './alarms.js';
import { dueMax } from './lane.js';

/** Found by nobody's word: deliveries recorded where no notification reaches us. */
const pollMs = 500;
const shareMin = 0.01;
const webhooksMax = 100;
/** What one answer of the database may bring: it is read in one piece, while nothing else is. */
const bytesMax = 8 * 1024 * 1024;
const bundledMax = 5_000;
/** Bundles leave this much room to what is recorded meanwhile, and further ones of a webhook more. */
const roomLeft = 5_000;
const roomLeftByFurther = 10_000;
/** Another node is just taking what we found. */
const takenMs = 20;
const oldestEveryMs = 60_000;
const wakeStepMs = 20;

/** What a claim left in the database. */
export interface Left {
  due: Looked;
  bundled: Looked;
  /** When it began. */
  atMs: number;
}

export interface Looked {
  /** Webhooks that have more there. */
  more: ReadonlySet<string>;
  /** Webhooks of which it brought something; of those that have no more, all there was. */
  all: ReadonlySet<string>;
  /** Webhooks that were not to be looked at. */
  busy: ReadonlySet<string>;
  /** All others were looked at. */
  complete: boolean;
}

/** How webhooks stand here, as far as claims need to know. */
export interface Standing {
  /** They need nothing that was recorded lately. */
  busy: string[];
  /** They need nothing that is due. */
  busyWithDue: string[];
  /** They take whatever there is of theirs. */
  answering: string[];
}

export interface ClaimerOptions {
  node: () => number | undefined;
  room: () => number;
  standing: () => Standing;
  /** Told what is in the database, answers whether one of their webhooks could be given some now. */
  onAnnounced: (shares: readonly LeftShare[]) => boolean;
  onDue: (deliveries: readonly LeasedDelivery[]) => void;
  onBundled: (deliveries: readonly LeasedDelivery[]) => void;
  onLeft: (left: Left) => void;
}

/** Takes due deliveries from the database: retries, what a dead node left, what others recorded. */
export class Claimer {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #options: ClaimerOptions;
  readonly #alarms = new Alarms((webhooks) =>
    this.announce(webhooks.map((id) => ({ webhook_id: id, bundled: false }))),
  );
  #notBefore = new Date(0);
  #oldestReadAtMs = Number.NEGATIVE_INFINITY;
  #poll: NodeJS.Timeout | undefined;
  #claiming: Promise<void> | undefined;
  #again = false;
  /** How much of the largest claim is asked for. */
  #share = 1;
  #stopped = false;

  constructor(database: Database, logger: Logger, options: ClaimerOptions) {
    this.#database = database;
    this.#logger = logger;
    this.#options = options;
  }

  start(): void {
    this.#poll = setInterval(() => this.wake(), pollMs);
    this.wake();
  }

  /** Claims now; while a claim is under way, once more after it. */
  wake(): void {
    if (this.#stopped) return;
    if (this.#claiming) {
      this.#again = true;
      return;
    }
    this.#again = false;
    this.#claiming = this.#claim()
      .catch((error) =>
        this.#logger.warn({ reason: (error as Error).message }, 'deliveries could not be claimed'),
      )
      .finally(() => {
        this.#claiming = undefined;
        if (this.#again) this.wake();
      });
  }

  /** These are in the database: claims, unless their webhooks have enough to do here. None: it is not known whose. */
  announce(shares: readonly LeftShare[]): void {
    if (shares.length === 0 || this.#options.onAnnounced(shares)) this.wake();
  }

  /** Claims in a moment, for all that ask until then. */
  wakeSoon(): void {
    this.#alarms.setFor(Date.now(), wakeStepMs);
  }

  /** A retry of this webhook's is due then; it may be claimed up to `lateMs` later, together with others. */
  expectRetry(webhookId: string, atMs: number, lateMs: number): void {
    let stepMs = wakeStepMs;
    while (stepMs * 2 <= lateMs) stepMs *= 2;
    // Else the poll is soon enough.
    if (stepMs < pollMs) this.#alarms.setFor(atMs, stepMs, webhookId);
  }

  async #claim(): Promise<void> {
    const node = this.#options.node();
    const room = this.#options.room();
    if (node === undefined || room < dueMax) return;
    await this.#readOldest();
    const share = this.#share;
    const perWebhook = Math.max(1, Math.floor(dueMax * share));
    const webhooks = Math.max(1, Math.floor(webhooksMax * share));
    // Halved until it is through: claims that bring too much to be read in time would all fail alike.
    this.#share = Math.max(shareMin, share / 2);
    const atMs = performance.now();
    const { busy, busyWithDue, answering } = this.#options.standing();
    const webhooksMaxDue = Math.min(webhooks, Math.floor(room / perWebhook));
    const due = await claimDeliveries(this.#database, {
      ...{ node, perWebhook, bytesMax, busy: busyWithDue, notBefore: this.#notBefore },
      webhooksMax: webhooksMaxDue,
    });
    // Under a name that was given up meanwhile: they go back to the pool with it.
    if (node !== this.#options.node()) return;
    this.#options.onDue(due.deliveries);
    const counts = new Map<string, number>();
    for (const { webhook_id: id } of due.deliveries) counts.set(id, (counts.get(id) ?? 0) + 1);
    const full = [...counts].filter(([, count]) => due.cut || count >= perWebhook).map(([id]) => id);
    // A bundle of a webhook that does not answer gets rows when it has none left, not before.
    const busyWithBundles = [...busy, ...full.filter((id) => !answering.includes(id))];
    const left = room - due.deliveries.length;
    const bundled = await this.#claimBundles({
      ...{ node, perWebhook, answering, webhooksMax: webhooks, bytesMax: Math.floor(bytesMax * share) },
      busy: busyWithBundles,
      firstMax: Math.floor(Math.min(left - roomLeft, bundledMax * share)),
      furtherMax: Math.floor(Math.min(left - roomLeftByFurther, bundledMax * share)),
    });
    // Back slowly: a claim that fails costs this node its leases.
    this.#share = Math.min(1, share * 1.1);
    if (node !== this.#options.node()) return;
    this.#options.onBundled(bundled.deliveries);
    this.#options.onLeft({
      due: {
        // Of large bundles the first are rows by now.
        more: new Set([...full, ...bundled.remaining]),
        all: new Set(counts.keys()),
        busy: new Set(busyWithDue),
        complete: !due.cut && counts.size < webhooksMaxDue,
      },
      bundled: {
        more: new Set(bundled.remaining),
        all: new Set(bundled.deliveries.map(({ webhook_id: id }) => id)),
        busy: new Set(busyWithBundles),
        complete: bundled.complete,
      },
      atMs,
    });
    if (due.cut || counts.size >= webhooks || bundled.again) this.#again = true;
    else if (bundled.remaining.length > 0 && bundled.deliveries.length === 0)
      this.#alarms.setFor(Date.now() + takenMs, wakeStepMs);
  }

  async #claimBundles(claim: BundleClaim): Promise<ClaimedBundles> {
    if (claim.firstMax > 0) return claimBundles(this.#database, claim);
    return { deliveries: [], remaining: [], again: false, complete: false };
  }

  async #readOldest(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#oldestReadAtMs < oldestEveryMs) return;
    this.#oldestReadAtMs = nowMs;
    // Where nothing is unfinished, what comes is of today or, just before midnight, of tomorrow.
    this.#notBefore = (await readOldestUnfinished(this.#database)) ?? new Date(Date.now() - 86_400_000);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#poll);
    this.#alarms.stop();
    await this.#claiming;
  }
}
