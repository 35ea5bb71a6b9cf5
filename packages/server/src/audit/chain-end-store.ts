import type { Queryable } from '../postgres/database.js';
import {
  type ChainFault,
  type ChainReport,
  faultAtEnd,
  faultOf,
  type Link,
  linkColumns,
} from './chain-store.js';

/** What a check of the newest entries found. */
export interface ChainEndReport extends ChainReport {
  /** How many of the newest entries were checked. */
  checked: number;
}

interface ChainRow {
  /** Null if the organization has no chain. */
  length: number | null;
  end_hash: Buffer;
  dropped: number;
  dropped_hash: Buffer;
}

type Row = ChainRow & (Link | { position: null });

/**
 * Verifies at most `max` of the newest entries of an organization's chain, and that the chain ends with them. Reads
 * everything in one statement, so entries that are written in the meantime do not matter. The cost does not depend on
 * the length of the log.
 */
export async function verifyChainEnd(
  database: Queryable,
  organizationId: string,
  max: number,
): Promise<ChainEndReport> {
  const { rows } = await database.query<Row>({
    text: `
  select c.length, c.hash as end_hash, coalesce(c.dropped, 0) as dropped, coalesce(c.dropped_hash, '') as dropped_hash,
         p.*
    from (values (true)) always
    left join posthorn.audit_chains c on c.organization_id = $1
    left join (select ${linkColumns}
                 from posthorn.audit_log l
                where l.organization_id = $1
                order by l.created_at desc, l.id desc
                limit $2) p on true
   order by p.created_at, p.id`,
    values: [organizationId, max + 1],
  });
  // Without entries there is still one row, for the end of the chain.
  const chain = rows[0]!;
  const links = rows.filter((row): row is ChainRow & Link => row.position !== null);
  // The query reads one more entry than is checked: the hash of the oldest checked entry depends on it.
  const before = links.length > max ? links.shift() : undefined;
  const { last, fault } = follow(chain, before, links);
  return {
    organization_id: organizationId,
    entries: (chain.length ?? last.position) - chain.dropped,
    position: last.position,
    head: last.hash.toString('hex'),
    fault,
    checked: links.length,
  };
}

function follow(
  chain: ChainRow,
  before: Link | undefined,
  links: readonly Link[],
): { last: { position: number; hash: Buffer }; fault: ChainFault | undefined } {
  let last = before ?? { position: chain.dropped, hash: chain.dropped_hash };
  for (const link of links) {
    const fault = faultOf(link, last);
    if (fault) return { last, fault };
    last = link;
  }
  const end = chain.length === null ? undefined : { length: chain.length, hash: chain.end_hash };
  return { last, fault: faultAtEnd(end, last, links.at(-1)?.id ?? null) };
}
