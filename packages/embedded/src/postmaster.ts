import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** What a running PostgreSQL writes about itself to its data directory. */
export interface Postmaster {
  pid: number;
  port: number;
  socketDirectory: string;
  ready: boolean;
}

/** How long `postmaster.pid` may be empty: a starting server creates it and fills it a moment later. */
const emptyMsMax = 1_000;

/** Returns the running server of this data directory, or undefined. Removes the file that a dead server left behind. */
export async function findPostmaster(pgdata: string): Promise<Postmaster | undefined> {
  const file = join(pgdata, 'postmaster.pid');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 1) {
    const made = await stat(file).catch(() => undefined);
    // A power failure left the empty file behind. PostgreSQL cannot know that and would refuse to start.
    if (made && Date.now() - made.mtimeMs > emptyMsMax) await rm(file, { force: true });
    return undefined;
  }
  if (!isAlive(pid) || !isPostmasterOf(pid, pgdata)) {
    // After a crash another process may have this process ID, and PostgreSQL would refuse to start.
    await rm(file, { force: true });
    return undefined;
  }
  return {
    pid,
    port: Number(lines[3]),
    socketDirectory: lines[4] ?? '',
    ready: (lines[7] ?? '').startsWith('ready'),
  };
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function isPostmasterOf(pid: number, pgdata: string): boolean {
  if (process.platform === 'win32') return true;
  try {
    const [, name = '', state = ''] = /\((.*)\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return state !== 'Z' && name.includes('postgres') && worksIn(pid, pgdata);
  } catch {
    const ps = spawnSync('ps', ['-o', 'comm=', '-p', String(pid)], { encoding: 'utf8' });
    // Without /proc and ps, rely on PostgreSQL's own check of the file.
    return ps.status !== 0 || ps.stdout.includes('postgres');
  }
}

/** Returns whether a process runs in the data directory. A server of another cluster, or its backend, does not. */
function worksIn(pid: number, pgdata: string): boolean {
  try {
    const [there, here] = [statSync(`/proc/${pid}/cwd`), statSync(pgdata)];
    return there.dev === here.dev && there.ino === here.ino;
  } catch {
    // In a container, even root may be unable to inspect other processes. In that case, treat any PostgreSQL as ours.
    return true;
  }
}
