import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Database, Queryable } from '../postgres/database.js';
import type { StoredAuditEntry } from './audit.js';

/** What the hash of an audit log entry covers, apart from the hash of the previous entry. */
interface HashedEntry extends StoredAuditEntry {
  position: number;
}

/**
 * Returns the hash of an entry, as `posthorn.audit_hash` computes it when the entry is written. Verification of the
 * audit log must not call that function: whoever can alter entries can also replace it.
 */
function auditHash(previous: Buffer, entry: HashedEntry): Buffer {
  const values = [
    ...[entry.organization_id, entry.position, entry.id, entry.created_at.getTime(), entry.workspace_id],
    ...[entry.actor_type, entry.actor_id, entry.action, entry.target_type, entry.target_id],
    ...[entry.request_id, entry.source_address, entry.changes],
  ];
  // `json_build_array` in PostgreSQL puts a comma and a space between the elements.
  const text = `[${values.map((value) => JSON.stringify(value)).join(', ')}]`;
  return createHash('sha256').update(previous).update(text).digest();
}

/** The end of an organization's chain, and how many of its first entries retention has dropped. */
interface Chain {
  /** Null if the organization has no chain. */
  length: number | null;
  end_hash: Buffer;
  dropped: number;
  dropped_hash: Buffer;
}

/** An entry as a link in its chain. */
interface Link extends HashedEntry {
  hash: Buffer;
}

/** Where a chain has been followed to. */
interface Place {
  position: number;
  hash: Buffer;
  id: string | null;
}

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

const organizationsAtOnce = 100;

/** Yields the organizations that have a chain or entries. */
export async function* auditedOrganizations(database: Queryable): AsyncGenerator<string> {
  for (let last: string | undefined = ''; last !== undefined; ) {
    const some = await readAuditedOrganizations(database, last, organizationsAtOnce);
    yield* some;
    last = some.at(-1);
  }
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
  let start: Chain | undefined;
  let last: Place | undefined;
  let after: Link | undefined;
  for (;;) {
    const { chain, links } = await readLinks(database, organizationId, 'asc', pageSize, after);
    start ??= chain;
    last ??= startOf(chain);
    const isEnd = links.length < pageSize;
    const found: Followed = follow(last, links, isEnd ? chain : undefined);
    // Retention may have dropped entries before we read them: verify again.
    if (found.fault && chain.dropped !== start.dropped)
      return verifyChain(database, organizationId, onProgress);
    ({ last } = found);
    const entries = last.position - start.dropped;
    if (links.length > 0 && !found.fault)
      onProgress(entries, (chain.length ?? last.position) - start.dropped);
    if (isEnd || found.fault) return { ...reportOf(organizationId, found), entries };
    after = links.at(-1);
  }
}

/**
 * Verifies at most `max` of the newest entries of an organization's chain, and that the chain ends with them. Reads
 * everything in one statement, so entries that are written in the meantime do not matter. The cost does not depend on
 * the length of the log.
 */
export async function verifyChainEnd(
  database: Queryable,
  organizationId: string,
  max: number,
): Promise<ChainReport & { checked: number }> {
  // One more entry than is checked: the hash of the oldest checked entry depends on it.
  const { chain, links } = await readLinks(database, organizationId, 'desc', max + 1);
  const before = links.length > max ? links.shift() : undefined;
  const found = follow(before ?? startOf(chain), links, chain);
  const entries = (chain.length ?? found.last.position) - chain.dropped;
  return { ...reportOf(organizationId, found), entries, checked: links.length };
}

const startOf = ({ dropped, dropped_hash }: Chain): Place => ({
  position: dropped,
  hash: dropped_hash,
  id: null,
});

function reportOf(organization_id: string, { last, fault }: Followed): Omit<ChainReport, 'entries'> {
  return { organization_id, position: last.position, head: last.hash.toString('hex'), fault };
}

interface Followed {
  last: Place;
  fault: ChainFault | undefined;
}

