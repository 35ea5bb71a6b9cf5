import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { beforeAll, describe, expect, test } from 'vitest';
import { writeAudit } from '../../src/audit/audit-store.js';
import { auditEntry, auditRows, tamper } from '../support/audit.js';
import { command } from '../support/command.js';
import { freshDatabase } from '../support/database.js';
import { program } from '../support/process.js';

const { database, url } = await freshDatabase();
const env = { DATABASE_URL: url };

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');
async function printed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await command(args, env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}
const write = (organization_id: string, ...actions: string[]) =>
  writeAudit(
    database,
    actions.map((action) => auditEntry({ organization_id, action, workspace_id: 'WS-1' })),
  );
const headOf = async (organization: string) => {
  const { rows } = await database.query<{ head: string }>({
    text: `select encode(hash, 'hex') as head from posthorn.audit_chains where organization_id = $1`,
    values: [organization],
  });
  return rows[0]?.head;
};

describe('tokens created on the command line', () => {
  const operator = { type: 'operator', id: userInfo().username };

  test('leave an entry when they are created and first revoked', async () => {
    const args = ['--organization', 'ORG-token', '--workspace', 'WS-1', '--scopes', 'audit:read', '--json'];
    const made = JSON.parse(await printed('token', 'create', ...args));
    const revoked = JSON.parse(await printed('token', 'revoke', made.id, '--json'));
    await printed('token', 'revoke', made.id);
    const usual = {
      workspace_id: 'WS-1',
      actor: operator,
      target: { type: 'token', id: made.id },
      request_id: null,
      source_address: null,
    };
    const rows = await auditRows(database, 'ORG-token');
    expect(rows).toMatchObject([
      { ...usual, action: 'token.created' },
      { ...usual, action: 'token.revoked' },
    ]);
    expect(rows.map(({ changes }) => changes)).toEqual([
      {
        scopes: { from: null, to: ['audit:read'] },
        actor: { from: null, to: made.actor },
        expires_at: { from: null, to: made.expires_at },
      },
      { revoked_at: { from: null, to: revoked.revoked_at } },
    ]);
    expect(JSON.stringify(rows)).not.toContain(made.token);
  });

  test('leave no entry if nothing was created or revoked', async () => {
    const before = await database.query({ text: 'select from posthorn.audit_log' });
    expect((await command(['token', 'revoke', 'TOK-nobody'], env)).code).toBe(1);
    expect((await command(['token', 'create', '--organization', 'acme'], env)).code).toBe(2);
    const after = await database.query({ text: 'select from posthorn.audit_log' });
    expect(after.rowCount).toBe(before.rowCount);
  });
});

