import { signingKey } from '@posthorn/receiver';
import type { SecretBox } from '../domain/secret-box.js';
import type { Webhook } from '../domain/webhook.js';
import { JoinedCall } from '../signals/joined-call.js';
import type { Database } from '../storage/database.js';
import { readWebhooks, type WebhookKey } from '../storage/webhooks.js';
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
/** Often enough that what is in use never grows too old to act on. */
export const refreshEveryMs = trustMs / 4;
const refreshMs = trustMs / 2;

interface Entry {
  organizationId: string;
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
  readonly #reading = new JoinedCall(() => this.#read());
  #wanted = new Map<string, string>();

  constructor(
    database: Database,
    secrets: SecretBox,
    onSealed: (webhookId: string, error: Error) => void = () => undefined,
  ) {
    this.#database = database;
    this.#secrets = secrets;
    this.#onSealed = onSealed;
  }

  /** The standing if it is fresh enough to act on. */
  peek(webhookId: string): Standing | undefined {
    const entry = this.#entries.get(webhookId);
    const nowMs = performance.now();
    if (!entry || nowMs - entry.readAtMs >= trustMs) return undefined;
    entry.usedAtMs = nowMs;
    return entry.standing;
  }

  /** Reads anew whatever was used within `usedMs` and will soon be too old to act on, in one statement. */
  async refresh(usedMs: number): Promise<void> {
    const nowMs = performance.now();
    const old: Promise<void>[] = [];
    for (const [id, { organizationId, readAtMs, usedAtMs }] of this.#entries) {
      if (nowMs - usedAtMs < usedMs && nowMs - readAtMs >= refreshMs)
        old.push(this.#want(organizationId, id));
    }
    await Promise.all(old);
  }

  /** Undefined where the look-up took so long that its answer cannot be acted on any more. */
  async get(organizationId: string, webhookId: string): Promise<Standing | undefined> {
    const fresh = this.peek(webhookId);
    if (fresh) return fresh;
    await this.#want(organizationId, webhookId);
    return this.peek(webhookId);
  }

  /** Read after this was called, but perhaps too long ago to send by it. */
  async renew({ organization_id: organizationId, id }: WebhookKey): Promise<Standing | undefined> {
    await this.#want(organizationId, id);
    return this.#entries.get(id)?.standing;
  }

  /** Here and now: the next use reads it anew. */
  forget(webhookId: string): void {
    this.#entries.delete(webhookId);
    this.#forgotten.add(webhookId);
  }

  /** Resolves with a look-up that began after this was called; all that come in meanwhile share it. */
  async #want(organizationId: string, webhookId: string): Promise<void> {
    this.#wanted.set(webhookId, organizationId);
    await this.#reading.call();
  }

  async #read(): Promise<void> {
    const wanted = this.#wanted;
    this.#wanted = new Map();
    const readAtMs = performance.now();
    this.#forgotten.clear();
    const found = new Map<string, Webhook>();
    for (const webhook of await readWebhooks(this.#database, wanted)) found.set(webhook.id, webhook);
    for (const [id, organizationId] of wanted) {
      if (!this.#forgotten.has(id)) this.#remember(organizationId, id, found.get(id), readAtMs);
    }
    for (const [id, entry] of this.#entries)
      if (readAtMs - entry.usedAtMs > forgetMs) this.#entries.delete(id);
  }

  #remember(organizationId: string, id: string, webhook: Webhook | undefined, readAtMs: number): void {
    const known = this.#entries.get(id);
    const usedAtMs = known?.usedAtMs ?? readAtMs;
    const revision = webhook?.revision ?? 0;
    // Sealed may be over at any time: the secret is encrypted anew without any other change.
    const stands = known?.revision === revision && known.standing.kind !== 'sealed';
    const standing = stands ? known.standing : this.#standingOf(webhook, known?.standing.kind === 'sealed');
    this.#entries.set(id, { organizationId, standing, revision, readAtMs, usedAtMs });
  }

  #standingOf(webhook: Webhook | undefined, wasSealed: boolean): Standing {
    if (!webhook) return { kind: 'deleted', target: undefined };
    if (webhook.status !== 'active') return { kind: webhook.status, target: undefined };
    try {
      return { kind: 'active', target: targetOf(webhook, this.#secrets) };
    } catch (error) {
      if (!wasSealed) this.#onSealed(webhook.id, error as Error);
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
