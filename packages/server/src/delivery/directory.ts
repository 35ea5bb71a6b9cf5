import { signingKey } from '@posthorn/receiver';
import type { SecretBox } from '../domain/secret-box.js';
import type { Webhook } from '../domain/webhook.js';
import type { Database } from '../storage/database.js';
import { readWebhooks } from '../storage/webhooks.js';
import type { Target } from './attempt.js';

/** What is known of a webhook: where to send, or why nothing may be sent. */
export type Standing =
  | { kind: 'active'; target: Target }
  /** Sealed: its secret was encrypted with a key that this node was not given. */
  | { kind: 'unverified' | 'disabled' | 'deleted' | 'sealed'; target: undefined };

/**
 * How long a node may go by what it remembers of a webhook. Whoever deletes or disables one answers only
 * after this time, so that no node sends anything afterwards.
 */
export const trustMs = 1_000;
const refreshMs = trustMs / 2;

interface Entry {
  standing: Standing;
  revision: number;
  readAtMs: number;
  usedAtMs: number;
}

const forgetMs = 300_000;

/** The webhooks this node sends to, never older than a second. */
export class WebhookDirectory {
  readonly #database: Database;
  readonly #secrets: SecretBox;
  readonly #onSealed: (webhookId: string, error: Error) => void;
  readonly #entries = new Map<string, Entry>();
  /** Forgotten since the last look-up began: what that brings of them is older. */
  readonly #forgotten = new Set<string>();
  #wanted = new Map<string, string>();
  #reading: Promise<void> | undefined;

  constructor(
    database: Database,
    secrets: SecretBox,
    onSealed: (webhookId: string, error: Error) => void = () => undefined,
  ) {
    this.#database = database;
    this.#secrets = secrets;
    this.#onSealed = onSealed;
  }

  /** The standing if it is fresh enough to act on. Asks for a newer one in good time. */
  peek(organizationId: string, webhookId: string): Standing | undefined {
    const entry = this.#entries.get(webhookId);
    const nowMs = performance.now();
    if (!entry || nowMs - entry.readAtMs >= trustMs) return undefined;
    entry.usedAtMs = nowMs;
    if (nowMs - entry.readAtMs > refreshMs) void this.#want(organizationId, webhookId).catch(() => undefined);
    return entry.standing;
  }

  /** Undefined where the look-up took so long that its answer cannot be acted on any more. */
  async get(organizationId: string, webhookId: string): Promise<Standing | undefined> {
    const fresh = this.peek(organizationId, webhookId);
    if (fresh) return fresh;
    await this.#want(organizationId, webhookId);
    return this.peek(organizationId, webhookId);
  }

  /** Here and now: the next use reads it anew. */
  forget(webhookId: string): void {
    this.#entries.delete(webhookId);
    this.#forgotten.add(webhookId);
  }

  /** Resolves with a look-up that began after this was called; all that come in meanwhile share it. */
  async #want(organizationId: string, webhookId: string): Promise<void> {
    this.#wanted.set(webhookId, organizationId);
    await this.#reading?.catch(() => undefined);
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #read(): Promise<void> {
    const wanted = this.#wanted;
    this.#wanted = new Map();
    const readAtMs = performance.now();
    this.#forgotten.clear();
    const found = new Map<string, Webhook>();
    for (const webhook of await readWebhooks(this.#database, wanted)) found.set(webhook.id, webhook);
    for (const id of wanted.keys()) if (!this.#forgotten.has(id)) this.#remember(id, found.get(id), readAtMs);
    for (const [id, entry] of this.#entries)
      if (readAtMs - entry.usedAtMs > forgetMs) this.#entries.delete(id);
  }

  #remember(id: string, webhook: Webhook | undefined, readAtMs: number): void {
    const known = this.#entries.get(id);
    const usedAtMs = known?.usedAtMs ?? readAtMs;
    const revision = webhook?.revision ?? 0;
    const standing = known && known.revision === revision ? known.standing : this.#standingOf(webhook);
    this.#entries.set(id, { standing, revision, readAtMs, usedAtMs });
  }

  #standingOf(webhook: Webhook | undefined): Standing {
    if (!webhook) return { kind: 'deleted', target: undefined };
    if (webhook.status !== 'active') return { kind: webhook.status, target: undefined };
    try {
      return { kind: 'active', target: targetOf(webhook, this.#secrets) };
    } catch (error) {
      this.#onSealed(webhook.id, error as Error);
      return { kind: 'sealed', target: undefined };
    }
  }
}

/** Where and with which keys to send for a webhook. */
export function targetOf(webhook: Webhook, secrets: SecretBox): Target {
  const { previous_secret: previous, previous_secret_until: until } = webhook;
  return {
    id: webhook.id,
    organization_id: webhook.organization_id,
    workspace_id: webhook.workspace_id,
    url: new URL(webhook.url),
    key: signingKey(secrets.open(webhook.secret, webhook.id)),
    previous: previous && until ? previousKey(previous, until, webhook.id, secrets) : undefined,
  };
}

/** A previous secret that cannot be opened signs nothing; the current one must not suffer from that. */
function previousKey(sealed: Buffer, until: Date, webhookId: string, secrets: SecretBox): Target['previous'] {
  try {
    return { key: signingKey(secrets.open(sealed, webhookId)), untilMs: until.getTime() };
  } catch {
    return undefined;
  }
}
