import { randomUUID } from 'node:crypto';
import type { Relocation } from '../cells/relocation.js';
import {
  changeState,
  hasOrganization,
  keepOrganization,
  lockRelocation,
  type OrganizationMove,
  readArrival,
  readProgress,
  readRelocation,
  takeOver,
  writeProgress,
} from '../cells/relocation-store.js';
import type { Database } from '../postgres/database.js';
import { verifyAgain } from '../webhooks/probe-store.js';
import { deleteDeparted } from './departed-row-store.js';
import { releaseDeliveries } from './draining-store.js';
import { namesOf } from './relocation.js';
import { RelocationRefused } from './relocation-refused.js';
import type { Progress } from './round-store.js';

/**
 * Ends a move that has not switched yet: the organization keeps working in its old cell, and its copy is deleted. Only
 * the cell that the copy comes from can say that the copy is not needed.
 */
export async function abortMove(from: Database, to: Database, organizationId: string): Promise<void> {
  const names = await namesOf(from, to);
  const move: OrganizationMove = { organizationId, id: randomUUID() };
  const here = await readRelocation(from, organizationId);
  // If the organization has left and its copy is missing, the new cell may have been restored from a backup, or --to
  // may be another database.
  const isLost =
    here?.state === 'left' && (await readArrival(from, to, organizationId, names.from)) === 'missing';
  refuseDeparted(organizationId, here, names, isLost);
  // A process that is still copying fails from here on, unless the organization leaves before the next transaction.
  const hasCopy = await takeOver(to, move, 'arriving', names.from);
  if (!hasCopy && here?.cell !== names.to) {
    throw new RelocationRefused(
      `${organizationId} is not moving from cell ${names.from} to cell ${names.to}, so there is nothing to abort.`,
    );
  }
  if (!(await hasOrganization(from, organizationId)))
    throw new RelocationRefused(`The cell ${names.from} has no data for ${organizationId}.`);
  await from.transaction(async (client) => {
    refuseDeparted(organizationId, await lockRelocation(client, organizationId), names, isLost);
    if (!(await keepOrganization(client, organizationId, names.to))) return;
    await releaseDeliveries(client, organizationId);
    await verifyAgain(client, organizationId);
  }, true);
  if (!hasCopy) return;
  const { isNew, isClear } = await readProgress<Progress>(to, move);
  if (isNew && !isClear) {
    // Nothing has been copied. Whatever is there was recorded there.
    await keepOrganization(to, organizationId, names.from);
    return;
  }
  // A later move must not continue with what is left of this copy.
  await writeProgress(to, move, {});
  await deleteDeparted(to, move, 'arriving');
  // The organization lives in the cell `from`, and entries of its audit log may stay in `to`.
  await changeState(to, move, 'arriving', 'moved');
}

/** Refuses to abort a move after the switch has begun, unless the copy is lost. */
function refuseDeparted(
  organizationId: string,
  here: Relocation | undefined,
  names: { from: string; to: string },
  isLost: boolean,
): void {
  if (here?.cell !== names.to) return;
  if (here.state === 'arriving')
    throw new RelocationRefused(`${organizationId} is moving from cell ${names.to} to cell ${names.from}.`);
  if (here.state === 'moved' || (here.state === 'left' && !isLost))
    throw new RelocationRefused(
      `${organizationId} has already left the cell ${names.from}. Run the command again without --abort to complete the move.`,
    );
}
