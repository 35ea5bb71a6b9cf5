import type { Database, Queryable } from '../postgres/database.js';
import { type Catalogue, createCatalogue } from './catalogue.js';
import type { CatalogueChange, StoredType } from './catalogue-change.js';
import { affectedSubscriptions, changeOf } from './catalogue-change.js';
import { type OwnCatalogue, typesOf } from './catalogue-file.js';

/** The catalogue in the database. */
export interface StoredCatalogue {
  /** Identifies the database and the content. */
  revision: string;
  catalogue: Catalogue;
}

const revisionSql = "c.id || ':' || c.revision";
const hasFileSql = 'exists (select from posthorn.catalogue_files where alive_until > clock_timestamp())';

export async function readRevision(client: Queryable): Promise<string> {
  const { rows } = await client.query<{ revision: string }>({
    text: `select ${revisionSql} as revision from posthorn.catalogue c`,
  });
  return rows[0]!.revision;
}

export async function readCatalogue(client: Queryable): Promise<StoredCatalogue> {
  const { rows } = await client.query<{
    revision: string;
    builtin: boolean;
    types: string;
  }>({
    text: `
  select ${revisionSql} as revision, c.builtin,
         (select coalesce(json_agg(json_build_object(
                   'type', t.type, 'description', t.description, 'schema', t.schema, 'sample', t.sample,
                   'version', t.version) order by t.position), '[]')::text
            from posthorn.event_types t
           where t.in_use) as types
    from posthorn.catalogue c`,
  });
  const { revision, builtin, types } = rows[0]!;
  return { revision, catalogue: createCatalogue(JSON.parse(types), builtin) };
}

/** Returns who owns the catalogue: a file while a live node has one. */
export async function readOwner(client: Queryable): Promise<'file' | 'api'> {
  const { rows } = await client.query<{ has_file: boolean }>({ text: `select ${hasFileSql} as has_file` });
  return rows[0]!.has_file ? 'file' : 'api';
}

/** A webhook that a change breaks, and the type that it can no longer rely on. */
interface AffectedWebhook {
  id: string;
  organization_id: string;
  type: string;
}

export type AppliedChange = CatalogueChange & { webhooks: readonly AffectedWebhook[] };

interface ChangeOptions {
  /** The types come from the file of a node. Otherwise, the change is refused while a live node has a file. */
  fromFile?: boolean;
  dryRun?: boolean;
}

/** Makes this the catalogue and returns what changed. Returns `owned by file` if only a file may change it. */
export function changeCatalogue(
  database: Database,
  own: OwnCatalogue,
  { fromFile = false, dryRun = false }: ChangeOptions,
): Promise<AppliedChange | 'owned by file'> {
  return database.transaction(async (client) => {
    const { rows: locked } = await client.query<{ has_file: boolean; builtin: boolean }>({
      text: `select builtin, ${hasFileSql} as has_file from posthorn.catalogue for update`,
    });
    if (locked[0]!.has_file && !fromFile) return 'owned by file';
    const { rows } = await client.query<{ stored: string }>({
      text: `
  select json_build_object('type', type, 'description', description, 'schema', schema, 'sample', sample,
                           'version', version, 'in_use', in_use)::text as stored
    from posthorn.event_types`,
    });
    const stored = rows.map((row) => JSON.parse(row.stored) as StoredType);
    const { types, ...change } = changeOf(stored, typesOf(own));
    const webhooks = await readAffectedWebhooks(client, change);
    if (!dryRun) await write(client, types, own);
    return { ...change, webhooks };
  });
}

async function readAffectedWebhooks(client: Queryable, change: CatalogueChange): Promise<AffectedWebhook[]> {
  const affected = affectedSubscriptions(change);
  if (affected.length === 0) return [];
  const { rows } = await client.query<AffectedWebhook>({
    text: `
  select distinct w.id, w.organization_id, a.type
    from unnest($1::text[], $2::text[]) as a (entry, type)
    join posthorn.webhooks w on a.entry = any (w.event_types)
   order by w.organization_id, w.id, a.type`,
    values: [affected.map(({ entry }) => entry), affected.map(({ type }) => type)],
  });
  return rows;
}

/** Writes the types that differ from what is stored, in their order. Removed types keep their rows. */
async function write(client: Queryable, types: readonly object[], { builtin, types: own }: OwnCatalogue) {
  await client.query({
    text: `
  with wanted as materialized (
    select t ->> 'type' as type, (t ->> 'version')::int as version, t ->> 'description' as description,
           t -> 'schema' as schema, t -> 'sample' as sample, ordinality::int as position,
           t ->> 'type' = any ($2) as own
      from json_array_elements($1) with ordinality as w (t, ordinality)
  ), kept as (
    insert into posthorn.event_types as e (type, version, in_use, own, position, description, schema, sample)
    select type, version, true, own, position, description, schema, sample from wanted
    on conflict (type) do update
       set version = excluded.version, in_use = true, own = excluded.own, position = excluded.position,
           description = excluded.description, schema = excluded.schema, sample = excluded.sample
     where (e.version, e.in_use, e.own, e.position, e.description, e.schema::text, e.sample::text)
        is distinct from (excluded.version, true, excluded.own, excluded.position, excluded.description,
                          excluded.schema::text, excluded.sample::text)
    returning 1
  ), removed as (
    update posthorn.event_types e set in_use = false
     where e.in_use and not exists (select from wanted w where w.type = e.type)
    returning 1
  )
  update posthorn.catalogue
     set builtin = $3, revision = revision + 1
   where builtin <> $3 or exists (select from kept) or exists (select from removed)`,
    values: [JSON.stringify(types), own.map(({ type }) => type), builtin],
  });
}

/** Makes the file of this node the owner for as long as the node repeats this, and for `leaseMs` after that. */
export async function holdFile(database: Queryable, node: string, leaseMs: number): Promise<void> {
  await database.query({
    text: `
  insert into posthorn.catalogue_files (node, alive_until)
  values ($1, clock_timestamp() + make_interval(secs => $2 / 1000.0))
  on conflict (node) do update set alive_until = excluded.alive_until`,
    values: [node, leaseMs],
  });
}

/** Gives up the ownership of this node, and of nodes that have died. */
export async function releaseFile(database: Queryable, node: string): Promise<void> {
  await database.query({
    text: 'delete from posthorn.catalogue_files where node = $1 or alive_until < clock_timestamp()',
    values: [node],
  });
}
