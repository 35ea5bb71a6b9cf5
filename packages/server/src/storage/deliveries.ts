import type { Queryable } from './database.js';

/** Deletes backlog rows that are so old that their events have been deleted. */
export async function deleteOldBacklog(database: Queryable, before: Date): Promise<void> {
  await database.query({
    text: `
  delete from posthorn.backlog where (leased_by is null or leased_by = 0) and created_at < $1`,
    values: [before],
  });
}

/**
 * Brings the waiting deliveries of a webhook in line with its status, about `atMost` at a time: holds them while it
 * is unverified, ends them once it is disabled or deleted. Returns how many it changed.
 */
export async function alignWaiting(
  database: Queryable,
  { organization_id, id }: { organization_id: string; id: string },
  atMost: number,
): Promise<number> {
  const { rows } = await database.query<{ changed: number }>({
    text: 'select posthorn.align_waiting($1, $2, $3) as changed',
    values: [organization_id, id, atMost],
  });
  return rows[0]!.changed;
}

/** Releases deliveries that are held for webhooks that are no longer unverified. Returns how many. */
export async function releaseHeld(database: Queryable, atMost: number): Promise<number> {
  const { rows } = await database.query<{ released: number }>({
    name: 'release held',
    text: 'select posthorn.release_held($1) as released',
    values: [atMost],
  });
  return rows[0]!.released;
}
