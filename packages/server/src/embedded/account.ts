import { spawnSync } from 'node:child_process';
import { chmod, mkdir, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The unprivileged account for PostgreSQL, which refuses to run as root. Used only if we are root. */
export interface Account {
  uid: number;
  gid: number;
}

/**
 * Returns the account to run PostgreSQL as, or undefined if we are not root. For an existing database, this is its
 * owner. For a new one, it is the machine's `postgres` account if there is one, or else `nobody`.
 */
export async function unprivilegedAccount(pgdata: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(pgdata).catch(() => undefined);
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  for (const name of ['postgres', 'nobody']) {
    const fields = passwd
      .split('\n')
      .find((line) => line.startsWith(`${name}:`))
      ?.split(':');
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) };
  }
  return { uid: 65_534, gid: 65_534 };
}

/**
 * Returns whether an account can enter a directory. Asks the kernel instead of reading file modes, because access
 * control lists count too.
 */
export function canReach(account: Account, directory: string): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], { ...account, cwd: '/' }).status === 0;
}

/**
 * Returns a directory for our own files that the account can reach. For root, it is where system services keep their
 * data.
 */
export async function directoryForAccount(account: Account | undefined): Promise<string> {
  const place = account ? '/var/lib/posthorn' : join(homedir(), '.cache', 'posthorn');
  await makeReachable(place, 0o755);
  return place;
}

/**
 * Creates a directory with exactly this mode. `mkdir` alone is not enough, because the umask, which may be 077 for
 * root, limits its mode.
 */
export async function makeReachable(directory: string, mode: number): Promise<void> {
  await mkdir(directory, { recursive: true, mode });
  await chmod(directory, mode);
}
