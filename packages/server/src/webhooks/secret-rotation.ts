import type { Logger } from 'pino';
import type { Database } from '../postgres/database.js';
import type { SecretBox } from '../values/secret-box.js';
import { readSecretsWithout, replaceSecrets, type SealedSecrets, type WebhookStore } from './secret-store.js';
import { reencryptHeaders } from './webhook-headers.js';

const pageSize = 100;
const names = ['secret', 'previous_secret', 'headers'] as const;

/**
 * Encrypts webhook secrets with the first key if they use another one, so that the other can be removed from
 * POSTHORN_SECRET_KEY. Includes the secrets of organizations that are moving here. Secrets that no key can decrypt stay
 * unchanged. If the database fails, the secrets can still be decrypted, and the next start tries again.
 */
export async function rotateSecrets(database: Database, secrets: SecretBox, logger: Logger): Promise<void> {
  try {
    await reencryptAll(database, secrets, logger);
  } catch (error) {
    logger.warn({ reason: (error as Error).message }, 'secrets could not be re-encrypted yet');
  }
}

async function reencryptAll(database: Database, secrets: SecretBox, logger: Logger): Promise<void> {
  // In this order: when a move is completed, webhooks go from the first store to the second one.
  const arriving = await reencryptIn('arrivals', database, secrets);
  const own = await reencryptIn('webhooks', database, secrets);
  // Operators wait for this line before they remove the old key, so it is logged even if there was nothing to do.
  if (secrets.prefixes.length > 1 && arriving.unreadable + own.unreadable === 0)
    logger.info({ webhooks: arriving.rotated + own.rotated }, 'secrets are now encrypted with the first key');
  if (own.unreadable > 0)
    logger.error(
      { webhooks: own.unreadable },
      'secrets were encrypted with a key that POSTHORN_SECRET_KEY does not contain: add the key, or rotate the secrets',
    );
  if (arriving.unreadable > 0)
    logger.error(
      { webhooks: arriving.unreadable },
      'secrets of organizations that are moving here were encrypted with a key that POSTHORN_SECRET_KEY does not ' +
        'contain: add it, or run posthorn organization move again with POSTHORN_TARGET_SECRET_KEY',
    );
}

async function reencryptIn(store: WebhookStore, database: Database, secrets: SecretBox) {
  let after = { organization_id: '', id: '' };
  let [rotated, unreadable] = [0, 0];
  for (;;) {
    const page = await readSecretsWithout(database, store, secrets.prefix, after, pageSize);
    for (const webhook of page) {
      const fresh = rotatedOf(webhook, secrets);
      const unchanged = names.filter((name) => webhook[name] !== null && fresh[name] === webhook[name]);
      if (unchanged.some((name) => name !== 'previous_secret' || webhook.is_in_grace)) unreadable += 1;
      const isChanged = names.some((name) => fresh[name] !== webhook[name]);
      if (isChanged && (await replaceSecrets(database, store, webhook, fresh))) rotated += 1;
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
