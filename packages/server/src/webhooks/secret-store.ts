import type { Queryable } from '../postgres/database.js';

/** A webhook's encrypted secrets, as they are stored. */
export interface SealedSecrets {
  organization_id: string;
  id: string;
  secret: Buffer;
  previous_secret: Buffer | null;
  headers: Buffer | null;
}

export type Sealed = Pick<SealedSecrets, 'secret' | 'previous_secret' | 'headers'>;

/**
 * Where a cell stores webhooks: in `webhooks` or, for organizations that are moving here, as text in `arrivals`.
 */
export type WebhookStore = 'arrivals' | 'webhooks';

const webhooksIn: Record<WebhookStore, string> = {
  // Rows of other tables cannot be converted. With the array, PostgreSQL filters before it converts.
  arrivals: `unnest(array(select content::posthorn.webhooks from posthorn.arrivals where relation = 'webhooks'))`,
  webhooks: 'posthorn.webhooks',
};

/** A previous secret signs requests, and so matters, only during its grace period. */
const isInGrace = 'coalesce(previous_secret_until > now(), false)';

/** Reads the secrets of all webhooks of an organization. A previous secret is null after its grace period. */
export async function readSecretsOf(
  database: Queryable,
  store: WebhookStore,
  organizationId: string,
): Promise<readonly SealedSecrets[]> {
  const { rows } = await database.query<SealedSecrets>({
    text: `
  select organization_id, id, secret, case when ${isInGrace} then previous_secret end as previous_secret, headers
    from ${webhooksIn[store]}
   where organization_id = $1`,
    values: [organizationId],
  });
  return rows;
}

/** Reads webhooks with a secret or headers that do not start with `prefix`, sorted by ID, starting after `after`. */
export async function readSecretsWithout(
  database: Queryable,
  store: WebhookStore,
  prefix: Buffer,
  after: { organization_id: string; id: string },
  limit: number,
): Promise<readonly (SealedSecrets & { is_in_grace: boolean })[]> {
  const { rows } = await database.query<SealedSecrets & { is_in_grace: boolean }>({
    text: `
  select organization_id, id, secret, previous_secret, ${isInGrace} as is_in_grace, headers
    from ${webhooksIn[store]}
   where (organization_id, id) > ($2, $3)
     and (substring(secret from 1 for $5) <> $1
          or substring(previous_secret from 1 for $5) <> $1 and ${isInGrace}
          or substring(headers from 1 for $5) <> $1)
   order by organization_id, id
   limit $4`,
    values: [prefix, after.organization_id, after.id, limit, prefix.length],
  });
  return rows;
}

/**
 * Counts the webhooks with a secret or headers that start with none of these prefixes. Includes the webhooks of
 * organizations that are moving here, because this cell needs their keys, too. All prefixes must have the same length.
 */
export async function countSecretsWithout(database: Queryable, prefixes: readonly Buffer[]): Promise<number> {
  const { rows } = await database.query<{ count: number }>({
    text: `
  select count(*) as count
    from (select secret, previous_secret, previous_secret_until, headers from ${webhooksIn.webhooks}
           union all
          select secret, previous_secret, previous_secret_until, headers from ${webhooksIn.arrivals}) w
   where substring(secret from 1 for $2) <> all ($1::bytea[])
      or substring(previous_secret from 1 for $2) <> all ($1::bytea[]) and ${isInGrace}
      or substring(headers from 1 for $2) <> all ($1::bytea[])`,
    values: [prefixes, prefixes[0]?.length ?? 0],
  });
  return rows[0]!.count;
}

/** Replaces the secrets unless they changed after they were read. Returns whether it replaced them. */
export async function replaceSecrets(
  database: Queryable,
  store: WebhookStore,
  before: SealedSecrets,
  after: Sealed,
): Promise<boolean> {
  const { rowCount } = await database.query({
    text: replacements[store],
    values: [
      before.organization_id,
      ...[before.id, before.secret, before.previous_secret, before.headers],
      ...[after.secret, after.previous_secret, after.headers],
    ],
  });
  return rowCount === 1;
}

const isUnchanged = `w.id = $2 and w.secret = $3 and w.previous_secret is not distinct from $4
     and w.headers is not distinct from $5`;

const replacements: Record<WebhookStore, string> = {
  arrivals: `
  with staged as materialized (
    select ordinal, content::posthorn.webhooks as webhook
      from posthorn.arrivals
     where organization_id = $1 and relation = 'webhooks'
       for update
  )
  update posthorn.arrivals a
     set content = jsonb_populate_record(s.webhook, jsonb_build_object(
           'secret', $6::bytea, 'previous_secret', $7::bytea, 'headers', $8::bytea))::text
    from staged s
   cross join unnest(array[s.webhook]) w
   where a.organization_id = $1 and a.relation = 'webhooks' and a.ordinal = s.ordinal
     and ${isUnchanged}`,
  webhooks: `
  update posthorn.webhooks w
     set secret = $6, previous_secret = $7, headers = $8
   where w.organization_id = $1 and ${isUnchanged}`,
};
