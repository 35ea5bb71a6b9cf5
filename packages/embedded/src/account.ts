import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Explains why the embedded database cannot be used and what to do instead. */
export class EmbeddedUnavailable extends Error {
  override name = 'EmbeddedUnavailable';
}

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
function canReach(account: Account, directory: string): boolean {
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

/** The file in a data directory that contains the path of its database, if that is elsewhere. */
const pointerName = 'database-directory';
/** The file next to such a database that contains the path of its data directory. */
const ownerName = 'data-directory';

/**
 * Returns the data directory, unless we are root and PostgreSQL's account cannot reach it. In that case, it returns a
 * directory that the account can reach, and stores its path in `database-directory`.
 */
export async function clusterHome(base: string): Promise<string> {
  let home = await rememberedHome(base);
  if (!home) {
    const account = await unprivilegedAccount(join(base, 'postgres'));
    if (!account || canReach(account, base)) return base;
    home = join(await directoryForAccount(account), `data-${randomBytes(8).toString('hex')}`);
    await makeReachable(home, 0o711);
    home = await rememberFirst(join(base, pointerName), home);
  }
  await claim(home, base);
  return home;
}

/** Returns the path in `database-directory`, or an empty string if there is none. Throws if the path does not exist. */
export async function rememberedHome(base: string): Promise<string> {
  const home = await textOf(join(base, pointerName));
  if (home && !(await stat(home).catch(() => undefined)))
    throw new EmbeddedUnavailable(
      `${placed(base, home)}, but that directory does not exist. Restore it, or write its new path to the file.`,
    );
  return home;
}

/** Stores the path of a new home, unless another process has already stored one. Returns the path that is stored. */
async function rememberFirst(pointer: string, home: string): Promise<string> {
  const draft = `${pointer}.draft-${process.pid}`;
  await writeFile(draft, `${home}\n`);
  try {
    // Unlike a write, a link never exposes an empty file, and it fails if the file already exists.
    await link(draft, pointer);
    return home;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    await rm(home, { recursive: true });
    return (await readFile(pointer, 'utf8')).trim();
  } finally {
    await rm(draft);
  }
}

/**
 * Assigns the database in `home` to this data directory. Refuses a copy of the data directory, which would otherwise
 * use the database of the original. A data directory that was moved keeps its database.
 */
async function claim(home: string, base: string): Promise<void> {
  const owner = await textOf(join(home, ownerName));
  if (owner === base) return;
  const isUsed = owner !== '' && (await textOf(join(owner, pointerName))) === home;
  if (isUsed && (await realpath(owner)) !== (await realpath(base)))
    throw new EmbeddedUnavailable(
      `The data directory ${base} is a copy of ${owner}: ${placed(base, home)}, which the original uses. ` +
        `To use ${base}, copy ${home} as well, and write the path of that copy to ${join(base, pointerName)}.`,
    );
  await writeFile(join(home, ownerName), `${base}\n`);
}

function placed(base: string, home: string): string {
  return `${join(base, pointerName)} says that the database is in ${home}`;
}

async function textOf(file: string): Promise<string> {
  return (await readFile(file, 'utf8').catch(() => '')).trim();
}
