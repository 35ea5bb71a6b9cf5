import type { Queryable } from '../postgres/database.js';
import type { Position } from '../values/cursor.js';
import { auditHash, type HashedEntry } from './audit-hash.js';

/** Where a chain ends: its length, and the hash of its last entry. */
export interface End {
  length: number;
  hash: Buffer;
}

/** The end of an organization's chain, and how many of its first entries retention has dropped. */
interface Chain extends End {
  dropped: number;
  dropped_hash: Buffer;
}

/** An entry as a link in its chain. */
export interface Link extends HashedEntry {
  hash: Buffer;
}

/** The columns of a link, from the table with the alias `l`. */
export const linkColumns = `
  l.organization_id, l.position, l.id, l.created_at, l.workspace_id, l.actor_type, l.actor_id, l.action, l.target_type,
  l.target_id, l.request_id, l.source_address, l.changes::text as changes, l.hash`;

type PageRow = (Link | { position: null }) & { length: number | null; end: Buffer };

/** What is wrong with a chain, and where. */
export interface ChainFault {
  kind: 'altered' | 'missing' | 'added' | 'unknown end';
  position: number;
  /** The entry at this position. If that entry is missing, the one found in its place, if any. */
  id: string | null;
}

export interface ChainReport {
  organization_id: string;
  /** The number of entries, not counting those that retention dropped. */
  entries: number;
  /** The position of the last entry that was verified, and its hash in hex. */
  position: number;
  head: string;
  fault: ChainFault | undefined;
}

const pageSize = 1_000;

/** Returns organizations that have a chain or entries, sorted by ID, starting after `after`. */
export async function readAuditedOrganizations(
  database: Queryable,
  after: string,
  limit: number,
): Promise<readonly string[]> {
  const { rows } = await database.query<{ organization_id: string }>({
    text: `
  with recursive logged as (
    select min(organization_id) as organization_id from posthorn.audit_log where organization_id > $1
    union all
    select (select min(l.organization_id) from posthorn.audit_log l where l.organization_id > logged.organization_id)
      from logged
     where logged.organization_id is not null
  )
  select organization_id
    from (select organization_id from posthorn.audit_chains where organization_id > $1
          union
          (select organization_id from logged where organization_id is not null limit $2)) known
   order by organization_id
   limit $2`,
    values: [after, limit],
  });
  return rows.map(({ organization_id }) => organization_id);
}

/**
 * Verifies an organization's chain from its first entry to its last and recomputes every hash. New entries may be
 * written in the meantime. Stops at the first fault.
 */
export async function verifyChain(
  database: Queryable,
  organizationId: string,
  onProgress: (seen: number, of: number) => void = () => undefined,
): Promise<ChainReport> {
  for (;;) {
    const start = await readChain(database, organizationId);
    const report = await walk(database, organizationId, start, onProgress);
    if (!report.fault || !start) return report;
    // Retention may have dropped entries before we read them. If so, `dropped` has changed: verify again.
    const now = await readChain(database, organizationId);
    if (now?.dropped === start.dropped) return report;
  }
}

async function walk(
  database: Queryable,
  organizationId: string,
  start: Chain | undefined,
  onProgress: (seen: number, of: number) => void,
): Promise<ChainReport> {
  const first = start?.dropped ?? 0;
  let last = { position: first, hash: start?.dropped_hash ?? Buffer.alloc(0) };
  let id: string | null = null;
  let after: Position = { atMs: Number.NEGATIVE_INFINITY, id: '' };
  const report = (fault?: ChainFault): ChainReport => ({
    organization_id: organizationId,
    entries: last.position - first,
    position: last.position,
    head: last.hash.toString('hex'),
    fault,
  });
  for (;;) {
    const { end, links } = await readPage(database, organizationId, after);
    for (const link of links) {
      const fault = faultOf(link, last);
      if (fault) return report(fault);
      last = link;
      id = link.id;
      after = { atMs: link.created_at.getTime(), id: link.id };
    }
    if (links.length > 0) onProgress(last.position - first, (end?.length ?? last.position) - first);
    if (links.length < pageSize) return report(faultAtEnd(end, last, id));
  }
}

/** Returns what is wrong with an entry that should follow `last`. */
export function faultOf(link: Link, last: { position: number; hash: Buffer }): ChainFault | undefined {
  const expected = last.position + 1;
  if (link.position > expected) return { kind: 'missing', position: expected, id: link.id };
  if (link.position < expected) return { kind: 'added', position: link.position, id: link.id };
  const isUnchanged = link.hash.equals(auditHash(last.hash, link));
  return isUnchanged ? undefined : { kind: 'altered', position: link.position, id: link.id };
}

/** Returns what is wrong with the end of a chain whose last entry is `last`. */
export function faultAtEnd(
  end: End | undefined,
  last: { position: number; hash: Buffer },
  id: string | null,
): ChainFault | undefined {
  if (!end) return id === null ? undefined : { kind: 'unknown end', position: last.position, id };
  if (last.position < end.length) return { kind: 'missing', position: last.position + 1, id: null };
  if (last.position > end.length) return { kind: 'added', position: last.position, id };
  return last.hash.equals(end.hash) ? undefined : { kind: 'altered', position: last.position, id };
}

async function readChain(database: Queryable, organizationId: string): Promise<Chain | undefined> {
  const { rows } = await database.query<Chain>({
    text: 'select length, hash, dropped, dropped_hash from posthorn.audit_chains where organization_id = $1',
    values: [organizationId],
  });
  return rows[0];
}

/**
 * Reads the entries after `after` and the end of the chain in one snapshot. A page that is not full is therefore the
 * last one and contains the end, even if entries are being written.
 */
async function readPage(
  database: Queryable,
  organizationId: string,
  after: Position,
): Promise<{ end: End | undefined; links: readonly Link[] }> {
  const { rows } = await database.query<PageRow>({
    text: `
  select c.length, c.hash as end, p.*
    from (values (true)) always
    left join posthorn.audit_chains c on c.organization_id = $1
    left join (
      select ${linkColumns}
        from posthorn.audit_log l
       where l.organization_id = $1 and l.created_at >= $2 and (l.created_at, l.id) > ($2, $3)
       order by l.created_at, l.id
       limit ${pageSize}) p on true
   order by p.created_at, p.id`,
    values: [organizationId, Number.isFinite(after.atMs) ? new Date(after.atMs) : '-infinity', after.id],
  });
  // Without entries there is still one row, for the end of the chain.
  const { length, end } = rows[0]!;
  const links = rows.filter((row) => row.position !== null);
  return { end: length === null ? undefined : { length, hash: end }, links };
}
