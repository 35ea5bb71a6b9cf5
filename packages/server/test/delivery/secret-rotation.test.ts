import { pino } from 'pino';
import { expect, test } from 'vitest';
import { SecretBox } from '../../src/domain/secret-box.js';
import { rotateSecrets } from '../../src/jobs/secret-rotation.js';
import { changeWebhook, createWebhook, readWebhook } from '../../src/storage/webhooks.js';
import { freshDatabase } from '../support/database.js';
import { noSettings } from '../support/deliveries.js';

const [oldKey, newKey, lostKey] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer];
const organization_id = 'ORG-acme';

test('secrets are encrypted with the first key at startup, so that the old key can be removed', async () => {
  const { database } = await freshDatabase();
  const old = new SecretBox([oldKey]);
  // More than are read at once, and one whose key is gone among them.
  const ids = Array.from({ length: 130 }, (_, n) => `WHK-${String(n).padStart(3, '0')}`);
  for (const [n, id] of ids.entries()) {
    const organization = `${organization_id}-${n % 2}`;
    const secret = n === 7 ? new SecretBox([lostKey]).seal('lost', id) : old.seal(`secret ${n}`, id);
    const fields = {
      url: 'http://127.0.0.1/',
      event_types: ['*'],
      created_at: new Date(),
      workspace_id: null,
      ...noSettings,
    };
    await createWebhook(database, { organization_id: organization, id, secret, ...fields }, 100);
    if (n === 5)
      await changeWebhook(
        database,
        { organization_id: organization, id },
        { previous_secret: old.seal('before', id), previous_secret_until: new Date() },
      );
  }

  await rotateSecrets(database, new SecretBox([newKey, oldKey]), pino({ level: 'silent' }));

  const alone = new SecretBox([newKey]);
  for (const [n, id] of ids.entries()) {
    const webhook = await readWebhook(database, { organization_id: `${organization_id}-${n % 2}`, id });
    if (n === 7) expect(() => alone.open(webhook!.secret, id)).toThrow(/no longer contains/);
    else expect(alone.open(webhook!.secret, id)).toBe(`secret ${n}`);
    if (n === 5) expect(alone.open(webhook!.previous_secret!, id)).toBe('before');
  }
});
