import type { Queryable } from '../postgres/database.js';
import type { StoredResource } from './resource.js';
import type { Lifecycle } from './resource-schema.js';

/** A resource before and after a move. `after` is missing if the status does not allow the move. */
export interface MovedResource {
  before: StoredResource;
  after?: StoredResource;
}

// JSON is returned as text and parsed here, because a caller's client may have its own type parsers.

/** Creates a resource in its initial status. */
export async function createResource(
  client: Queryable,
  { kind, prefix }: Pick<Lifecycle, 'kind' | 'prefix'>,
  resource: Pick<StoredResource, 'organization_id' | 'workspace_id' | 'attributes'>,
): Promise<StoredResource> {
  const { organization_id, workspace_id, attributes } = resource;
  const { rows } = await client.query<{ created: string }>({
    name: 'create resource',
    text: 'select posthorn.create_resource($1, $2, $3, $4, $5)::text as created',
    values: [kind, prefix, organization_id, workspace_id, JSON.stringify(attributes)],
  });
  return JSON.parse(rows[0]!.created);
}

/**
 * Limits how long the transaction of `client` waits for a resource that another transaction has locked. PostgreSQL then
 * reports the timeout before the driver's limit of 2.5 s expires. The first transaction in the queue for a row waits
 * for one lock, and the others wait for two in turn, so each statement also has a limit.
 */
export async function limitLockWaits(client: Queryable): Promise<void> {
  await client.query({ text: "set local lock_timeout = '2s'; set local statement_timeout = '2200ms'" });
}

/**
 * Moves a resource, sets the attributes in `changes`, increments the one that `counter` names, and locks the resource
 * until the transaction of `client` ends. Returns undefined if it does not exist.
 */
export async function moveResource(
  client: Queryable,
  kind: string,
  id: string,
  move: string,
  { changes, counter }: { changes: Readonly<Record<string, unknown>>; counter: string | undefined },
): Promise<MovedResource | undefined> {
  const { rows } = await client.query<{ moved: string | null }>({
    name: 'move resource',
    text: 'select posthorn.move_resource($1, $2, $3, $4, $5)::text as moved',
    values: [kind, id, move, JSON.stringify(changes), counter ?? null],
  });
  const moved = rows[0]?.moved;
  return typeof moved === 'string' ? JSON.parse(moved) : undefined;
}

export async function readResource(
  client: Queryable,
  kind: string,
  id: string,
): Promise<StoredResource | undefined> {
  const { rows } = await client.query<{ resource: string }>({
    name: 'read resource',
    text: `
  select posthorn.resource_json(r)::text as resource
    from posthorn.resources r
   where r.id = $1 and r.kind = $2`,
    values: [id, kind],
  });
  return rows[0] && JSON.parse(rows[0].resource);
}
