import { userInfo } from 'node:os';
import type { Database, Queryable } from '../postgres/database.js';
import { isCanceled, isLockTimeout, isUnreachable } from '../postgres/database-errors.js';
import { type Page, type PageFilter, pageOf, pageStatement } from '../postgres/keyset.js';
import { Semaphore } from '../signals/semaphore.js';
import type { Order, Position } from '../values/cursor.js';
import type { AuditOrigin, NewAuditEntry, StoredAuditEntry } from './audit.js';
import { auditedOrganizations } from './chain-store.js';

/**
 * Appends entries in the transaction of `client`. Call it last: it locks the chain of each organization until the
 * transaction ends.
 */
export async function writeAudit(client: Queryable, entries: readonly NewAuditEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await client.query({
    name: 'write audit',
    text: 'select posthorn.write_audit($1)',
    values: [JSON.stringify(entries)],
  });
}

/**
 * Writes for one organization share an audit chain, so the second one can only get ready while the first commits. More
 * would only occupy connections.
 */
const eachMax = 2;

const semaphores = new WeakMap<Database, Semaphore>();

/**
 * Runs a transaction that ends with an audit log entry of this organization. If something locks the organization's
 * chain for a long time, all waiting writes fail together with the first, so other organizations still get connections.
 */
export function auditedWrite<T>(
  database: Database,
  organizationId: string,
  work: (client: Queryable) => Promise<T>,
): Promise<T> {
  const semaphore = semaphores.get(database) ?? new Semaphore(Number.POSITIVE_INFINITY, eachMax);
  semaphores.set(database, semaphore);
  return semaphore.run(organizationId, () =>
    database.transaction(work).catch((error) => {
      // Reject the waiting writes before the next one starts: it would wait for the same lock, or for the
      // same unreachable database.
      if (isLockTimeout(error) || isCanceled(error) || isUnreachable(error))
        semaphore.rejectWaiting(error, 0, organizationId);
      throw error;
    }),
  );
}

/** Returns the origin of a write without a request: the user who runs this process. */
export function operatorOrigin(): AuditOrigin {
  return { actor: { type: 'operator', id: userName() }, request_id: null, source_address: null };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user may have no name.
    return String(process.getuid?.() ?? 'unknown');
  }
}

export const auditTable = {
  name: 'audit_log',
  columns: `id, organization_id, workspace_id, actor_type, actor_id, action, target_type, target_id,
         request_id, source_address, changes, created_at`,
  equalities: ['workspace_id', 'actor_id', 'action', 'target_id'],
} as const;

export type AuditFilter = PageFilter<(typeof auditTable.equalities)[number]>;

/**
 * Reads one page of an organization's audit log. Entries become visible in order, so an ascending reader that
 * continues after its last entry misses none.
 */
export async function readAuditPage(
  database: Queryable,
  filter: AuditFilter,
  order: Order,
  after: Position | undefined,
  limit: number,
): Promise<Page<StoredAuditEntry>> {
  const statement = pageStatement(auditTable, filter, order, after, limit + 1);
  const page = pageOf((await database.query<StoredAuditEntry>(statement)).rows, limit);
  if (order === 'desc') return page;
  return { ...page, next: page.next ?? after ?? { atMs: 0, id: '' } };
}

const newestFirst = (a: StoredAuditEntry, b: StoredAuditEntry) =>
  b.created_at.getTime() - a.created_at.getTime() || (a.id < b.id ? 1 : -1);

/** Reads the newest entries of all organizations, one organization after another: the operator can wait. */
export async function readNewestAudit(
  database: Database,
  filter: Omit<AuditFilter, 'organization_id'>,
  limit: number,
): Promise<Page<StoredAuditEntry>> {
  let newest: StoredAuditEntry[] = [];
  for await (const organization_id of auditedOrganizations(database)) {
    const own = { ...filter, organization_id };
    const statement = pageStatement(auditTable, own, 'desc', undefined, limit + 1);
    const { rows } = await database.query<StoredAuditEntry>(statement);
    newest = [...newest, ...rows].sort(newestFirst).slice(0, limit + 1);
  }
  return pageOf(newest, limit);
}
