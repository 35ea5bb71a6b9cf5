import { randomUUID } from 'node:crypto';
import type { Queryable } from '../postgres/database.js';

/**
 * The condition, in SQL, under which the row `n` of `posthorn.nodes` stands for a node. Otherwise, the process has
 * given up this ID. The leases of the ID then end like those of a dead node, although no node died.
 */
export const isCurrentSql =
  'not exists (select from posthorn.nodes o where o.process = n.process and o.id > n.id)';

/**
 * Registers a node that is alive for `leaseMs` and returns its ID. `process` identifies the node's process. By default,
 * it is a new UUID.
 */
export async function registerNode(
  database: Queryable,
  leaseMs: number,
  process: string = randomUUID(),
): Promise<number> {
  const { rows } = await database.query<{ id: number }>({
    text: `
  insert into posthorn.nodes (alive_until, process)
  values (clock_timestamp() + make_interval(secs => $1 / 1000.0), $2)
  returning id`,
    values: [leaseMs, process],
  });
  return rows[0]!.id;
}

/** Keeps a node alive for `leaseMs` from now. Returns false if the node was already declared dead. */
export async function renewNode(database: Queryable, id: number, leaseMs: number): Promise<boolean> {
  const { rowCount } = await database.query({
    name: 'renew node',
    text: `
  update posthorn.nodes
     set alive_until = clock_timestamp() + make_interval(secs => $2 / 1000.0)
   where id = $1`,
    values: [id, leaseMs],
  });
  return rowCount === 1;
}

/** Releases about `atMost` deliveries of dead nodes. Returns how many. */
export async function releaseLeases(database: Queryable, atMost: number): Promise<number> {
  return (await releaseDeadNodes(database, atMost)).released;
}

/**
 * Releases the deliveries of dead nodes, as `releaseLeases` does. Returns how many, and which nodes are overdue. A node
 * that stopped, or an ID that a process has given up, is not overdue.
 */
export async function releaseDeadNodes(
  database: Queryable,
  atMost: number,
): Promise<{ released: number; overdue: readonly number[] }> {
  const { rows } = await database.query<{ released: number; overdue: number[] | null }>({
    name: 'release leases',
    // The subquery sees the nodes as they were before the function deletes them.
    text: `
  select posthorn.release_leases($1) as released,
         (select array_agg(id) from posthorn.nodes n
           where alive_until < clock_timestamp() and alive_until > '-infinity' and ${isCurrentSql}) as overdue`,
    values: [atMost],
  });
  const { released, overdue } = rows[0]!;
  return { released, overdue: overdue ?? [] };
}

/** Marks nodes as dead. The next call to `releaseDeadNodes` releases their deliveries. */
export async function retireNodes(database: Queryable, ids: readonly number[] | 'all'): Promise<void> {
  await database.query({
    text: `
  update posthorn.nodes set alive_until = '-infinity' where $1::int[] is null or id = any ($1)`,
    values: [ids === 'all' ? null : ids],
  });
}

/** Marks a process as dead, with all IDs that it has had. */
export async function retireProcess(database: Queryable, process: string): Promise<void> {
  await database.query({
    text: "update posthorn.nodes set alive_until = '-infinity' where process = $1",
    values: [process],
  });
}

export async function countOtherNodes(database: Queryable, id: number): Promise<number> {
  const { rows } = await database.query<{ count: number }>({
    text: `
  select count(*) from posthorn.nodes
   where id <> $1 and alive_until >= clock_timestamp()
     and process is distinct from (select process from posthorn.nodes where id = $1)`,
    values: [id],
  });
  return rows[0]!.count;
}
