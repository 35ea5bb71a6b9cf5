import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createSecureContext, TLSSocket } from 'node:tls';
import { allCommands } from 'posthorn';
import { beforeAll, describe, expect, test } from 'vitest';
import { tokenHash } from '../src/access/token.js';
import { findToken } from '../src/access/token-store.js';
import { main } from '../src/cli/main.js';
import { operatorCommands } from '../src/cli/operator-commands.js';
import { allowPauses, type Database } from '../src/postgres/database.js';
import { settings } from '../src/settings/config.js';
import { afterFile } from './support/cleanup.js';
import { event, sendRequest } from './support/client.js';
import { command, RunningCommand } from './support/command.js';
import { dataDirectory, preparedDirectory, serverPid } from './support/data-directory.js';
import { changeSettings, freshDatabase, freshServiceDatabase } from './support/database.js';
import {
  installedProgram,
  Posthorn,
  posthorn,
  posthornOnFullDisk,
  program,
  serve,
} from './support/process.js';
import { recordText } from './support/recording.js';
import { eventually } from './support/tenant.js';

const unreachable = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' };
const commands = allCommands(operatorCommands);
const installed = [process.execPath, installedProgram];
const escapeSequence = '\u001b[';

let database: Database;
let env: { DATABASE_URL: string };
beforeAll(async () => {
  const fresh = await freshServiceDatabase();
  database = fresh.database;
  env = { DATABASE_URL: fresh.url };
});