/** Follows the chain from `last` to the first fault. If `chain` is given, it must end with these links. */
function follow(last: Place, links: readonly Link[], chain: Chain | undefined): Followed {
  for (const link of links) {
    const fault = faultOf(link, last);
    if (fault) return { last, fault };
    last = link;
  }
  return { last, fault: chain && faultAtEnd(chain, last) };
}

/** Returns what is wrong with an entry that should follow `last`. */
function faultOf(link: Link, last: Place): ChainFault | undefined {
  const expected = last.position + 1;
  if (link.position > expected) return { kind: 'missing', position: expected, id: link.id };
  if (link.position < expected) return { kind: 'added', position: link.position, id: link.id };
  const isUnchanged = link.hash.equals(auditHash(last.hash, link));
  return isUnchanged ? undefined : { kind: 'altered', position: link.position, id: link.id };
}

/** Returns what is wrong with the end of a chain whose last entry is `last`. */
function faultAtEnd({ length, end_hash }: Chain, { position, hash, id }: Place): ChainFault | undefined {
  if (length === null) return id === null ? undefined : { kind: 'unknown end', position, id };
  if (position < length) return { kind: 'missing', position: position + 1, id: null };
  if (position > length) return { kind: 'added', position, id };
  return hash.equals(end_hash) ? undefined : { kind: 'altered', position, id };
}

/**
 * Reads the first or last links after `after`, oldest first, and the end of the chain, in one snapshot. If there are
 * fewer than `limit` links, they therefore contain the end, even if entries are being written.
 */
async function readLinks(
  database: Queryable,
  organizationId: string,
  order: 'asc' | 'desc',
  limit: number,
  after?: Link,
): Promise<{ chain: Chain; links: Link[] }> {
  const { rows } = await database.query<Chain & (Link | { position: null })>({
    text: `
  select c.length, c.hash as end_hash, coalesce(c.dropped, 0) as dropped, coalesce(c.dropped_hash, '') as dropped_hash,
         p.*
    from (values (true)) always
    left join posthorn.audit_chains c on c.organization_id = $1
    left join (
      select organization_id, position, id, created_at, workspace_id, actor_type, actor_id, action, target_type,
             target_id, request_id, source_address, changes::text as changes, hash
        from posthorn.audit_log
       where organization_id = $1 and created_at >= $2 and (created_at, id) > ($2, $3)
       order by created_at ${order}, id ${order}
       limit $4) p on true
   order by p.created_at, p.id`,
    values: [organizationId, after?.created_at ?? '-infinity', after?.id ?? '', limit],
  });
  // Without entries there is still one row, for the end of the chain.
  return { chain: rows[0]!, links: rows.filter((row): row is Chain & Link => row.position !== null) };
}

/** One organization per minute, so that verification never puts much load on the database. */
export const auditWatchMs = 60_000;

/** Verifies the audit log continuously, one organization after another, and counts the results. */
export class AuditWatch {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #broken = new Set<string>();
  #after = '';
  #verified = 0;

  constructor(database: Database, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  /** Returns how many chains were broken when last verified, and how many verifications there have been. */
  get figures(): { broken: number; verified: number } {
    return { broken: this.#broken.size, verified: this.#verified };
  }

  /** Verifies the chain of the next organization. After the last one, it starts again with the first. */
  async verifyNext(): Promise<void> {
    const [organizationId] = await readAuditedOrganizations(this.#database, this.#after, 1);
    this.#after = organizationId ?? '';
    if (organizationId === undefined) return;
    const { fault } = await verifyChain(this.#database, organizationId);
    this.#verified += 1;
    const wasBroken = this.#broken.delete(organizationId);
    if (!fault) return;
    this.#broken.add(organizationId);
    if (wasBroken) return;
    this.#logger.error(
      { organization_id: organizationId, fault: fault.kind, position: fault.position, audit_id: fault.id },
      'the audit log was altered; run posthorn audit verify',
    );
  }
}
