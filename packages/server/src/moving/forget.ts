import type { Database } from '../postgres/database.js';
import { countMissing, deleteCopy, useCopySettings } from './copy-store.js';
import { nextOfForget } from './plan.js';
import { accept, changeState, MoveRefused, readAgeMs, readSide, sidesOf } from './state-store.js';

export interface ForgetOptions {
  organizationId: string;
  from: Database;
  to: Database;
  /** How old the move must be. */
  ageMsMin: number;
  /** How long events can be read. Older ones may be gone in the new cell. */
  retentionMs: number;
}

/** Deletes the old copy of an organization, if the new cell has everything that was moved. */
export async function forgetOrganization(options: ForgetOptions): Promise<void> {
  const { organizationId, from: database, to: target, ageMsMin, retentionMs } = options;
  const [from, to] = await sidesOf(options);
  if ((await accept(nextOfForget(from, to), target, organizationId)) === 'done') return;
  const sinceMs = await readAgeMs(database, organizationId);
  if (sinceMs < ageMsMin) {
    const hours = Math.ceil((ageMsMin - sinceMs) / 3_600_000);
    throw new MoveRefused(
      `${organizationId} left this cell less than 3 days ago. Try again in ${hours} hours, or add --now to delete the old copy now.`,
    );
  }
  const missing = await countMissing(
    database,
    target,
    organizationId,
    `${retentionMs} milliseconds`,
    '12 months',
  );
  if (missing > 0)
    throw new MoveRefused(
      `The cell ${to.name} lacks ${missing} events and audit log entries of ${organizationId} that the old copy has. Nothing was deleted. See "Restored cells" in docs/operate.md.`,
    );
  await database.transaction(async (client) => {
    if (!(await changeState(client, organizationId, from, { to: 'forgotten' })))
      throw new MoveRefused(`The state of ${organizationId} has changed. Run the command again.`);
    await useCopySettings(client);
    await deleteCopy(client, organizationId);
    // The new cell may have failed over in the meantime.
    const now = await readSide(target, organizationId, '');
    if (now.id !== to.id || nextOfForget(from, now) !== 'delete')
      throw new MoveRefused(`The cell ${to.name} no longer has ${organizationId}. Nothing was deleted.`);
  }, true);
}