/** Runs a command that must succeed. Returns what it printed. */
async function printed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await command(args, env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

const record = (...events: Record<string, unknown>[]) => recordText(database, JSON.stringify(events));
const linesOf = (text: string) => text.split('\n').slice(0, -1);

describe.concurrent('help', () => {
  test.each(['', '--help', 'help'])('posthorn %s lists every command', async (argument) => {
    const { code, stdout } = await command(argument === '' ? [] : [argument], {});
    expect(code).toBe(0);
    for (const { name, summary } of commands) {
      expect(stdout).toContain(`  ${name} `);
      expect(stdout.replaceAll(/\s+/g, ' ')).toContain(summary);
    }
  });

  test.each(commands.map((command) => [command.name, command] as const))(
    'posthorn %s --help shows everything in its table',
    async (name, { summary, argument, options, sections }) => {
      const { code, stdout, stderr } = await command([...name.split(' '), '--help'], unreachable);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const said = stdout.replaceAll(/\s+/g, ' ');
      expect(said).toContain(`${summary} Usage: posthorn ${name}`);
      if (argument) expect(said).toContain(`<${argument.name}> ${argument.description}`);
      for (const [option, { value, description }] of Object.entries(options)) {
        expect(said).toContain(`--${option}${value === undefined ? '' : ` ${value}`} ${description}`);
      }
      for (const [variable, meaning] of (sections?.() ?? []).flatMap(({ rows }) => rows))
        expect(said).toContain(`${variable} ${meaning}`);
      expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
    },
  );

  test.each(['listen', 'webhooks get', 'webhooks', 'serve'])(
    'posthorn help %s shows the same as --help',
    async (name) => {
      const { code, stdout, stderr } = await command(['help', ...name.split(' ')], unreachable);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toBe((await command([...name.split(' '), '--help'], unreachable)).stdout);
    },
  );

  test('posthorn serve --help explains every setting', async () => {
    const { stdout } = await command(['serve', '--help'], unreachable);
    const said = stdout.replaceAll(/\s+/g, ' ');
    for (const { env: variable, description } of Object.values(settings))
      expect(said).toContain(`${variable} ${description.replaceAll('`', '').replace(/\[.*/, '')}`);
    expect(said).toContain('See the section Several processes on one machine (docs/scale.md).');
    expect(said).not.toMatch(/`|\]\(/);
  });

  test('posthorn --version prints only the version', async () => {
    expect(await command(['--version'], {})).toEqual({
      ...{ code: 0, stderr: '' },
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });
});

describe.concurrent('usage errors', () => {
  test('makes the process exit with code 2', async () => {
    expect((await posthorn(['serv'], unreachable, installed)).code).toBe(2);
  });

  const organization = ['--organization', 'ORG-1'];
  test.each<[string[], string]>([
    [['serv'], "Unknown command 'serv'. Did you mean serve? Run posthorn --help to list the commands."],
    [['tokens', '--help'], "Unknown command 'tokens'. Did you mean token? Run posthorn --help to list"],
    [
      ['token', 'add', '--help'],
      "Unknown command 'token add'. posthorn token requires a subcommand: token create",
    ],
    [
      ['webhooks', 'rotate-secret', 'WHK-1', '--grace', '48h'],
      "Unknown command 'webhooks rotate-secret'. Did you mean rotate? posthorn webhooks requires a subcommand: ",
    ],
    [['token'], 'posthorn token requires a subcommand: token create, token list, token revoke.'],
    [['serve', '--prot', '80'], "Unknown option '--prot'."],
    [['serve', '--processes', 'two'], "--processes: 'two' is not valid. Expected auto, or a whole number"],
    [['token', 'create'], 'posthorn token create requires --organization ORG-x.'],
    [['token', 'create', '--organization'], "Option '--organization <value>' requires a value."],
    [
      ['token', 'create', '--organization', 'acme'],
      "--organization: 'acme' is not valid. Expected ORG- followed by 1 to 120",
    ],
    [
      ['token', 'create', ...organization, '--workspace', 'ORG-1'],
      "--workspace: 'ORG-1' is not valid. Expected WS- followed by 1 to 120",
    ],
    [
      ['token', 'create', ...organization, '--scopes', 'events:read,all'],
      "--scopes: 'all' is not a scope. Expected events:read,",
    ],
    [
      ['token', 'create', ...organization, '--expires', '90'],
      "--expires: '90' is not valid. Expected a duration",
    ],
    [
      ['token', 'create', ...organization, '--expires', '0d'],
      "--expires: '0d' is not valid. Expected a duration",
    ],
    [
      ['token', 'create', ...organization, '--expires', '999999999d'],
      "--expires: '999999999d' is not valid. Expected a duration",
    ],
    [
      ['token', 'create', ...organization, '--actor-id', 'USR-1'],
      '--actor-type and --actor-id must be used together.',
    ],
    [
      ['token', 'create', ...organization, '--scopes', 'events:read', '--scopes', 'webhooks:read'],
      '--scopes was given more than once. Separate the values with commas: --scopes a,b.',
    ],
    [
      ['listen', '--events', 'a', '--events=b'],
      '--events was given more than once. Separate the values with commas:',
    ],
    [['token', 'revoke'], 'posthorn token revoke requires <id>.'],
    [['token', 'revoke', 'TOK-1', 'TOK-2'], "posthorn token revoke: unexpected argument 'TOK-2'."],
    [['events', 'list', ...organization, '--limit', '0'], "--limit: '0' is not valid. Expected"],
    [
      ['events', 'list', ...organization, '--type', 'invoice.*'],
      "--type: 'invoice.*' is not valid. Expected one",
    ],
    [['events', 'list', ...organization, '--limit', '1001'], "--limit: '1001' is not valid."],
    [['events', 'list', ...organization, '--order', 'up'], "--order: 'up' is not valid. Expected"],
    [
      ['events', 'list', ...organization, '--from', 'monday'],
      "--from: 'monday' is not valid. Expected a date",
    ],
    [
      ['events', 'list', ...organization, '--from', '2026-02-02', '--to', '2026-02-01'],
      '--from must not be later than --to.',
    ],
    [['migrate', 'now'], "posthorn migrate: unexpected argument 'now'."],
    ...[
      ['events', 'list'],
      ['events', 'tail'],
      ['events', 'get', 'EVT-1'],
      ['token', 'list'],
      ['audit', 'list'],
      ['audit', 'verify'],
    ].map((command): [string[], string] => [
      [...command, '--organization', 'demo'],
      "--organization: 'demo' is not valid. Expected ORG- followed by 1 to 120",
    ]),
    ...[
      ['events', 'list', ...organization],
      ['events', 'tail', ...organization],
      ['audit', 'list'],
    ].map((command): [string[], string] => [
      [...command, '--workspace', 'berlin'],
      "--workspace: 'berlin' is not valid. Expected WS- followed by 1 to 120",
    ]),
  ])('posthorn %j is reported with exit code 2, before the database is used', async (args, line) => {
    const { code, stdout, stderr } = await command(args, unreachable);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr.startsWith(line), stderr).toBe(true);
  });
});

describe.concurrent('failure is one line and exit code 1:', () => {
  const expectFailure = async (
    args: string[],
    settingsGiven: Record<string, string>,
    line: RegExp,
    run: typeof command | typeof posthorn = command,
  ) => {
    const { code, stdout, stderr } = await run(args, settingsGiven);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(line);
    expect(linesOf(stderr)).toHaveLength(1);
  };

  test('an unreachable database', () =>
    expectFailure(
      ['token', 'list'],
      unreachable,
      /^Cannot connect to the database: .*DATABASE_URL, check that it is correct\.$/m,
    ));

  test('a database that does not exist', () =>
    expectFailure(
      ['token', 'list'],
      { DATABASE_URL: env.DATABASE_URL.replace(/\/[^/?]+(?=\?|$)/, '/absent') },
      /^Cannot connect to the database: database "absent" does not exist\. Create the database, or correct its name in DATABASE_URL\.$/m,
    ));

  test('a login that the database refuses, also when a node starts', async () => {
    // The start of an ErrorResponse: its type and length, then the fields severity, code and message.
    const fields = Buffer.from('SFATAL\0C28P01\0Mpassword authentication failed for user "u"\0\0');
    const head = Buffer.from('E\0\0\0\0');
    head.writeInt32BE(fields.length + 4, 1);
    const tls = await startServer((socket) => socket.end(Buffer.concat([head, fields])));
    const DATABASE_URL = tls.replace(/\?.*/, '');
    const key = { POSTHORN_SECRET_KEY: randomBytes(32).toString('base64'), POSTHORN_LOG_LEVEL: 'silent' };
    const remedy = 'Correct the user or password in DATABASE_URL.';
    await expectFailure(
      ['serve'],
      { DATABASE_URL, ...key },
      new RegExp(`^Cannot connect to the database: password .* failed for user "u"\\. ${remedy}$`, 'm'),
      posthorn,
    );
    const { stdout } = await command(['doctor', '--json'], { DATABASE_URL, ...key });
    expect(linesOf(stdout).map((line) => JSON.parse(line))).toContainEqual({
      ...{ check: 'database', state: 'problem', remedy },
      detail: 'cannot connect: password authentication failed for user "u"',
    });
  });

  /** Starts a server that responds to the request for TLS. Returns a URL that requires TLS. */
  async function startServer(respond: (socket: Socket) => void): Promise<string> {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => respond(socket));
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    afterFile(async () => void server.close());
    const { port } = server.address() as { port: number };
    return `postgres://u:hunter2@127.0.0.1:${port}/x?sslmode=verify-full`;
  }

  test('a database without TLS if the URL requires it', async () => {
    const DATABASE_URL = await startServer((socket) => socket.end('N'));
    const key = { POSTHORN_SECRET_KEY: randomBytes(32).toString('base64'), POSTHORN_LOG_LEVEL: 'silent' };
    const advice =
      'Turn on TLS in PostgreSQL, or remove the TLS parameters, such as sslmode, from DATABASE_URL.';
    await expectFailure(
      ['serve'],
      { DATABASE_URL, ...key },
      new RegExp(
        `^Cannot connect to the database: The server does not support SSL connections\\. ${advice}$`,
        'm',
      ),
      posthorn,
    );
    const { code, stdout } = await command(['doctor', '--json'], { DATABASE_URL, ...key });
    expect(code).toBe(1);
    expect(linesOf(stdout).map((line) => JSON.parse(line))).toContainEqual({
      ...{ check: 'database', state: 'problem', remedy: advice },
      detail: 'cannot connect: The server does not support SSL connections',
    });
  });

  test('a database whose certificate is from a private authority', async () => {
    const fixture = (name: string) => readFile(new URL(`./fixtures/receiver.${name}.pem`, import.meta.url));
    const secureContext = createSecureContext({ cert: await fixture('cert'), key: await fixture('key') });
    const DATABASE_URL = await startServer((socket) => {
      socket.write('S');
      new TLSSocket(socket, { isServer: true, secureContext }).on('error', () => undefined);
    });
    await expectFailure(
      ['token', 'list'],
      { DATABASE_URL },
      /^Cannot connect to the database: .*certificate.* add sslrootcert=\/path\/to\/ca\.pem to DATABASE_URL\.$/m,
    );
  });

  test('an invalid setting', () =>
    expectFailure(
      ['serve'],
      { POSTHORN_PORT: 'eighty' },
      /^POSTHORN_PORT: "eighty" is not valid\. Expected a port number, /,
    ));

  test('a missing setting', () =>
    expectFailure(
      ['serve'],
      unreachable,
      /^POSTHORN_SECRET_KEY: not set, but required with DATABASE_URL\. Expected /,
    ));

  test('a platform token that cannot be stored, before a listener opens', () =>
    expectFailure(
      ['serve'],
      {
        ...env,
        POSTHORN_SECRET_KEY: randomBytes(32).toString('base64'),
        ...{ POSTHORN_DATA_DIR: '/dev/null/data', POSTHORN_PORT: '0', POSTHORN_PLATFORM_PORT: '0' },
      },
      /^POSTHORN_DATA_DIR: "\/dev\/null\/data" cannot be used: .*mkdir.* POSTHORN_PLATFORM_TOKEN, /,
      posthorn,
    ));

  test('one port for both listeners', () =>
    expectFailure(
      ['serve'],
      {
        ...env,
        POSTHORN_SECRET_KEY: randomBytes(32).toString('base64'),
        ...{ POSTHORN_PORT: '7409', POSTHORN_PLATFORM_PORT: '7409' },
      },
      /^POSTHORN_PORT and POSTHORN_PLATFORM_PORT are both 7409\. Choose another port for one of them\./,
      posthorn,
    ));

  test('an embedded database whose directory cannot be created', () =>
    expectFailure(
      ['migrate'],
      { POSTHORN_DATA_DIR: '/dev/null/data' },
      /^The directory of the embedded database cannot be created: .*mkdir.* POSTHORN_DATA_DIR .* DATABASE_URL\.$/m,
    ));

  test.each(['status', 'token list', 'audit list', 'audit verify', 'events list --organization ORG-1'])(
    '%s, without a database: no command that reads one creates it',
    async (line) => {
      const place = await dataDirectory('data');
      await expectFailure(
        line.split(' '),
        { POSTHORN_DATA_DIR: place },
        new RegExp(
          `^There is no database in ${place}\\. Run the command .* POSTHORN_DATA_DIR or DATABASE_URL\\.$`,
          'm',
        ),
      );
      expect(existsSync(place)).toBe(false);
    },
  );

  test('an unknown token', () =>
    expectFailure(['token', 'revoke', 'TOK-unknown'], env, /^No token has the ID TOK-unknown\./));

  test.each([
    [
      'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3',
      /^The event does not exist, or it is past its retention period\. Run /,
    ],
    [
      'nonsense',
      /^No event has an ID that ends with 'nonsense'\. Run posthorn events list --organization ORG-1 /,
    ],
  ])('an unknown event, %s', (id, expected) =>
    expectFailure(['events', 'get', id, '--organization', 'ORG-1'], env, expected),
  );

  test('a database that is not migrated', async () => {
    const { url } = await freshDatabase(true);
    await expectFailure(
      ['token', 'list'],
      { DATABASE_URL: url },
      /^The database has not been migrated .*posthorn migrate\.$/m,
    );
  });

  test.each(['lock_timeout', 'statement_timeout', 'read timeout'])(
    'a database that is too slow: %s',
    async (limit) => {
      const { url, database: slow } = await freshDatabase();
      if (limit !== 'read timeout') await changeSettings(slow, { [limit]: '100ms' });
      const reason = 'did not respond in time: it is busy, or another session holds a lock';
      await slow.transaction(async (client) => {
        await allowPauses(client);
        await client.query({ text: 'lock table posthorn.schema_files' });
        const [, , { stdout }] = await Promise.all([
          expectFailure(
            ['token', 'list'],
            { DATABASE_URL: url },
            new RegExp(`^The database ${reason}\\. Try again\\.$`, 'm'),
          ),
          expectFailure(
            ['organization', 'move', 'ORG-1', '--to', url],
            env,
            new RegExp(`^The --to database ${reason}\\. Try again\\.$`, 'm'),
          ),
          command(['doctor', '--json'], { DATABASE_URL: url }),
        ]);
        expect(stdout).toContain(`{"check":"database","state":"problem","detail":"${reason}"`);
      });
    },
  );

  test('a database that cannot do it for the moment', async () => {
    const { url, database: failing } = await freshDatabase();
    const expectReason = (reason: string) =>
      expectFailure(
        ['token', 'create', '--organization', 'ORG-1'],
        { DATABASE_URL: url },
        new RegExp(
          `^The database could not run the command: ${reason}\\. Try again\\. .*posthorn doctor\\.$`,
          'm',
        ),
      );
    await failing.query({
      text: `
  create function deadlock() returns trigger language plpgsql as $$
  begin raise exception 'deadlock detected' using errcode = '40P01'; end $$`,
    });
    await failing.query({
      text: 'create trigger deadlock before insert on posthorn.tokens execute function deadlock()',
    });
    await expectReason('deadlock detected');
    await changeSettings(failing, { default_transaction_read_only: 'on' });
    await expectReason('cannot execute .* in a read-only transaction');
  });

  test('a port in use', async () => {
    const taken = createServer();
    await new Promise<void>((listening) => taken.listen(0, '127.0.0.1', listening));
    const { port } = taken.address() as { port: number };
    await expectFailure(
      ['serve'],
      {
        ...env,
        POSTHORN_SECRET_KEY: randomBytes(32).toString('base64'),
        POSTHORN_PORT: String(port),
        POSTHORN_LOG_LEVEL: 'silent',
      },
      new RegExp(
        `^POSTHORN_HOST, POSTHORN_PORT: "127.0.0.1:${port}" cannot be used: another program is listening on it; ` +
          'stop that program, or set POSTHORN_PORT and POSTHORN_PLATFORM_PORT to free ports',
      ),
      posthorn,
    );
    taken.close();
  });
});

test('migrate applies missing files and reports them, then reports that there is nothing to apply', async () => {
  const { url } = await freshDatabase(true);
  const first = await command(['migrate'], { DATABASE_URL: url });
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(linesOf(first.stdout).slice(0, 2)).toEqual([
    'applied baseline/1_events.sql',
    'applied baseline/2_webhooks.sql',
  ]);
  expect(await command(['migrate'], { DATABASE_URL: url })).toEqual({
    code: 0,
    stdout: 'Nothing to apply: the database is up to date.\n',
    stderr: '',
  });
});

test('token create says where it creates a database if there is none', async () => {
  const directory = await dataDirectory('first-token');
  const { code, stdout, stderr } = await command(['token', 'create', '--organization', 'ORG-1'], {
    POSTHORN_DATA_DIR: directory,
  });
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^pht_\S+\n$/)]);
  expect(stderr).toMatch(`There is no database in ${directory}, so this command creates one.`);
});

test('migrate names the embedded database if settings of production are given, but no DATABASE_URL', async () => {
  const directory = await preparedDirectory();
  const production = {
    POSTHORN_DATA_DIR: directory,
    POSTHORN_PLATFORM_TOKEN: 'a-platform-token-of-the-tests',
  };
  const { stdout } = await command(['migrate'], production);
  expect(linesOf(stdout)).toEqual([
    `DATABASE_URL is not set: using the embedded database in ${directory}.`,
    'Nothing to apply: the database is up to date.',
  ]);
  expect(JSON.parse((await command(['migrate', '--json'], production)).stdout)).toEqual({ applied: [] });
});

describe('token', () => {
  test('create prints the token once, and nothing else in a pipe', async () => {
    const stdout = await printed('token', 'create', '--organization', 'ORG-pipe');
    expect(stdout).toMatch(/^pht_[\w-]{43}\n$/);
    const token = (await findToken(database, tokenHash(stdout.trim())))?.token;
    expect(token).toMatchObject({
      organization_id: 'ORG-pipe',
      workspace_id: null,
      scopes: ['events:read', 'webhooks:read', 'webhooks:write'],
      actor: { type: 'token', id: token?.id },
      revoked_at: null,
    });
    expect(token!.expires_at.getTime() - token!.created_at.getTime()).toBe(365 * 86_400_000);
    expect(await printed('token', 'list', '--json')).not.toContain(stdout.trim());
  });

  test('create writes the token to standard error if the output cannot be written', async () => {
    const { code, stderr } = await posthornOnFullDisk(['token', 'create', '--organization', 'ORG-full'], env);
    const [, text = ''] =
      /^Cannot write the output: ENOSPC.* The token TOK-\w+ is (pht_[\w-]{43})\n$/.exec(stderr) ?? [];
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(text) });
    expect((await findToken(database, tokenHash(text)))?.token.organization_id).toBe('ORG-full');
  });

  test('create --json prints one object with token, id, organization_id, scopes and expires_at', async () => {
    const stdout = await printed(
      ...[
        'token',
        'create',
        '--json',
        '--organization',
        'ORG-json',
        '--workspace',
        'WS-1',
        '--scopes',
        'audit:read',
      ],
      ...['--actor-type', 'user', '--actor-id', 'USR-ada', '--expires', '90d'],
    );
    expect(linesOf(stdout)).toHaveLength(1);
    const created = JSON.parse(stdout);
    const token = (await findToken(database, tokenHash(created.token)))?.token;
    expect(created).toMatchObject({
      token: expect.stringMatching(/^pht_/),
      id: token?.id,
      organization_id: 'ORG-json',
      scopes: ['audit:read'],
      expires_at: token?.expires_at.toISOString(),
    });
    expect(token).toMatchObject({ workspace_id: 'WS-1', actor: { type: 'user', id: 'USR-ada' } });
    expect(token!.expires_at.getTime() - token!.created_at.getTime()).toBe(90 * 86_400_000);
  });

  test('list prints one plain line per token in a pipe, newest first, and shows revoked ones', async () => {
    const create = async () =>
      JSON.parse(await printed('token', 'create', '--organization', 'ORG-list', '--json')).id as string;
    const [older, newer] = [await create(), await create()];
    expect(await printed('token', 'revoke', older)).toBe(`${older} is revoked.\n`);

    const lines = linesOf(await printed('token', 'list', '--organization', 'ORG-list')).map((line) =>
      line.split('\t'),
    );
    expect(lines.map(([id]) => id)).toEqual([newer, older]);
    expect(lines.map((cells) => cells.at(-1))).toEqual(['usable', 'revoked']);
    expect(lines[0]?.slice(1, 5)).toEqual([
      'ORG-list',
      '-',
      'events:read,webhooks:read,webhooks:write',
      `token ${newer}`,
    ]);

    const listed = JSON.parse(await printed('token', 'list', '--organization', 'ORG-list', '--json'));
    expect(listed.map(({ id }: { id: string }) => id)).toEqual([newer, older]);
    expect(Object.keys(listed[0])).not.toContain('hash');
  });

  test('list shows the newest tokens up to the limit, and says that there are more', async () => {
    const create = async () =>
      JSON.parse(await printed('token', 'create', '--organization', 'ORG-many', '--json')).id as string;
    const [, second, third] = [await create(), await create(), await create()];
    const line = ['token', 'list', '--organization', 'ORG-many', '--limit'];
    const { stdout, stderr } = await command([...line, '2'], env);
    expect(linesOf(stdout).map((row) => row.split('\t')[0])).toEqual([third, second]);
    expect(stderr).toContain('There are more tokens. Raise --limit or use --organization');
    expect((await command([...line, '3'], env)).stderr).toBe('');
    await database.query({
      text: `
  insert into posthorn.tokens
  select r.*
    from generate_series(1, 30) n, posthorn.tokens t,
         jsonb_populate_record(t, jsonb_build_object('id', left(t.id, 27) || 'x' || lpad(n::text, 2, '0'),
                                                     'hash', '\\x' || md5(n::text))) r
   where t.id = $1`,
      values: [third],
    });
    const all = await command([...line.slice(0, -1), '--json'], env);
    expect([JSON.parse(all.stdout).length, all.stderr]).toEqual([33, '']);
  });

  test('revoke can be repeated and keeps the first time', async () => {
    const { id } = JSON.parse(await printed('token', 'create', '--organization', 'ORG-twice', '--json'));
    const first = JSON.parse(await printed('token', 'revoke', id, '--json'));
    const again = JSON.parse(await printed('token', 'revoke', id, '--json'));
    expect(first.revoked_at).toMatch(/^\d{4}-.*Z$/);
    expect(again).toEqual(first);
  });
});

