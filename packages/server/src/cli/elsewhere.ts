import { CommandFailure } from 'posthorn';
import { relocationProblem } from '../cells/relocation.js';
import { readRelocation } from '../cells/relocation-store.js';
import type { Database } from '../postgres/database.js';
import { type Refusal, refusalOf } from '../postgres/database-errors.js';

/** Fails with one line if a command reads the data of an organization that lives in another cell. */
export async function requireHere(database: Database, organizationId: string): Promise<void> {
  const relocation = await readRelocation(database, organizationId);
  const problem = relocation && relocationProblem(relocation, false);
  if (problem)
    throw failureFor(organizationId, { cell: relocation.cell, isMoving: problem.code !== 'wrong_cell' });
}

/** Waits for a write. Fails with one line if the organization, which `whose` names, lives in another cell. */
export async function writtenHere<T>(whose: string, write: Promise<T>): Promise<T> {
  return write.catch((error) => {
    const refusal = refusalOf(error);
    throw refusal ? failureFor(whose, refusal) : error;
  });
}

function failureFor(whose: string, { cell, isMoving }: Omit<Refusal, 'organizationId'>): CommandFailure {
  return new CommandFailure(
    isMoving
      ? `${whose} is moving to the cell ${cell}. Run the command again when the move has ended.`
      : `${whose} is in the cell ${cell}. Run the command with the DATABASE_URL of that cell.`,
  );
}
