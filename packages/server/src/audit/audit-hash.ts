import { createHash } from 'node:crypto';
import type { StoredAuditEntry } from './audit.js';

/** What the hash of an audit log entry covers, apart from the hash of the previous entry. */
export interface HashedEntry extends StoredAuditEntry {
  position: number;
}

/**
 * Returns the hash of an entry, as `posthorn.audit_hash` computes it when the entry is written. Verification of the
 * audit log must not call that function: whoever can alter entries can also replace it.
 */
export function auditHash(previous: Buffer, entry: HashedEntry): Buffer {
  const values = [
    ...[entry.organization_id, entry.position, entry.id, entry.created_at.getTime(), entry.workspace_id],
    ...[entry.actor_type, entry.actor_id, entry.action, entry.target_type, entry.target_id],
    ...[entry.request_id, entry.source_address, entry.changes],
  ];
  // `json_build_array` in PostgreSQL puts a comma and a space between the elements.
  const text = `[${values.map((value) => JSON.stringify(value)).join(', ')}]`;
  return createHash('sha256').update(previous).update(text).digest();
}