describe('events', () => {
  const payload = '{"z":1.10,"a":12345678901234567890,"l":[1e400,{}]}';
  let ids: string[];
  beforeAll(async () => {
    const subject = (id: string) => ({ type: 'invoice', id });
    const batch = [
      event({ organization_id: 'ORG-read', workspace_id: null, subject: subject('INV-1') }),
      event({ organization_id: 'ORG-read', subject: subject('INV-2'), type: 'invoice.finalized' }),
      event({ organization_id: 'ORG-read', subject: subject('INV-3'), payload: 'PAYLOAD' }),
    ];
    const recorded = await recordText(database, JSON.stringify(batch).replace('"PAYLOAD"', payload));
    ids = recorded.map(({ id }) => id);
  });
  const list = async (...args: string[]) =>
    linesOf(await printed('events', 'list', '--organization', 'ORG-read', ...args));

  test('list prints plain lines in a pipe, newest first', async () => {
    const lines = (await list()).map((line) => line.split('\t'));
    expect(lines.map((cells) => cells.slice(1))).toEqual([
      ['invoice.paid', 'INV-3', 'USR-ada', 'WS-1', ids[2]],
      ['invoice.finalized', 'INV-2', 'USR-ada', 'WS-1', ids[1]],
      ['invoice.paid', 'INV-1', 'USR-ada', '-', ids[0]],
    ]);
    for (const [time] of lines) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test('list --json prints one event per line, with its payload as recorded', async () => {
    const lines = await list('--json', '--order', 'asc');
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(ids);
    expect(lines[2]).toContain(`"payload":${payload}`);
  });

  test.each([
    [['--type', 'invoice.finalized'], [1]],
    [['--subject', 'INV-1'], [0]],
    [
      ['--workspace', 'WS-1', '--subject-type', 'invoice', '--actor', 'USR-ada'],
      [2, 1],
    ],
    [['--from', '2001-01-01', '--to', '2001-12-31'], []],
    [['--from', '3650d', '--to', '3649d'], []],
    [['--limit', '1', '--order', 'asc'], [0]],
  ])('list %j shows only matching events', async (args, expected) => {
    const shown = (await list('--json', ...args)).map((line) => JSON.parse(line).id);
    expect(shown).toEqual(expected.map((index) => ids[index]));
  });

  test('list exits quietly if the pipe is closed early', async () => {
    await record(...Array.from({ length: 1_000 }, () => event({ organization_id: 'ORG-much' })));
    const line = '"$0" "$1" events list --organization ORG-much --limit 1000 --json | head -n 1';
    const { PATH = '' } = process.env;
    const { stdout, stderr } = spawnSync('sh', ['-c', line, process.execPath, program], {
      env: { PATH, ...env },
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(linesOf(stdout)).toHaveLength(1);
  });

  test('list goes on after a page that large events fill', async () => {
    const recorded: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      const payload = { note: 'x'.repeat(6_000_000) };
      const large = event({ organization_id: 'ORG-large', type: 'task.created', payload });
      recorded.push(...(await record(large)).map(({ id }) => id));
    }
    const args = ['events', 'list', '--organization', 'ORG-large', '--limit'];
    const lines = linesOf(await printed(...args, '4', '--json', '--order', 'asc'));
    expect(lines.map((line) => /EVT-\w+/.exec(line)?.[0])).toEqual(recorded);
    const { stdout } = await command([...args, '4'], env, 120);
    const newest = recorded.toReversed();
    expect(stdout.match(/EVT-\w+/g)).toEqual(newest);
    expect(stdout).not.toContain('There are more events.');
  });

  test('list says on a terminal that there are more events than the limit', async () => {
    const args = ['events', 'list', '--organization', 'ORG-read', '--limit'];
    expect((await command([...args, '2'], env, 120)).stdout).toContain('There are more events.');
    expect((await command([...args, '3'], env, 120)).stdout).not.toContain('There are more events.');
  });

  test('get finds an event by the ending of its ID, and refuses an ending that several have', async () => {
    const organization = ['--organization', 'ORG-endings'];
    const events = Array.from({ length: 33 }, () => event({ organization_id: 'ORG-endings' }));
    const recorded = (await record(...events)).map(({ id }) => id);
    const last = recorded[32]!;
    for (const text of [last.slice(-6).toLowerCase(), `…${last.slice(-6)}`, last.toLowerCase()])
      expect(JSON.parse(await printed('events', 'get', text, ...organization, '--json')).id).toBe(last);
    // The IDs of one recording are consecutive, so some of 33 have the same last character.
    const ambiguous = await command(['events', 'get', last.slice(-1), ...organization], env);
    expect(ambiguous.code).toBe(1);
    expect(ambiguous.stderr).toMatch(
      /^\d events have an ID that ends with '.': EVT-\w+, EVT-.*; posthorn events list --organization ORG-endings /,
    );
    const elsewhere = await command(['events', 'get', last.slice(-6), '--organization', 'ORG-none'], env);
    expect(elsewhere).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^No event has an ID that ends/),
    });
  });

  test('get formats the event without changing a number in it', async () => {
    const stdout = await printed('events', 'get', ids[2]!, '--organization', 'ORG-read');
    expect(stdout).toContain(`{\n  "id": "${ids[2]}",\n  "type": "invoice.paid",`);
    expect(stdout.replaceAll(/\s/g, '')).toContain(`"payload":${payload}`);
  });

  test('get --json prints one line', async () => {
    const lines = linesOf(await printed('events', 'get', ids[2]!, '--organization', 'ORG-read', '--json'));
    expect(lines).toEqual(await list('--json', '--limit', '1'));
  });

  test('get does not show an event of another organization', async () => {
    expect((await command(['events', 'get', ids[2]!, '--organization', 'ORG-other'], env)).code).toBe(1);
  });

  const tailArgs = (organization: string) => ['events', 'tail', '--organization', organization];

  /** Returns a command that follows an organization once it does, which a first event shows. */
  async function following<Tail extends { until: (pattern: RegExp) => Promise<unknown> }>(
    organization: string,
    following: Tail,
  ): Promise<Tail> {
    let shown = false;
    const first = following.until(/RUN-first/).then(() => {
      shown = true;
    });
    while (!shown) {
      await record(event({ organization_id: organization, subject: { type: 'run', id: 'RUN-first' } }));
      await Promise.race([first, delay(50)]);
    }
    return following;
  }
  const recordRuns = (organization: string, ...runs: string[]) =>
    record(...runs.map((id) => event({ organization_id: organization, subject: { type: 'run', id } })));

  test('tail --json prints each new event of the organization once, in order, until it is stopped', async () => {
    const args = [...tailArgs('ORG-tail'), '--json', '--subject-type', 'run'];
    const tail = await following('ORG-tail', new Posthorn(args, env));
    await recordRuns('ORG-tail', 'RUN-a', 'RUN-b');
    await recordRuns('ORG-elsewhere', 'RUN-x');
    await recordRuns('ORG-tail', 'RUN-last');
    await tail.until(/RUN-last/);
    tail.kill('SIGTERM');
    const { code, stdout, stderr } = await tail.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const runs = linesOf(stdout).map((line) => JSON.parse(line).subject.id);
    expect(runs.filter((id) => id !== 'RUN-first')).toEqual(['RUN-a', 'RUN-b', 'RUN-last']);
  });

  test('tail prints readable lines, without colors in a pipe', async () => {
    const started = new RunningCommand((streams) => main(tailArgs('ORG-follow'), env, streams));
    const tail = await following('ORG-follow', started);
    const [recorded] = await recordRuns('ORG-follow', 'RUN-last');
    await tail.until(/RUN-last.*\n/);
    const { code, stdout } = await tail.stop();
    expect(code).toBe(0);
    const time = recorded!.created_at.toISOString();
    expect(linesOf(stdout).at(-1)).toMatch(
      new RegExp(`^${time}  invoice\\.paid +RUN-last by USR-ada in WS-1  ${recorded!.id}$`),
    );
  });
});

