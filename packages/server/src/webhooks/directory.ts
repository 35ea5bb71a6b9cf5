import { signingKey } from '@posthorn/receiver';
import type { Matched } from '../events/recording-store.js';
import type { Database } from '../postgres/database.js';
import type { Target } from '../sending/attempt.js';
import { CoalescedCall } from '../signals/coalesced-call.js';
import type { SecretBox } from '../values/secret-box.js';
import { parseDurationMs } from '../values/time.js';
import { bodyText, contentTypeOf } from './format.js';
import { constantHeaders, openHeaders } from './webhook-headers.js';
import { readWebhooks, type WebhookKey, type WebhookWithoutHealth } from './webhook-store.js';

/** What a node knows about a webhook: where to send, or why nothing may be sent. */
export type WebhookState =
  | { kind: 'active'; target: Target }
  /**
   * Inactive: deleted, not active, or in an organization that is being moved. Sealed: its secret or headers were
   * encrypted with a key that this node does not have.
   */
  | { kind: 'inactive' | 'sealed'; target: undefined };

/**
 * Deliveries to a sealed webhook are tried again every few seconds. If this node has not used an entry for this long,
 * it has no more deliveries for that webhook.
 */
const sealedMs = 60_000;

export interface DirectoryAges {
  /** How long an entry may be used. */
  trustMs: number;
  /** The age at which an entry in use is read again. */
  refreshMs: number;
  /** How long an unused entry is kept. */
  forgetMs: number;
}

interface Entry {
  organizationId: string;
  state: WebhookState;
  revision: number;
  readAtMs: number;
  usedAtMs: number;
}

/**
 * Caches the webhooks that this node sends to, for at most a second. A request that deletes or disables a webhook waits
 * for that second before it responds, so that no node sends anything afterwards.
 */
export class WebhookDirectory {
  readonly #database: Database;
  readonly #secrets: SecretBox;
  readonly #ages: DirectoryAges;
  readonly #onSealed: (webhookId: string, error: Error) => void;
  readonly #entries = new Map<string, Entry>();
  /** During a read: the webhooks that have been forgotten since it began. The read may have seen their old state. */
  #forgotten: Set<string> | undefined;
  readonly #reading = new CoalescedCall(() => this.#read());
  /** The webhooks to read next, each with its organization. */
  #wanted = new Map<string, string>();

  constructor(
    database: Database,
    secrets: SecretBox,
    ages: DirectoryAges,
    onSealed: (webhookId: string, error: Error) => void = () => undefined,
  ) {
    this.#database = database;
    this.#secrets = secrets;
    this.#ages = ages;
    this.#onSealed = onSealed;
  }

