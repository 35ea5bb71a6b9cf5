import type { Logger } from 'pino';
import type { SecretBox } from '../domain/secret-box.js';
import { reencryptHeaders } from '../domain/webhook-headers.js';
import type { Database } from '../storage/database.js';
import { readSecretsWithout, replaceSecrets, type SealedSecrets } from '../storage/webhook-secrets.js';

const pageSize = 100;

/**
 * Encrypts webhook secrets with the first key if they use another one, so that the other can be removed from
 * POSTHORN_SECRET_KEY. Secrets that no key opens stay unchanged. If the database fails, the secrets can still be
 * decrypted, and the next start tries again.
 */
export async function rotateSecrets(database: Database, secrets: SecretBox, logger: Logger): Promise<void> {
  try {
    await reencryptAll(database, secrets, logger);
  } catch (error) {
    logger.warn({ reason: (error as Error).message }, 'secrets could not be re-encrypted yet');
  }
}

async function reencryptAll(database: Database, secrets: SecretBox, logger: Logger): Promise<void> {
  let after = { organization_id: '', id: '' };
  let [rotated, unreadable] = [0, 0];
  for (;;) {
    const page = await readSecretsWithout(database, secrets.prefix, after, pageSize);
    for (const webhook of page) {
      const fresh = rotatedOf(webhook, secrets);
      if (fresh === undefined) unreadable += 1;
      else if (await replaceSecrets(database, webhook, fresh)) rotated += 1;
    }
    const last = page.at(-1);
    if (!last || page.length < pageSize) break;
    after = last;
  }
  // Operators wait for this line before they remove the old key, so it is logged even if there was nothing to do.
  if (secrets.prefixes.length > 1)
    logger.info({ webhooks: rotated }, 'secrets are now encrypted with the first key');
  if (unreadable > 0)
    logger.error(
      { webhooks: unreadable },
      'secrets were encrypted with a key that POSTHORN_SECRET_KEY does not contain: add it, or rotate them with a grace period of 0s',
    );
}

function rotatedOf({ id, secret, previous_secret: previous, headers }: SealedSecrets, secrets: SecretBox) {
  const encrypt = (sealed: Buffer) => secrets.seal(secrets.open(sealed, id), id);
  try {
    return {
      secret: encrypt(secret),
      previous_secret: previous && encrypt(previous),
      headers: headers && reencryptHeaders(headers, id, secrets),
    };
  } catch {
    return undefined;
  }
}
