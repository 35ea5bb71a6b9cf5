import { pino } from 'pino';
import { expect, test } from 'vitest';
import { SecretBox } from '../../src/values/secret-box.js';
import { rotateSecrets } from '../../src/webhooks/secret-store.js';
import { changeWebhook, createWebhook, readWebhook } from '../../src/webhooks/webhook-store.js';
import { freshDatabase, freshServiceDatabase } from '../support/database.js';
import { noSettings } from '../support/deliveries.js';
import { startTestService } from '../support/service.js';

const [oldKey, newKey, lostKey] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer];
const organization_id = 'ORG-acme';
const fields = {
  url: 'http://127.0.0.1/',
  event_types: ['*'],
  created_at: new Date(),
  workspace_id: null,
  ...noSettings,
};

test('secrets are encrypted with the first key at startup, so that the old key can be removed', async () => {
  const { database } = await freshDatabase();
  const old = new SecretBox([oldKey]);
  // More than are read at once, and one whose key is gone among them.
  const ids = Array.from({ length: 130 }, (_, n) => `WHK-${String(n).padStart(3, '0')}`);
  for (const [n, id] of ids.entries()) {
    const organization = `${organization_id}-${n % 2}`;
    const secret = n === 7 ? new SecretBox([lostKey]).seal('lost', id) : old.seal(`secret ${n}`, id);
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

test('a node that only serves the API re-encrypts secrets when it gets a new first key', async () => {
  const { database, url } = await freshServiceDatabase();
  const id = 'WHK-1';
  const secret = new SecretBox([oldKey]).seal('secret', id);
  await createWebhook(database, { organization_id, id, secret, ...fields }, 100);

  const keys = [newKey, oldKey].map((key) => key.toString('base64')).join();
  await startTestService({ DATABASE_URL: url, POSTHORN_ROLES: 'api', POSTHORN_SECRET_KEY: keys });

  const webhook = await readWebhook(database, { organization_id, id });
  expect(new SecretBox([newKey]).open(webhook!.secret, id)).toBe('secret');
});

test('with several keys, the log says when the old one can be removed, even if nothing had to be re-encrypted', async () => {
  const { database } = await freshDatabase();
  const lines: unknown[] = [];
  const logger = pino({}, { write: (line) => lines.push(JSON.parse(line)) });

  await rotateSecrets(database, new SecretBox([newKey]), logger);
  expect(lines).toEqual([]);
  await rotateSecrets(database, new SecretBox([newKey, oldKey]), logger);
  expect(lines).toMatchObject([{ msg: 'secrets are now encrypted with the first key', webhooks: 0 }]);
});

test('a previous secret that cannot be decrypted does not keep the secret from being re-encrypted, nor the old key from being removed after the grace period', async () => {
  const { database } = await freshDatabase();
  const lines: { msg: string }[] = [];
  const logger = pino({}, { write: (line) => lines.push(JSON.parse(line)) });
  const key = { organization_id, id: 'WHK-1' };
  const [old, lost] = [new SecretBox([oldKey]), new SecretBox([lostKey])];
  await createWebhook(database, { ...key, secret: old.seal('secret', key.id), ...fields }, 100);
  const previous = { previous_secret: lost.seal('before', key.id) };
  await changeWebhook(database, key, {
    ...previous,
    previous_secret_until: new Date(Date.now() + 3_600_000),
  });

  await rotateSecrets(database, new SecretBox([newKey, oldKey]), logger);
  const webhook = await readWebhook(database, key);
  expect(new SecretBox([newKey]).open(webhook!.secret, key.id)).toBe('secret');
  expect(lost.open(webhook!.previous_secret!, key.id)).toBe('before');
  expect(lines.splice(0)).toMatchObject([{ level: 50, webhooks: 1 }]);

  await changeWebhook(database, key, { previous_secret_until: new Date(0) });
  await rotateSecrets(database, new SecretBox([newKey, oldKey]), logger);
  expect(lines).toMatchObject([{ msg: 'secrets are now encrypted with the first key', webhooks: 0 }]);
});