  /** Returns the entry of a webhook if it is fresh enough to use. */
  peek(webhookId: string): WebhookState | undefined {
    const entry = this.#entries.get(webhookId);
    const nowMs = performance.now();
    if (!entry || nowMs - entry.readAtMs >= this.#ages.trustMs) return undefined;
    entry.usedAtMs = nowMs;
    return entry.state;
  }

  /** Returns how many webhooks have deliveries that wait because this node cannot decrypt their secret or headers. */
  countSealed(): number {
    const sinceMs = performance.now() - sealedMs;
    const entries = [...this.#entries.values()];
    return entries.filter(({ state, usedAtMs }) => state.kind === 'sealed' && usedAtMs > sinceMs).length;
  }

  /** Reads again, in one statement, the webhooks whose entries will soon be too old to use. */
  async refresh(webhooks: Iterable<WebhookKey>): Promise<void> {
    const nowMs = performance.now();
    const old: Promise<void>[] = [];
    for (const { organization_id, id } of webhooks) {
      const entry = this.#entries.get(id);
      if (entry && nowMs - entry.readAtMs >= this.#ages.refreshMs) old.push(this.#want(organization_id, id));
    }
    await Promise.all(old);
  }

  /**
   * Notes that a recording, which began at `askedAtMs`, found each of these webhooks active at the given revision. An
   * entry with that revision is as fresh as the recording. An entry with an earlier revision is out of date.
   */
  confirm(matched: readonly Matched[], askedAtMs: number): void {
    for (const { webhook_id: id, revision } of matched) {
      const entry = this.#entries.get(id);
      if (entry === undefined) continue;
      if (entry.revision < revision) this.forget(id);
      else if (entry.revision === revision && entry.state.kind === 'active')
        entry.readAtMs = Math.max(entry.readAtMs, askedAtMs);
    }
  }

  /** Returns the state of a webhook, or undefined if reading it took too long for the result to be used. */
  async get(organizationId: string, webhookId: string): Promise<WebhookState | undefined> {
    const fresh = this.peek(webhookId);
    if (fresh) return fresh;
    await this.#want(organizationId, webhookId);
    return this.peek(webhookId);
  }

  /** Forgets a webhook in this process: the next use reads it again. */
  forget(webhookId: string): void {
    this.#entries.delete(webhookId);
    this.#forgotten?.add(webhookId);
  }

  /** Resolves after a read that began after this call. All calls that arrive before that read begins share it. */
  async #want(organizationId: string, webhookId: string): Promise<void> {
    this.#wanted.set(webhookId, organizationId);
    await this.#reading.call();
  }

  async #read(): Promise<void> {
    const wanted = this.#wanted;
    this.#wanted = new Map();
    const readAtMs = performance.now();
    const forgotten = new Set<string>();
    this.#forgotten = forgotten;
    const found = new Map<string, WebhookWithoutHealth>();
    try {
      for (const webhook of await readWebhooks(this.#database, wanted)) found.set(webhook.id, webhook);
    } finally {
      this.#forgotten = undefined;
    }
    for (const [id, organizationId] of wanted) {
      if (!forgotten.has(id)) this.#remember(organizationId, id, found.get(id), readAtMs);
    }
    for (const [id, entry] of this.#entries)
      if (readAtMs - entry.usedAtMs > this.#ages.forgetMs) this.#entries.delete(id);
  }

  #remember(
    organizationId: string,
    id: string,
    webhook: WebhookWithoutHealth | undefined,
    readAtMs: number,
  ): void {
    const known = this.#entries.get(id);
    const usedAtMs = known?.usedAtMs ?? readAtMs;
    const revision = webhook?.revision ?? 0;
    // A sealed secret can be re-encrypted at any time, which does not change the revision.
    const isCurrent = known?.revision === revision && known.state.kind !== 'sealed';
    const state = isCurrent ? known.state : this.#stateOf(webhook, known?.state.kind === 'sealed');
    this.#entries.set(id, { organizationId, state, revision, readAtMs, usedAtMs });
  }

  #stateOf(webhook: WebhookWithoutHealth | undefined, wasSealed: boolean): WebhookState {
    if (webhook?.status !== 'active') return { kind: 'inactive', target: undefined };
    try {
      return { kind: 'active', target: targetOf(webhook, this.#secrets) };
    } catch (error) {
      if (!wasSealed) this.#onSealed(webhook.id, error as Error);
      return { kind: 'sealed', target: undefined };
    }
  }
}

/** Returns where to send a webhook's requests, and the keys that sign them. */
export function targetOf(webhook: WebhookWithoutHealth, secrets: SecretBox): Target {
  const { previous_secret: previous, previous_secret_until: until } = webhook;
  const url = new URL(webhook.url);
  return {
    id: webhook.id,
    organization_id: webhook.organization_id,
    workspace_id: webhook.workspace_id,
    url,
    givenUrl: webhook.url,
    origin: url.origin,
    path: url.pathname + url.search,
    headers: constantHeaders(
      openHeaders(webhook.headers, webhook.id, secrets),
      contentTypeOf(webhook.format),
    ),
    bodyOf: (event) => bodyText(webhook, event),
    rateLimit: webhook.rate_limit ?? undefined,
    retryScheduleMs: webhook.retry_schedule?.map((wait) => parseDurationMs(wait)!),
    key: signingKey(secrets.open(webhook.secret, webhook.id)),
    secretRotatedAt: webhook.secret_rotated_at,
    previous: previous && until ? previousKey(previous, until, webhook.id, secrets) : undefined,
  };
}

/** Returns the previous key, or undefined if its secret cannot be decrypted. The current key still signs. */
function previousKey(sealed: Buffer, until: Date, webhookId: string, secrets: SecretBox): Target['previous'] {
  try {
    return { key: signingKey(secrets.open(sealed, webhookId)), untilMs: until.getTime() };
  } catch {
    return undefined;
  }
}
