import type { Reference } from '../values/identifier.js';

/** A change made by an actor, ready for the audit log. It never contains a secret. */
export interface NewAuditEntry {
  organization_id: string;
  workspace_id: string | null;
  actor: Reference;
  /** Has the form of an event type: `webhook.created`, `token.revoked`, `service_line.activated`. */
  action: string;
  target: Reference;
  /** Null if no request made the change, for example if it was made on the command line. */
  request_id: string | null;
  source_address: string | null;
  changes: Changes;
}

/** Each changed field with its old and new value. `from` is null if there was no value. */
export type Changes = Readonly<Record<string, { from: unknown; to: unknown }>>;

/** Who made a change, and through which request. */
export type AuditOrigin = Pick<NewAuditEntry, 'actor' | 'request_id' | 'source_address'>;

/** An audit log entry as it is stored. `changes` is JSON text. */
export interface StoredAuditEntry {
  /** `AUD-*` */
  id: string;
  organization_id: string;
  workspace_id: string | null;
  actor_type: string;
  actor_id: string;
  action: string;
  target_type: string;
  target_id: string;
  request_id: string | null;
  source_address: string | null;
  changes: string;
  created_at: Date;
}

/** Returns the entry about something that belongs to an organization: a webhook, a token, a resource. */
export function entryAbout(
  type: string,
  { organization_id, workspace_id, id }: Pick<StoredAuditEntry, 'organization_id' | 'workspace_id' | 'id'>,
  action: string,
  changes: Changes,
  origin: AuditOrigin,
): NewAuditEntry {
  return { organization_id, workspace_id, ...origin, action, target: { type, id }, changes };
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns the fields that differ. `before` is undefined for a creation, and `after` for a deletion. A missing field
 * counts as null.
 */
export function changesBetween(before: Fields | undefined, after: Fields | undefined): Changes {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  const changes: Record<string, { from: unknown; to: unknown }> = {};
  for (const name of names) {
    const [from, to] = [before?.[name] ?? null, after?.[name] ?? null];
    if (JSON.stringify(from) !== JSON.stringify(to)) changes[name] = { from, to };
  }
  return changes;
}

/** Returns the earliest time, inclusive, from which entries can still be read: 12 calendar months ago. */
export function earliestAuditMs(nowMs: number): number {
  const date = new Date(nowMs);
  const day = date.getUTCDate();
  date.setUTCFullYear(date.getUTCFullYear() - 1);
  // One year before 29 February is 28 February, not 1 March.
  if (date.getUTCDate() !== day) date.setUTCDate(0);
  return date.getTime();
}

/** Returns the entry as the API shows it, as JSON text. */
export function auditEntryJson(entry: StoredAuditEntry): string {
  const head = JSON.stringify({
    id: entry.id,
    organization_id: entry.organization_id,
    workspace_id: entry.workspace_id,
    actor: { type: entry.actor_type, id: entry.actor_id },
    action: entry.action,
    target: { type: entry.target_type, id: entry.target_id },
    request_id: entry.request_id,
    source_address: entry.source_address,
  });
  return `${head.slice(0, -1)},"changes":${entry.changes},"created_at":"${entry.created_at.toISOString()}"}`;
}
