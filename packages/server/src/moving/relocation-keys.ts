import { readCell } from '../cells/relocation-store.js';
import type { Database } from '../postgres/database.js';
import { readSecretsOf, type Sealed } from '../webhooks/secret-store.js';
import type { Reencrypt } from './arrival-store.js';
import { RelocationRefused } from './relocation-refused.js';

interface MovedSecrets {
  organizationId: string;
  from: Database;
  to: Database;
  reencrypt: Reencrypt;
}

/** Refuses a move after which nobody could decrypt the webhook secrets, so that nothing could be delivered. */
export async function refuseForeignKeys(moved: MovedSecrets, cell: string, note = ''): Promise<void> {
  const secrets = await readSecretsOf(moved.from, 'webhooks', moved.organizationId);
  if (!(await canDecrypt(moved.to, secrets.map(moved.reencrypt)))) throw foreignKeys(moved, cell, note);
}

/**
 * Returns whether the nodes of the new cell can decrypt the staged secrets. Their keys can change while the organization
 * is copied, and before an interrupted move is continued.
 */
export async function isStagedForNodes({ to, organizationId }: MovedSecrets): Promise<boolean> {
  return canDecrypt(to, await readSecretsOf(to, 'arrivals', organizationId));
}

async function canDecrypt(to: Database, secrets: readonly Sealed[]): Promise<boolean> {
  const keys = (await readCell(to))?.keys ?? [];
  const isKnown = (sealed: Buffer | null) =>
    sealed === null || keys.some((start) => sealed.subarray(0, start.length).equals(start));
  return (
    keys.length === 0 ||
    secrets.every(
      ({ secret, previous_secret, headers }) =>
        isKnown(secret) && isKnown(previous_secret) && isKnown(headers),
    )
  );
}

export function foreignKeys({ organizationId }: MovedSecrets, cell: string, note = ''): RelocationRefused {
  return new RelocationRefused(
    `The nodes of the cell ${cell} cannot decrypt the webhook secrets of ${organizationId}. Set POSTHORN_TARGET_SECRET_KEY to the POSTHORN_SECRET_KEY of that cell, and run the command again.${note}`,
  );
}
