import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unprivilegedAccount } from '../../../embedded/src/account.js';
import { afterFile } from './cleanup.js';
import { freePort } from './snippets.js';

const program = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/opt/homebrew/bin/pgbouncer'].find(existsSync);

/** Whether PgBouncer is installed. Says so if not, because a test is left out then. */
export function hasPgBouncer(): boolean {
  if (!program) console.warn('pgbouncer is not installed (Debian: pgbouncer): nothing runs through a pooler');
  return program !== undefined;
}

/**
 * Starts PgBouncer in transaction mode in front of the PostgreSQL of a URL, and returns the URL of the same database
 * through it. With three connections for all clients, statements of a client run on all of them.
 */
export async function startPgBouncer(databaseUrl: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'posthorn-pooler-'));
  const account = await unprivilegedAccount(join(directory, 'none'));
  const url = new URL(databaseUrl.replace('@/', '@socket/'));
  const host = url.searchParams.get('host') ?? url.hostname;
  const password = url.password && ` password=${decodeURIComponent(url.password)}`;
  const port = await freePort();
  const file = join(directory, 'pgbouncer.ini');
  await writeFile(join(directory, 'users'), `"${url.username}" ""\n`);
  await writeFile(
    file,
    `[databases]
* = host=${host} port=${url.port || 5432} user=${url.username}${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(directory, 'users')}
pool_mode = transaction
server_round_robin = 1
default_pool_size = 3
`,
  );
  if (account) {
    for (const path of [directory, file, join(directory, 'users')])
      await chown(path, account.uid, account.gid);
  }
  const pooler = spawn(program ?? '', [file], { ...account, stdio: ['ignore', 'ignore', 'pipe'] });
  afterFile(async () => {
    await stop(pooler);
    await rm(directory, { recursive: true, force: true });
  });
  await listening(pooler);
  return `postgres://${url.username}@127.0.0.1:${port}${url.pathname}`;
}

/** PgBouncer logs to the standard error output. */
async function listening(pooler: ChildProcess): Promise<void> {
  let text = '';
  for await (const chunk of pooler.stderr ?? []) {
    text += chunk;
    if (/process up/.test(text)) {
      pooler.stderr?.resume();
      return;
    }
  }
  throw new Error(`PgBouncer ended: ${text}`);
}

async function stop(pooler: ChildProcess): Promise<void> {
  if (pooler.exitCode !== null || pooler.signalCode !== null) return;
  pooler.kill('SIGTERM');
  await once(pooler, 'exit');
}
