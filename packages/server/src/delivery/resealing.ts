import type { Logger } from 'pino';
import type { SecretBox } from '../domain/secret-box.js';
import type { Database } from '../storage/database.js';
import { readSecretsWithout, replaceSecrets, type SealedSecrets } from '../storage/webhook-secrets.js';

const pageSize = 100;

/**
 * Encrypts with the first key whatever was encrypted with another one, so that the other can be taken out
 * of POSTHORN_SECRET_KEY. What no key opens stays as it is.
 */
export async function resealSecrets(database: Database, secrets: SecretBox, logger: Logger): Promise<void> {
  let after = { organization_id: '', id: '' };
  let [resealed, unreadable] = [0, 0];
  for (;;) {
    const page = await readSecretsWithout(database, secrets.mark, after, pageSize);
    for (const webhook of page) {
      const anew = resealedOf(webhook, secrets);
      if (anew === undefined) unreadable += 1;
      else if (await replaceSecrets(database, webhook, anew)) resealed += 1;
    }
    const last = page.at(-1);
    if (!last || page.length < pageSize) break;
    after = last;
  }
  if (resealed > 0) logger.info({ webhooks: resealed }, 'secrets are now encrypted with the first key');
  if (unreadable > 0)
    logger.error(
      { webhooks: unreadable },
      'secrets were encrypted with a key that POSTHORN_SECRET_KEY does not hold: add it, or rotate them with the grace 0s',
    );
}

function resealedOf({ id, secret, previous_secret: previous }: SealedSecrets, secrets: SecretBox) {
  const reseal = (sealed: Buffer) => secrets.seal(secrets.open(sealed, id), id);
  try {
    return { secret: reseal(secret), previous_secret: previous && reseal(previous) };
  } catch {
    return undefined;
  }
}
