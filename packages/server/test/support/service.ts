import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { readConfig } from '../../src/config.js';
import { newId } from '../../src/domain/identifier.js';
import { defaultScopes, newTokenText, type Token, tokenHash } from '../../src/domain/token.js';
import { type Service, startService } from '../../src/service.js';
import type { Database } from '../../src/storage/database.js';
import { createToken } from '../../src/storage/tokens.js';
import { afterFile } from './cleanup.js';
import { freshDatabase } from './database.js';

export const platformToken = 'platform-token-of-the-tests';

export interface TestService extends Service {
  publicUrl: string;
  platformUrl: string;
  databaseUrl: string;
  dataDir: string;
  /** Moves the service's clock, or stops it at a time. */
  clock: { offsetMs: number; stoppedAtMs?: number | undefined };
}

/**
 * The whole service in this process, on free ports, on a fresh database unless DATABASE_URL is given; stopped after the
 * file. `log` gets its log, one JSON text per line.
 */
export async function startTestService(
  env: Record<string, string> = {},
  log?: { write: (line: string) => void },
): Promise<TestService> {
  const url = env.DATABASE_URL ?? (await freshDatabase()).url;
  const dataDir = await mkdtemp(join(tmpdir(), 'posthorn-service-'));
  afterFile(() => rm(dataDir, { recursive: true, force: true }));
  const clock: TestService['clock'] = { offsetMs: 0 };
  const config = readConfig({
    DATABASE_URL: url,
    POSTHORN_DATA_DIR: dataDir,
    POSTHORN_PORT: '0',
    POSTHORN_PLATFORM_PORT: '0',
    POSTHORN_PLATFORM_TOKEN: platformToken,
    POSTHORN_SECRET_KEY: randomBytes(32).toString('base64'),
    POSTHORN_RATE_LIMIT_READS: '0',
    POSTHORN_RATE_LIMIT_WRITES: '0',
    POSTHORN_EGRESS_ALLOW: '127.0.0.0/8,::1/128',
    ...env,
  });
  const now = () => clock.stoppedAtMs ?? Date.now() + clock.offsetMs;
  const logger = log ? pino({ level: config.logLevel }, log) : pino({ level: 'silent' });
  const service = await startService(config, logger, now);
  afterFile(() => service.stop());
  return {
    ...service,
    publicUrl: service.publicUrl ?? '',
    platformUrl: service.platformUrl ?? '',
    databaseUrl: url,
    dataDir,
    clock,
  };
}

/** Makes a token for `ORG-acme` unless told otherwise and answers its text. */
export async function makeToken(database: Database, token: Partial<Token> = {}): Promise<string> {
  const text = newTokenText();
  const now = new Date();
  await createToken(
    database,
    {
      id: newId('TOK', now.getTime()),
      organization_id: 'ORG-acme',
      workspace_id: null,
      scopes: defaultScopes,
      actor: { type: 'user', id: 'USR-test' },
      created_at: now,
      expires_at: new Date(now.getTime() + 3_600_000),
      revoked_at: null,
      last_used_at: null,
      portal: false,
      ...token,
    },
    tokenHash(text),
  );
  return text;
}