describe('on a terminal', () => {
  test.runIf(process.platform === 'linux' && existsSync('/usr/bin/script'))(
    'lists are aligned tables under colored headings',
    () => {
      const { PATH = '' } = process.env;
      const line = `stty cols 0; '${process.execPath}' '${program}' token list`;
      const { stdout } = spawnSync('/usr/bin/script', ['-qec', line, '/dev/null'], {
        env: { PATH, TERM: 'xterm', ...env },
        encoding: 'utf8',
      });
      const [heading = '', ...rows] = stdout.replaceAll('\r', '').trim().split('\n');
      expect(heading).toContain(`${escapeSequence}1m`);
      expect(heading).toMatch(
        /id +organization +workspace +scopes +actor +expires \(UTC\) +last used \(UTC\) +state/,
      );
      const column = heading.replace(`${escapeSequence}1m`, '').indexOf('organization');
      expect(rows.length).toBeGreaterThan(0);
      for (const row of rows) expect(row.slice(column)).toMatch(/^ORG-/);
    },
  );

  test.each(['token list', 'audit list', 'events list --organization ORG-read'])(
    '%s fits 100 columns with complete ids, and names hidden columns',
    async (line) => {
      const { stdout } = await command(line.split(' '), { ...env, NO_COLOR: '1' }, 100);
      const lines = linesOf(stdout);
      expect(lines.length).toBeGreaterThan(2);
      for (const line of lines) {
        expect(line.length, line).toBeLessThanOrEqual(100);
        for (const [id] of line.matchAll(/\b(?:TOK|EVT|AUD)-\S*/g)) expect(id).toMatch(/^[A-Z]{3}-\w{26}$/);
      }
      const [, left = ''] =
        /^Hidden columns: (.*)\. Use --json to see everything\.$/.exec(lines.at(-1)!) ?? [];
      for (const title of left.split(', ')) expect(lines[0]).not.toContain(title === '' ? '-' : title);
    },
  );

  test('NO_COLOR turns the colors off', async () => {
    const shown = async (extra: Record<string, string>) =>
      (await command(['token', 'list'], { ...env, ...extra }, 100)).stdout;
    expect(await shown({})).toContain(escapeSequence);
    expect(await shown({ NO_COLOR: '1' })).not.toContain(escapeSequence);
  });
});

