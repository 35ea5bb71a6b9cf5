import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { inject, vi } from 'vitest';
import { defaultScopes, newTokenText, type Token, tokenHash } from '../../src/access/token.js';
import { insertToken } from '../../src/access/token-store.js';
import { limits } from '../../src/engine/limits.js';
import type { Database } from '../../src/postgres/database.js';
import { type Service, startService } from '../../src/service.js';
import { readConfig } from '../../src/settings/config.js';
import { newId } from '../../src/values/identifier.js';
import { afterFile } from './cleanup.js';
import { createDatabase, freshServiceDatabase } from './database.js';

export const platformToken = 'platform-token-of-the-tests';

export interface TestService extends Service {
  publicUrl: string;
  platformUrl: string;
  databaseUrl: string;
  dataDir: string;
  /** Moves the service's clock, or stops it at a time. */
  clock: { offsetMs: number; stoppedAtMs?: number | undefined };
}

interface Log {
  write: (line: string) => void;
}

/**
 * Starts the whole service in this process, on free ports, on a fresh database unless DATABASE_URL is given. Stops it
 * after the file. `log` gets its log, one JSON text per line.
 */
export async function startTestService(env: Record<string, string> = {}, log?: Log): Promise<TestService> {
  const DATABASE_URL = env.DATABASE_URL ?? (await freshServiceDatabase()).url;
  const dataDir = await mkdtemp(join(tmpdir(), 'posthorn-service-'));
  afterFile(() => rm(dataDir, { recursive: true, force: true }));
  const service = await start(dataDir, { ...env, DATABASE_URL }, log);
  afterFile(() => service.stop());
  return service;
}

let shared: Promise<Shared> | undefined;

/**
 * Returns the service that the files of a worker share: starting one takes longer than most tests. Tests on it use
 * their own organizations, do not count the rows of a whole table and do not move the clock. The service ends with the
 * worker. The global teardown removes its database and its directory.
 */
export async function sharedService(): Promise<TestService> {
  shared ??= startShared();
  return (await shared).service;
}

/** Ends the shared service. Call this before faking timers: a timer that the service sets meanwhile never fires. */
export async function endSharedService(): Promise<void> {
  const running = await shared;
  shared = undefined;
  await running?.end();
}

interface Shared {
  service: TestService;
  end: () => Promise<void>;
}

async function startShared(): Promise<Shared> {
  const dataDir = await mkdtemp(join(inject('runDirectory'), 'service-'));
  const { tallyEveryMs } = limits;
  // Tests need not wait for statistics. The service reads the limit once, when it starts.
  Object.assign(limits, { tallyEveryMs: 200 });
  const service = await start(dataDir, {
    DATABASE_URL: await createDatabase('partitioned'),
    // Longer than the run: a failed delivery stays as the test left it.
    POSTHORN_RETRY_SCHEDULE: '1h,2h,3h,4h',
  });
  Object.assign(limits, { tallyEveryMs });
  const { useFakeTimers } = vi;
  vi.useFakeTimers = () => {
    throw new Error('the shared service needs real timers; call endSharedService() first');
  };
  const end = () => {
    vi.useFakeTimers = useFakeTimers;
    return service.stop();
  };
  // Whoever moves the clock or stops the service would surprise the files that come later.
  const clock = Object.freeze(service.clock);
  const stop = () => Promise.reject(new Error('other files use this service; start another one to stop it'));
  return { service: { ...service, clock, stop }, end };
}

async function start(dataDir: string, env: Record<string, string>, log?: Log): Promise<TestService> {
  const clock: TestService['clock'] = { offsetMs: 0 };
  const config = readConfig({
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
  const service = await startService(config, logger, now, env);
  return {
    ...service,
    publicUrl: service.publicUrl ?? '',
    platformUrl: service.platformUrl ?? '',
    databaseUrl: env.DATABASE_URL ?? '',
    dataDir,
    clock,
  };
}

/** Makes a token, for `ORG-acme` by default, and returns its text. */
export async function makeToken(database: Database, token: Partial<Token> = {}): Promise<string> {
  const text = newTokenText();
  const now = new Date();
  await insertToken(
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
