import type { Queryable } from '../postgres/database.js';
import { relocationProblem } from './relocation.js';
import { readRelocation } from './relocation-store.js';

/** Throws a problem if a read is about an organization that lives in another cell. Writes are refused in SQL. */
export async function refuseElsewhere(database: Queryable, organizationId: string): Promise<void> {
  const relocation = await readRelocation(database, organizationId);
  const problem = relocation && relocationProblem(relocation, false);
  if (problem) throw problem;
}
