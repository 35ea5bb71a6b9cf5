import type { Queryable } from './database.js';

/** A webhook's encrypted secrets, as they are stored. */
export interface SealedSecrets {
  organization_id: string;
  id: string;
  secret: Buffer;
  previous_secret: Buffer | null;
  headers: Buffer | null;
}

/** A previous secret signs requests, and so matters, only during its grace period. */
const isInGrace = 'coalesce(previous_secret_until > now(), false)';

/** Reads the secrets of all webhooks of an organization. A previous secret is null after its grace period. */
export async function readSecretsOf(
  database: Queryable,
  organizationId: string,
): Promise<readonly SealedSecrets[]> {
  const { rows } = await database.query<SealedSecrets>({
    text: `
  select organization_id, id, secret, case when ${isInGrace} then previous_secret end as previous_secret, headers
    from posthorn.webhooks
   where organization_id = $1`,
    values: [organizationId],
  });
  return rows;
}

/** Reads webhooks with a secret or headers that do not start with `prefix`, by ID, after `after`. */
export async function readSecretsWithout(
  database: Queryable,
  prefix: Buffer,
  after: { organization_id: string; id: string },
  limit: number,
): Promise<readonly (SealedSecrets & { is_in_grace: boolean })[]> {
  const { rows } = await database.query<SealedSecrets & { is_in_grace: boolean }>({
    text: `
  select organization_id, id, secret, previous_secret, ${isInGrace} as is_in_grace, headers
    from posthorn.webhooks
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
 * Counts the webhooks with a secret or headers that start with none of these prefixes. All prefixes must
 * have the same length.
 */
export async function countSecretsWithout(database: Queryable, prefixes: readonly Buffer[]): Promise<number> {
  const { rows } = await database.query<{ count: number }>({
    text: `
  select count(*) as count
    from posthorn.webhooks
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
  before: SealedSecrets,
  after: Pick<SealedSecrets, 'secret' | 'previous_secret' | 'headers'>,
): Promise<boolean> {
  const { rowCount } = await database.query({
    text: `
  update posthorn.webhooks
     set secret = $5, previous_secret = $6, headers = $8
   where organization_id = $1 and id = $2 and secret = $3 and previous_secret is not distinct from $4
     and headers is not distinct from $7`,
    values: [
      before.organization_id,
      before.id,
      before.secret,
      before.previous_secret,
      after.secret,
      after.previous_secret,
      before.headers,
      after.headers,
    ],
  });
  return rowCount === 1;
}
