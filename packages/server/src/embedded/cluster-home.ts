import { randomBytes } from 'node:crypto';
import { link, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canReach, directoryForAccount, makeReachable, unprivilegedAccount } from './account.js';
import { EmbeddedUnavailable } from './binaries.js';

/** The file in a data directory that contains the path of its database, if that is elsewhere. */
const pointerName = 'database-directory';
/** The file next to such a database that contains the path of its data directory. */
const ownerName = 'data-directory';

/**
 * Returns the data directory, unless we are root and PostgreSQL's account cannot reach it. In that case, it returns a
 * directory that the account can reach, and stores its path in `database-directory`.
 */
export async function clusterHome(base: string): Promise<string> {
  const remembered = await rememberedHome(base);
  if (remembered) {
    await claim(remembered, base);
    return remembered;
  }
  const account = await unprivilegedAccount(join(base, 'postgres'));
  if (!account || canReach(account, base)) return base;
  const fresh = join(await directoryForAccount(account), `data-${randomBytes(8).toString('hex')}`);
  await makeReachable(fresh, 0o711);
  const home = await rememberFirst(join(base, pointerName), fresh);
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
  if (isUsed && !(await isSameDirectory(owner, base)))
    throw new EmbeddedUnavailable(
      `The data directory ${base} is a copy of ${owner}: ${placed(base, home)}, which the original uses. ` +
        `To use ${base}, copy ${home} as well, and write the path of that copy to ${join(base, pointerName)}.`,
    );
  await writeFile(join(home, ownerName), `${base}\n`);
}

function placed(base: string, home: string): string {
  return `${join(base, pointerName)} says that the database is in ${home}`;
}

/** Returns whether two paths lead to the same directory, for example through a link. */
async function isSameDirectory(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([stat(one), stat(other)]);
  return a.dev === b.dev && a.ino === b.ino;
}

async function textOf(file: string): Promise<string> {
  return (await readFile(file, 'utf8').catch(() => '')).trim();
}
