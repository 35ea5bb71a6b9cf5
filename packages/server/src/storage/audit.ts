import type { NewAuditEntry } from '../domain/audit.js';
import type { Queryable } from './database.js';

/**
 * Appends entries in the transaction of `client`. Call it last: the chain of each organization concerned is
 * held until that transaction ends.
 */
export async function writeAudit(client: Queryable, entries: readonly NewAuditEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await client.query({
    name: 'write audit',
    text: 'select posthorn.write_audit($1)',
    values: [JSON.stringify(entries)],
  });
}
