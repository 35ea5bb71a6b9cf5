import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError } from '../values/problem.js';
import { SecretBox } from '../values/secret-box.js';

/** What to do about a data directory that cannot be used. */
const needsDirectory =
  'Set it to a writable directory. If you set DATABASE_URL, POSTHORN_SECRET_KEY and POSTHORN_PLATFORM_TOKEN, ' +
  'Posthorn does not need one.';

/** Returns a secret from the data directory. Generates it on first use, readable only by its owner. */
export async function storedSecret(dataDir: string, name: string, make: () => string): Promise<string> {
  return readOrGenerate(dataDir, name, make).catch((error: Error) => {
    throw new OperatorError(
      `POSTHORN_DATA_DIR: ${JSON.stringify(dataDir)} cannot be used: ${error.message}. ${needsDirectory}`,
    );
  });
}

async function readOrGenerate(dataDir: string, name: string, make: () => string): Promise<string> {
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const file = join(dataDir, name);
  // 'wx' fails if the file exists, so if two processes start at the same time, they use the same value.
  await writeFile(file, `${make()}\n`, { mode: 0o600, flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  return (await readFile(file, 'utf8')).trim();
}

export function platformToken(dataDir: string): Promise<string> {
  return storedSecret(
    dataDir,
    'platform-token',
    () => `phn_platform_${randomBytes(24).toString('base64url')}`,
  );
}

/** Returns the key that encrypts webhook secrets if none is configured. */
async function secretKey(dataDir: string): Promise<Buffer> {
  return Buffer.from(
    await storedSecret(dataDir, 'secret-key', () => randomBytes(32).toString('base64')),
    'base64',
  );
}

/**
 * Returns the box that encrypts webhook secrets, with the keys of the settings or the generated one. With `first`, it
 * encrypts with the first of these keys, and can also decrypt with the others.
 */
export async function openSecretBox(
  { secretKeys, dataDir }: { secretKeys: readonly Buffer[] | undefined; dataDir: string },
  first: readonly Buffer[] = [],
): Promise<SecretBox> {
  return new SecretBox([...first, ...(secretKeys ?? [await secretKey(dataDir)])]);
}

/** Parses keys in base64, separated by commas. Returns undefined if one of them does not have 32 bytes. */
export function parseSecretKeys(text: string): readonly Buffer[] | undefined {
  const keys = text.split(',').map((part) => decodeKey(part.trim()));
  return keys.every((key) => key !== undefined) ? keys : undefined;
}

function decodeKey(text: string): Buffer | undefined {
  const key = Buffer.from(text, 'base64');
  const canonical = key.toString('base64').replace(/=+$/, '');
  const given = text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '');
  return key.length === 32 && canonical === given ? key : undefined;
}