describe('list', () => {
  beforeAll(async () => {
    await write('ORG-read', 'webhook.created', 'webhook.updated');
    await database.query({ text: 'select pg_sleep(0.002)' });
    await write('ORG-later', 'webhook.deleted');
  });
  const list = async (...args: string[]) => linesOf(await printed('audit', 'list', ...args));

  test('prints plain lines in a pipe, newest first', async () => {
    const lines = (await list('--organization', 'ORG-read')).map((line) => line.split('\t'));
    const ids = (await auditRows(database, 'ORG-read')).map(({ id }) => id).reverse();
    expect(lines.map((cells) => cells.slice(1))).toEqual([
      ['webhook.updated', 'WHK-1', 'user USR-ada', 'ORG-read', 'WS-1', '192.0.2.1', ids[0]],
      ['webhook.created', 'WHK-1', 'user USR-ada', 'ORG-read', 'WS-1', '192.0.2.1', ids[1]],
    ]);
    for (const [time] of lines) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test('shows all organizations if none is given', async () => {
    const newest = (await list('--json', '--limit', '2')).map((line) => JSON.parse(line));
    expect(newest).toMatchObject([
      { organization_id: 'ORG-later', action: 'webhook.deleted' },
      { organization_id: 'ORG-read', action: 'webhook.updated' },
    ]);
  });

  test('--json prints one entry of the API per line', async () => {
    const [line = ''] = await list('--organization', 'ORG-later', '--json');
    expect(Object.keys(JSON.parse(line))).toEqual([
      ...['id', 'organization_id', 'workspace_id', 'actor', 'action', 'target'],
      ...['request_id', 'source_address', 'changes', 'created_at'],
    ]);
  });

  test.each([
    [['--action', 'webhook.created'], ['webhook.created']],
    [['--actor', 'USR-nobody'], []],
    [
      ['--target', 'WHK-1', '--workspace', 'WS-1', '--actor', 'USR-ada', '--from', '2020-01-01'],
      ['webhook.updated', 'webhook.created'],
    ],
    [['--to', '2001-12-31'], []],
    [['--limit', '1'], ['webhook.updated']],
  ])('%j shows only matching entries', async (args, expected) => {
    const shown = await list('--organization', 'ORG-read', '--json', ...args);
    expect(shown.map((line) => JSON.parse(line).action)).toEqual(expected);
  });

  test.each([
    [['--limit', '0'], /^--limit: /],
    [['--from', 'yesterday'], /^--from: /],
    [['--from', '2026-02-01', '--to', '2026-01-01'], /^--from must not be later than --to/],
  ])('%j is a usage error', async (args, message) => {
    const { code, stderr } = await command(['audit', 'list', ...args], env);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});

describe('verify', () => {
  test('prints a line per organization with the number of entries and the last hash', async () => {
    await write('ORG-intact', 'webhook.created', 'webhook.updated');
    const head = await headOf('ORG-intact');
    const lines = linesOf(await printed('audit', 'verify'));
    expect(lines).toContain(`ORG-intact\t2 entries\tlast at position 2\t${head}`);
    const { rows } = await database.query({ text: 'select from posthorn.audit_chains' });
    expect(lines).toHaveLength(rows.length);
    const json = await printed('audit', 'verify', '--organization', 'ORG-intact', '--json');
    expect(linesOf(json).map((line) => JSON.parse(line))).toEqual([
      { organization_id: 'ORG-intact', intact: true, entries: 2, position: 2, head },
    ]);
  });

  test.each([[[]], [['--json']]])(
    'fails for an unknown organization, which is most likely a typo %j',
    async (json: string[]) => {
      expect(await command(['audit', 'verify', '--organization', 'ORG-typo', ...json], env)).toEqual({
        code: 1,
        stdout: '',
        stderr:
          'No audit log found for ORG-typo. Run posthorn audit verify without --organization to list all audit logs.\n',
      });
    },
  );

  const tampering: [what: string, statement: string, said: (ids: string[]) => string, json: object][] = [
    [
      'was altered',
      `update posthorn.audit_log set actor_id = 'USR-eve' where position = 2`,
      (ids) => `position 2 (${ids[1]}): the hash does not match this entry`,
      { fault: 'altered', position: 2 },
    ],
    [
      'was removed in the middle',
      'delete from posthorn.audit_log where position = 2',
      (ids) => `position 2: the entry was removed; the next entry is ${ids[2]}`,
      { fault: 'missing', position: 2 },
    ],
    [
      'was removed at the beginning',
      'delete from posthorn.audit_log where position = 1',
      (ids) => `position 1: the entry was removed; the next entry is ${ids[1]}`,
      { fault: 'missing', position: 1 },
    ],
    [
      'was removed at the end',
      'delete from posthorn.audit_log where position = 3',
      () => 'position 3: the entry was removed; no entry follows',
      { fault: 'missing', position: 3, id: null },
    ],
  ];

  test.each(tampering)(
    'reports where an entry %s, and exits with 1',
    async (_what, statement, said, json) => {
      const { database, url } = await freshDatabase();
      const actions = ['webhook.created', 'webhook.updated', 'webhook.deleted'];
      for (const organization_id of ['ORG-a', 'ORG-broken', 'ORG-c']) {
        await writeAudit(
          database,
          actions.map((action) => auditEntry({ organization_id, action })),
        );
      }
      const ids = (await auditRows(database, 'ORG-broken')).map(({ id }) => id);
      expect(await tamper(url, `${statement} and organization_id = 'ORG-broken'`)).toBe(1);

      const plain = await command(['audit', 'verify'], { DATABASE_URL: url });
      expect([plain.code, plain.stderr]).toEqual([
        1,
        'Verification failed for one organization: the audit log has been altered. Compare it with a backup.\n',
      ]);
      const lines = linesOf(plain.stdout);
      expect(lines.map((line) => line.split('\t')[0])).toEqual(['ORG-a', 'ORG-broken', 'ORG-c']);
      expect(lines[1]).toContain(`ORG-broken\t${said(ids)}`);

      const only = ['audit', 'verify', '--organization', 'ORG-broken', '--json'];
      const asJson = await command(only, { DATABASE_URL: url });
      expect(asJson.code).toBe(1);
      expect(JSON.parse(asJson.stdout)).toMatchObject({
        organization_id: 'ORG-broken',
        intact: false,
        ...json,
      });
      expect(
        (await command(['audit', 'verify', '--organization', 'ORG-a'], { DATABASE_URL: url })).code,
      ).toBe(0);
    },
  );

  test.runIf(process.platform === 'linux' && existsSync('/usr/bin/script'))(
    'on a terminal shows its progress and clears it again',
    async () => {
      await write('ORG-long', ...Array.from({ length: 1_200 }, () => 'webhook.updated'));
      const line = `'${process.execPath}' '${program}' audit verify --organization ORG-long`;
      const { stdout } = spawnSync('/usr/bin/script', ['-qec', line, '/dev/null'], {
        env: { PATH: process.env.PATH ?? '', TERM: 'xterm', NO_COLOR: '1', ...env },
        encoding: 'utf8',
      });
      expect(stdout).toContain('ORG-long: 1000 of 1200');
      const shown = stdout.split('\u001b[2K').at(-1)?.replaceAll('\r', '');
      const head = (await headOf('ORG-long')) ?? '';
      expect(shown).toBe(`ORG-long\t1200 entries\tlast at position 1200\t${head}\n`);
    },
  );
});
