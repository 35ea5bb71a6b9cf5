import type { Database, Queryable } from '../postgres/database.js';
import { readCountedUntil, recountEvents } from '../stats/event-count-store.js';
import * as secrets from '../webhooks/secret-store.js';
import * as copies from './copy-store.js';
import { foreign, type Side } from './plan.js';
import { changeState, MoveRefused, refusalOf } from './state-store.js';

/** Encrypts the secrets of a webhook with the key of the other cell. */
export type Reencrypt = (webhook: secrets.SealedSecrets) => secrets.Sealed;

export interface CopyOptions {
  organizationId: string;
  from: Database;
  to: Database;
  /** Absent if both cells have the same keys. */
  reencrypt?: Reencrypt | undefined;
  /** Called with the number of rows of each chunk that is copied. */
  onRows: (rows: number) => void;
  /** Ends the move before the organization has left its old cell. */
  signal?: AbortSignal;
}

/**
 * Copies everything that belongs to a stopped organization in one transaction of the new cell, from one snapshot of the
 * old one. Returns the number of rows. Copies nothing if another process has done so in the meantime.
 */
export async function copyOrganization(options: CopyOptions, from: Side, to: Side): Promise<number> {
  const { organizationId, from: source, to: target, reencrypt, ...watch } = options;
  return target.transaction(async (client) => {
    if (!(await changeState(client, organizationId, to, { to: 'arriving' }))) return 0;
    await copies.useCopySettings(client);
    let rows = 0;
    await copies.withSnapshot(source, async (snapshot) => {
      const chain = await copies.readChainThere(snapshot, client, organizationId);
      if (!chain || (await copies.countForeignRows(client, organizationId)) > 0)
        throw await refusalOf(foreign(from, to), target, organizationId);
      await copies.deleteSignposts(client, organizationId);
      for (const table of await copies.readTables(snapshot))
        rows += await copies.copyTable(snapshot, client, table, organizationId, chain.length, watch);
      await compare(snapshot, client, organizationId, chain.length);
      await copies.keepChainStart(client, organizationId, chain);
      await recountEvents(client, organizationId, await readCountedUntil(snapshot));
    });
    await secrets.endGraces(client, organizationId);
    if (reencrypt)
      for (const webhook of await secrets.readSecretsOf(client, organizationId))
        await secrets.replaceSecrets(client, webhook, reencrypt(webhook));
    return rows;
  }, true);
}

/** Throws unless both cells have the same number of rows in every table, partition by partition. */
async function compare(
  snapshot: Queryable,
  client: Queryable,
  organizationId: string,
  entriesThere: number,
): Promise<void> {
  const tables = await copies.readTables(snapshot);
  const own = await copies.countRows(snapshot, tables, organizationId, entriesThere);
  const there = await copies.countRows(client, tables, organizationId, entriesThere);
  for (const name of new Set([...own.keys(), ...there.keys()]))
    if (own.get(name) !== there.get(name))
      throw new MoveRefused(
        `The copy of ${organizationId} has ${there.get(name) ?? 0} instead of ${own.get(name) ?? 0} rows in ${name}. Nothing was copied.`,
      );
}
