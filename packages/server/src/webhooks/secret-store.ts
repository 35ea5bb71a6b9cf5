import type { Logger } from 'pino';
import type { Database, Queryable } from '../postgres/database.js';
import type { SecretBox } from '../values/secret-box.js';
import { reencryptHeaders } from './webhook-headers.js';

/** A webhook's encrypted secrets, as they are stored. */
interface SealedSecrets {
  organization_id: string;
  id: string;
  secret: Buffer;
  previous_secret: Buffer | null;
  headers: Buffer | null;
}

type Sealed = Pick<SealedSecrets, 'secret' | 'previous_secret' | 'headers'>;

/** A previous secret signs requests, and so matters, only during its grace period. */
const isInGrace = 'coalesce(previous_secret_until > now(), false)';

/** Reads webhooks with a secret or headers that do not start with `prefix`, sorted by ID, starting after `after`. */
async function readSecretsWithout(
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
 * Counts the webhooks, of one organization or of all, with a secret or headers that start with none of these prefixes,
 * which must have the same length.
 */
export async function countSecretsWithout(
  database: Queryable,
  prefixes: readonly Buffer[],
  organizationId?: string,
): Promise<number> {
  const { rows } = await database.query<{ count: number }>({
    text: `
  select count(*) as count
    from posthorn.webhooks
   where ($3::text is null or organization_id = $3)
     and (substring(secret from 1 for $2) <> all ($1::bytea[])
          or substring(previous_secret from 1 for $2) <> all ($1::bytea[]) and ${isInGrace}
          or substring(headers from 1 for $2) <> all ($1::bytea[]))`,
    values: [prefixes, prefixes[0]?.length ?? 0, organizationId],
  });
  return rows[0]!.count;
}

/** Replaces the secrets unless they changed after they were read. Returns whether it replaced them. */
async function replaceSecrets(database: Queryable, before: SealedSecrets, after: Sealed): Promise<boolean> {
  const { rowCount } = await database.query({
    text: `
  update posthorn.webhooks
     set secret = $6, previous_secret = $7, headers = $8
   where organization_id = $1 and id = $2 and secret = $3 and previous_secret is not distinct from $4
     and headers is not distinct from $5`,
    values: [
      before.organization_id,
      ...[before.id, before.secret, before.previous_secret, before.headers],
      ...[after.secret, after.previous_secret, after.headers],
    ],
  });
  return rowCount === 1;
}

const pageSize = 100;
const names = ['secret', 'previous_secret', 'headers'] as const;

/**
 * Encrypts webhook secrets with the first key if they use another one, so that the other can be removed from
 * POSTHORN_SECRET_KEY. Secrets that no key can decrypt stay unchanged. If the database fails, the secrets can still be
 * decrypted, and the next start tries again.
 */
export async function rotateSecrets(database: Database, secrets: SecretBox, logger: Logger): Promise<void> {
  try {
    const { rotated, unreadable } = await reencryptSecrets(database, secrets);
    // Operators wait for this line before they remove the old key, so it is logged even if there was nothing to do.
    if (secrets.prefixes.length > 1 && unreadable === 0)
      logger.info({ webhooks: rotated }, 'secrets are now encrypted with the first key');
    if (unreadable > 0)
      logger.error(
        { webhooks: unreadable },
        'secrets were encrypted with a key that POSTHORN_SECRET_KEY does not contain: add the key, or rotate the secrets',
      );
  } catch (error) {
    logger.warn({ reason: (error as Error).message }, 'secrets could not be re-encrypted yet');
  }
}

/** Encrypts what the keys can decrypt with the first one. Returns how many webhooks it changed, and how many it cannot. */
export async function reencryptSecrets(database: Queryable, secrets: SecretBox) {
  let after = { organization_id: '', id: '' };
  let [rotated, unreadable] = [0, 0];
  for (;;) {
    const page = await readSecretsWithout(database, secrets.prefix, after, pageSize);
    for (const webhook of page) {
      const fresh = rotatedOf(webhook, secrets);
      const unchanged = names.filter((name) => webhook[name] !== null && fresh[name] === webhook[name]);
      if (unchanged.some((name) => name !== 'previous_secret' || webhook.is_in_grace)) unreadable += 1;
      const isChanged = names.some((name) => fresh[name] !== webhook[name]);
      if (isChanged && (await replaceSecrets(database, webhook, fresh))) rotated += 1;
    }
    const last = page.at(-1);
    if (!last || page.length < pageSize) return { rotated, unreadable };
    after = last;
  }
}

/** Encrypts again what the keys can decrypt. The rest stays unchanged, because its key may be added again. */
function rotatedOf({ id, secret, previous_secret: previous, headers }: SealedSecrets, secrets: SecretBox) {
  const encrypt = (sealed: Buffer) => secrets.seal(secrets.open(sealed, id), id);
  return {
    secret: ifReadable(secret, encrypt),
    previous_secret: previous && ifReadable(previous, encrypt),
    headers: headers && ifReadable(headers, (sealed) => reencryptHeaders(sealed, id, secrets)),
  };
}

function ifReadable(sealed: Buffer, encrypt: (sealed: Buffer) => Buffer): Buffer {
  try {
    return encrypt(sealed);
  } catch {
    return sealed;
  }
}
