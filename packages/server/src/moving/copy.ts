import type { SecretBox } from '../values/secret-box.js';
import { reencryptSecrets } from '../webhooks/secret-store.js';
import * as copies from './copy-store.js';
import type { Side } from './plan.js';
import { type Cells, changeState, MoveRefused } from './state-store.js';

export interface CopyOptions extends Cells {
  /** Encrypts with the key of the other cell, and decrypts with those of both. Absent if they have the same. */
  secrets?: SecretBox | undefined;
  /** Called with the number of rows of each chunk that is copied. */
  onRows: (rows: number) => void;
}

/**
 * Copies everything that belongs to a stopped organization in one transaction of the new cell, from one snapshot of the
 * old one, and compares the number of rows in every table. Copies nothing if another process has done so in the meantime.
 */
export async function copyOrganization(options: CopyOptions, from: Side, to: Side): Promise<void> {
  const { organizationId, from: source, to: target, secrets, onRows } = options;
  await copies.withSnapshot(source, async (snapshot) => {
    const tables = await copies.readTables(snapshot);
    const counts = await copies.countRows(snapshot, tables, organizationId);
    await copies.makePartitionsFor(target, counts);
    await target.transaction(async (client) => {
      const arriving = { to: 'arriving', other: from, move: from.facts!.move } as const;
      if (!(await changeState(client, to, arriving))) return;
      await copies.useCopySettings(client);
      if (to.facts) await copies.deleteSignposts(client, organizationId);
      for (const table of tables) await copies.copyTable(snapshot, client, table, organizationId, onRows);
      const there = await copies.countRows(client, tables, organizationId);
      for (const name of new Set([...counts.keys(), ...there.keys()]))
        if (counts.get(name) !== there.get(name))
          throw new MoveRefused(
            `The copy of ${organizationId} has ${there.get(name) ?? 0} instead of ${counts.get(name) ?? 0} rows in ${name}. Nothing was copied.`,
          );
      if (secrets) await reencryptSecrets(client, secrets);
    }, true);
  });
}
