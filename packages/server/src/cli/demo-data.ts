import { readFile } from 'node:fs/promises';
import { defaultLifetimeMs, newToken, newTokenText, scopes, tokenHash } from '../access/token.js';
import { createToken, findToken } from '../access/token-store.js';
import { operatorOrigin } from '../audit/audit-store.js';
import type { NewEvent } from '../events/event.js';
import { batchOf, recordBatch } from '../events/recording-store.js';
import type { Database } from '../postgres/database.js';
import type { Config } from '../settings/config.js';
import { storedSecret } from '../settings/keys.js';

export const demoOrganization = 'ORG-demo';
/** The name of the file in the data directory. */
export const demoTokenFile = 'demo-token';
const demoEvents = new URL('../../assets/demo-events.json', import.meta.url);

/** Creates the demo token and the demo events once, in a new embedded database. Returns the token. */
export async function prepareDemo(
  database: Database,
  { dataDir, cell }: Pick<Config, 'dataDir' | 'cell'>,
  nowMs: number,
): Promise<string> {
  const text = await storedSecret(dataDir, demoTokenFile, () => newTokenText(cell));
  const hash = tokenHash(text);
  if (await findToken(database, hash)) return text;
  const token = newToken(
    {
      organization_id: demoOrganization,
      workspace_id: null,
      scopes,
      portal: false,
      actor: { type: 'user', id: 'USR-demo' },
      lifetimeMs: defaultLifetimeMs,
    },
    nowMs,
  );
  await createToken(database, token, hash, operatorOrigin());
  // A morning at a small company, oldest first.
  const events: NewEvent[] = JSON.parse(await readFile(demoEvents, 'utf8'));
  await recordBatch(database, batchOf(events));
  return text;
}
