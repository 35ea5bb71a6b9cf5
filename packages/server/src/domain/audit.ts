import type { Reference } from './event.js';

/** One write by an actor, as it is handed to the audit log. Never holds a secret. */
export interface NewAuditEntry {
  organization_id: string;
  workspace_id: string | null;
  actor: Reference;
  /** Named like events: `webhook.created`, `token.revoked`, `service_line.activated`. */
  action: string;
  target: Reference;
  /** Null where no request stands behind it, as on the command line. */
  request_id: string | null;
  source_address: string | null;
  changes: Changes;
}

/** Each field that was set, with what it was before: null where there was nothing. */
export type Changes = Readonly<Record<string, { from: unknown; to: unknown }>>;

/** Who writes, and through which request: what an entry needs beside what was done. */
export type AuditOrigin = Pick<NewAuditEntry, 'actor' | 'request_id' | 'source_address'>;

/** An entry as it is stored. What changed is JSON text. */
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

type Fields = Readonly<Record<string, unknown>>;

/**
 * What differs between two states, field by field. Nothing before is a creation, nothing after a removal;
 * a field that one of them lacks counts as null there.
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

/** The oldest time an entry may have to be read: exactly 12 calendar months old still counts. */
export function oldestAuditMs(nowMs: number): number {
  const date = new Date(nowMs);
  const day = date.getUTCDate();
  date.setUTCFullYear(date.getUTCFullYear() - 1);
  // A year before 29 February is its last day, not the first of March.
  if (date.getUTCDate() !== day) date.setUTCDate(0);
  return date.getTime();
}

/** The entry of the API as JSON. */
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
