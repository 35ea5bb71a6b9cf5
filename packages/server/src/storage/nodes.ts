import type { Queryable } from './database.js';

/** Registers a process that attempts deliveries, alive for `leaseMs`; answers its id. */
export async function registerNode(database: Queryable, leaseMs: number): Promise<number> {
  const { rows } = await database.query<{ id: number }>({
    text: `
  insert into posthorn.nodes (alive_until)
  values (clock_timestamp() + make_interval(secs => $1 / 1000.0))
  returning id`,
    values: [leaseMs],
  });
  return rows[0]!.id;
}

/** Says that a node is alive for another `leaseMs`; false where it was already taken for dead. */
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

/** Gives the deliveries of nodes that are no longer heard of back to the pool; answers how many. */
export async function releaseDeadNodes(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ released: number }>({
    name: 'release dead nodes',
    text: 'select posthorn.release_dead_nodes() as released',
  });
  return rows[0]!.released;
}

/** Gives back what is held by nodes that no longer exist; answers how many. */
export async function releaseOrphans(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ released: number }>({
    name: 'release orphans',
    text: 'select posthorn.release_orphans() as released',
  });
  return rows[0]!.released;
}

/** Ends a node at once: the next release takes what it still holds. */
export async function retireNodes(database: Queryable, ids: readonly number[] | 'all'): Promise<void> {
  await database.query({
    text: `
  update posthorn.nodes set alive_until = '-infinity' where $1::int[] is null or id = any ($1)`,
    values: [ids === 'all' ? null : ids],
  });
}

export async function countOtherNodes(database: Queryable, id: number): Promise<number> {
  const { rows } = await database.query<{ count: number }>({
    text: 'select count(*) from posthorn.nodes where id <> $1 and alive_until >= clock_timestamp()',
    values: [id],
  });
  return rows[0]!.count;
}