describe('serve', () => {
  describe('with a database', () => {
    let directory: string;
    let service: Awaited<ReturnType<typeof serve>>;
    beforeAll(async () => {
      directory = await dataDirectory('data');
      const settingsGiven = {
        ...{ ...env, POSTHORN_SECRET_KEY: randomBytes(32).toString('base64'), POSTHORN_DATA_DIR: directory },
        ...{ POSTHORN_PLATFORM_TOKEN: 'platform-token-of-the-tests', POSTHORN_RATE_LIMT_READS: '5' },
      };
      service = await serve(settingsGiven, installed);
    });

    test('with port 0 prints the actual ports; SIGTERM stops it with exit code 0', async () => {
      for (const url of [service.publicUrl, service.platformUrl]) {
        expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/);
        expect((await sendRequest(`${url}/readyz`)).status).toBe(200);
      }
      service.process.kill('SIGTERM');
      const { code, stdout, stderr } = await service.process.ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      // With a database of one's own there is no demo, and nothing embedded.
      expect(stdout).not.toMatch(/demo/i);
      expect(existsSync(directory)).toBe(false);
    });

    test('a misspelt setting is reported in one line, and the service starts anyway', async () => {
      const { stdout } = await service.process.ended;
      const warnings = linesOf(stdout).filter((line) => line.includes('POSTHORN_RATE_LIMT_READS'));
      expect(warnings.map((line) => JSON.parse(line))).toMatchObject([
        {
          level: 'warn',
          msg: 'Ignoring POSTHORN_RATE_LIMT_READS: there is no such setting. Did you mean POSTHORN_RATE_LIMIT_READS?',
        },
      ]);
    });
  });

  test('SIGTERM stops it with exit code 0 while it waits for another node to migrate', async () => {
    const migrating = "hashtextextended('posthorn.migrations', 0)";
    await database.transaction(async (client) => {
      await allowPauses(client);
      await client.query({ text: `select pg_advisory_xact_lock(${migrating})` });
      const waiting = new Posthorn(['serve'], {
        ...{ ...env, POSTHORN_SECRET_KEY: randomBytes(32).toString('base64') },
        ...{ POSTHORN_PLATFORM_TOKEN: 'platform-token-of-the-tests' },
      });
      const waits = async () => {
        const text = `
  select from pg_locks l join pg_database d on d.oid = l.database
   where d.datname = current_database() and l.locktype = 'advisory' and not l.granted`;
        return (await database.query({ text })).rowCount;
      };
      await eventually(waits, (count) => count === 1);
      waiting.kill('SIGTERM');
      const stdout = expect.stringContaining('stopped before startup was complete');
      expect(await waiting.ended).toMatchObject({ code: 0, stdout, stderr: '' });
    }, true);
  });

  describe('with the embedded database', () => {
    let directory: string;
    let service: Posthorn;
    beforeAll(async () => {
      directory = await preparedDirectory();
    });

    test('shows a new user where the token is and a working command, the same at every start; SIGINT stops it with exit code 0', async () => {
      const first = await start();
      service.kill('SIGINT');
      const { code, stdout, stderr } = await service.ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      // This output is not a terminal, so it may be stored.
      expect(stdout).not.toContain(first.token);
      expect(await start()).toEqual(first);
      expect(existsSync(join(directory, 'platform-token'))).toBe(true);
    });

    /** Starts a service and returns what it offers to a new user. */
    async function start(): Promise<{ token: string; events: string[] }> {
      const { process, publicUrl } = await serve({ POSTHORN_DATA_DIR: directory });
      service = process;
      const [, file = '', url = ''] = await service.until(
        /curl -H "Authorization: Bearer \$\(cat (\S+)\)" '(\S+)'\n/,
      );
      const token = (await readFile(file, 'utf8')).trim();
      const { status, body } = await sendRequest(url, { token });
      expect(status).toBe(200);
      expect(url.startsWith(`${publicUrl}/v1/events?`)).toBe(true);
      const [, link] = await service.until(/Console +(\S+)\n/);
      expect(link).toBe(`${publicUrl}/console`);
      expect(body.data).toHaveLength(3);
      return { token, events: body.data.map(({ id }: { id: string }) => id) };
    }

    test('closing the terminal stops the database, too: SIGHUP stops it with exit code 0', async () => {
      expect(await serverPid(directory)).toBeDefined();
      service.kill('SIGHUP');
      expect(await service.ended).toMatchObject({ code: 0, stderr: '' });
      expect(await serverPid(directory)).toBeUndefined();
    });
  });
});
