import type { Relocation } from '../cells/relocation.js';
import { type OrganizationMove, requireState } from '../cells/relocation-store.js';
import type { Database } from '../postgres/database.js';
import { useCopySettings } from './row-copy-store.js';

/**
 * The tables whose rows are deleted after an organization has moved away, with their keys. Tokens and resources stay,
 * so that requests that use them can be refused with the name of the right cell. The audit log can only be appended to.
 */
const tables: Readonly<Record<string, string>> = {
  arrivals: 'organization_id, relation, ordinal',
  // Deleted before the deliveries. If a node dies after the rows of its settled deliveries were deleted here, these
  // deliveries look unsettled and return to the backlog. Without a webhook, they are not attempted.
  webhooks: 'organization_id, id',
  backlog: 'organization_id, webhook_id, created_at, head, first',
  deliveries: 'organization_id, webhook_id, created_at, id',
  replays: 'organization_id, webhook_id, id',
  event_keys: 'organization_id, key',
  request_keys: 'organization_id, token_id, route, key',
  delivery_counts: 'organization_id, scope, step, at, part',
  event_counts: 'organization_id, scope, step, at, type',
  events: 'organization_id, created_at, id',
};

/** Each transaction reads past rows that earlier ones deleted, so a few large ones are faster than many small ones. */
const rowsMax = 20_000;

/** Deletes the rows of an organization that lives in another cell. */
export async function deleteDeparted(
  database: Database,
  move: OrganizationMove,
  state: Extract<Relocation['state'], 'moved' | 'arriving'>,
): Promise<void> {
  for (const table of Object.keys(tables)) while ((await deleteSome(database, move, state, table)) > 0);
}

/** Deletes the rows that an earlier try copied and that may have changed since. */
export async function deleteOpenRows(database: Database, move: OrganizationMove): Promise<void> {
  for (const table of ['arrivals', 'backlog']) {
    while ((await deleteSome(database, move, 'arriving', table)) > 0);
  }
  while ((await deleteSome(database, move, 'arriving', 'deliveries', "and status = 'pending'")) > 0);
}

async function deleteSome(
  database: Database,
  move: OrganizationMove,
  state: Relocation['state'],
  table: string,
  condition = '',
): Promise<number> {
  return database.transaction(async (client) => {
    await requireState(client, move, state);
    await useCopySettings(client);
    const key = tables[table];
    const { rowCount } = await client.query({
      text: `
  delete from posthorn.${table}
   where organization_id = $1
     and (${key}) in (select ${key} from posthorn.${table} where organization_id = $1 ${condition} limit ${rowsMax})`,
      values: [move.organizationId],
    });
    return rowCount ?? 0;
  }, true);
}
