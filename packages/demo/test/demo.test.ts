import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openEmbedded } from '../../embedded/src/embedded.js';
import { Database } from '../../server/src/postgres/database.js';
import { command } from '../../server/test/support/command.js';
import { preparedDirectory } from '../../server/test/support/data-directory.js';
import { freshServiceDatabase } from '../../server/test/support/database.js';
import { Posthorn, posthorn, program } from '../../server/test/support/process.js';
import type { Summary } from '../src/summary.js';

const escapeCode = '\u001b';

/** What a demo has no reason to say. That something is slow and was tried again, it may log. */
function withoutWarnings(stderr: string): string[] {
  return stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{"level":"warn"'));
}

const ports = { POSTHORN_PORT: '0', POSTHORN_PLATFORM_PORT: '0' };
/** The demos of this file run one after another on this data directory, whose database the tests read. */
let env: Record<string, string>;
let database: Database;
beforeAll(async () => {
  const directory = await preparedDirectory();
  env = { ...ports, POSTHORN_DATA_DIR: directory };
  const embedded = await openEmbedded(directory, 'command');
  database = new Database(embedded.connection);
  return async () => {
    await database.close();
    await embedded.close();
  };
});

describe('posthorn demo --json', () => {
  let summary: Summary;
  let printed: string;
  /** On a machine that is so busy that requests or statements time out, some things happen twice. */
  let isCalm: boolean;
  beforeAll(async () => {
    const args = ['demo', '--for', '1s', '--json'];
    const { code, stdout, stderr } = await posthorn(args, env);
    expect(code).toBe(0);
    expect(withoutWarnings(stderr)).toEqual([]);
    printed = stdout;
    summary = JSON.parse(stdout) as Summary;
    isCalm = stderr === '' && summary.troubles === 0;
  });

  test('prints one object and nothing else', () => {
    expect(printed.trimEnd().split('\n')).toHaveLength(1);
  });

  test('every acknowledged event is in the stream and in the table', async () => {
    expect(summary.events.recorded).toBeGreaterThan(0);
    expect(summary.events.in_stream).toBe(summary.events.recorded);
    // A response that did not arrive in time leaves an event that the demo does not know of.
    expect(summary.events.by_others).toBeLessThanOrEqual(summary.troubles);
    // What a fresh installation has to show was recorded before the first webhook was made.
    const { rows } = await database.query<{ type: string; count: number }>({
      text: `
  select type, count(*)::int as count
    from posthorn.events
   where organization_id = 'ORG-demo' and created_at >= (select min(created_at) from posthorn.webhooks)
   group by type`,
    });
    expect(summary.events.by_type).toEqual(Object.fromEntries(rows.map(({ type, count }) => [type, count])));
    const recorded = rows.filter(({ type }) => !type.startsWith('webhook.'));
    expect(recorded.reduce((sum, { count }) => sum + count, 0)).toBe(
      summary.events.recorded + summary.events.by_others,
    );
  });

  test('the summary has as many deliveries as the table, and receivers accepted them', async () => {
    const { rows } = await database.query<{ webhook_id: string; status: string; count: number }>({
      text: `
  select webhook_id, status, count(*)::int as count
    from posthorn.deliveries
   -- Disabling the webhooks at the end is an event for the others.
   where event_type <> 'webhook.disabled'
   group by webhook_id, status`,
    });
    const inTable = (id: string | null, status: string) =>
      rows.find((row) => row.webhook_id === id && row.status === status)?.count ?? 0;
    expect(summary.receivers).toHaveLength(5);
    for (const receiver of summary.receivers) {
      const { name, webhook_id: id, delivered, failed, unsettled } = receiver;
      expect(delivered, name).toBeGreaterThanOrEqual(inTable(id, 'success'));
      expect(unsettled, name).toBe(inTable(id, 'pending'));
      if (isCalm)
        expect({ name, delivered, failed }).toEqual({
          ...{ name, delivered: inTable(id, 'success'), failed: inTable(id, 'failed') },
        });
    }
    const byName = Object.fromEntries(summary.receivers.map((receiver) => [receiver.name, receiver]));
    expect(byName.healthy!.delivered).toBeGreaterThanOrEqual(summary.events.recorded);
    expect(byName.dead).toMatchObject({ delivered: 0 });
  });

  test('no webhook is left that sends to ports that are free again', async () => {
    const { rows } = await database.query<{ status: string; count: number }>({
      text: 'select status, count(*)::int as count from posthorn.webhooks group by status',
    });
    expect(rows).toEqual([{ status: 'disabled', count: 5 }]);
  });
});

describe('posthorn demo', () => {
  describe('in a pipe', () => {
    let earlier: string[];
    let demo: Posthorn;
    beforeAll(async () => {
      earlier = await webhooks();
      demo = new Posthorn(['demo', '--rate', '1/s'], env);
      await demo.until(/^Demo running: ORG-demo on http:\/\/127\.0\.0\.1:\d+$/m);
    });

    async function webhooks(): Promise<string[]> {
      const { rows } = await database.query<{ id: string }>({ text: 'select id from posthorn.webhooks' });
      return rows.map(({ id }) => id);
    }

    test('does not run alongside another one on the same data directory', async () => {
      // As another demo or service opens it.
      const refused = await openEmbedded(env.POSTHORN_DATA_DIR ?? '', 'serve').catch(
        (error) => error.message,
      );
      expect(refused).toMatch(/^Another posthorn serve or demo is using the data directory .*$/);
      for (const name of ['POSTHORN_DATA_DIR', 'POSTHORN_PORT', 'POSTHORN_PLATFORM_PORT'])
        expect(refused).toContain(name);
    });

    test('prints plain lines, stops gracefully, and replaces the webhooks of an earlier demo', async () => {
      demo.kill('SIGTERM');
      const { code, stdout, stderr } = await demo.ended;
      expect(code).toBe(0);
      expect(withoutWarnings(stderr)).toEqual([]);
      expect(stdout).not.toContain(escapeCode);
      expect(stdout).toMatch(/ events recorded, all of them in the stream\.$/m);
      expect(stdout).toContain(
        `\n  POSTHORN_DATA_DIR=${env.POSTHORN_DATA_DIR} npx posthorn events list --organization ORG-demo\n`,
      );
      const ids = await webhooks();
      expect([earlier.length, ids.length]).toEqual([5, 5]);
      expect(ids.filter((id) => earlier.includes(id))).toEqual([]);
    });
  });

  test.each([
    [
      { POSTHORN_ROLES: 'api,delivery' },
      'POSTHORN_ROLES: the demo also needs platform; add the role or unset the variable.',
    ],
    [{ POSTHORN_EGRESS_ALLOW: '' }, 'POSTHORN_EGRESS_ALLOW: the receivers of the demo are on 127.0.0.1; '],
  ])('explains in one line why it cannot run with %j', async (extra, line) => {
    const { code, stdout, stderr } = await command(['demo'], extra);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.startsWith(line), stderr).toBe(true);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  test('reports a misspelled setting in one line', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    onTestFinished(() => printed.mockRestore());
    await command(['demo'], { POSTHORN_RATE_LIMT_READS: '5', POSTHORN_ROLES: 'api' });
    expect(printed.mock.calls).toEqual([
      [
        'Ignoring POSTHORN_RATE_LIMT_READS: there is no such setting. Did you mean POSTHORN_RATE_LIMIT_READS?',
      ],
    ]);
  });
});

describe.runIf(process.platform === 'linux' && existsSync('/usr/bin/script'))('on a terminal', () => {
  /** Runs the demo on a terminal of its own and presses a key once the dashboard is there. */
  async function press(key: string): Promise<{ code: number | null; output: string }> {
    const { PATH = '' } = process.env;
    const line = `stty cols 80 rows 24; exec '${process.execPath}' '${program}' demo --rate 1/s`;
    const { url } = await freshServiceDatabase();
    const child = spawn('/usr/bin/script', ['-qec', line, '/dev/null'], {
      env: {
        ...{ PATH, TERM: 'xterm', SHELL: '/bin/sh', ...env, DATABASE_URL: url },
        POSTHORN_SECRET_KEY: randomBytes(32).toString('base64'),
      },
    });
    let output = '';
    let isPressed = false;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (isPressed || !output.includes('q: stop')) return;
      isPressed = true;
      child.stdin.write(key);
    });
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, output };
  }

  test('q stops the demo gracefully and restores the terminal', async () => {
    const { code, output } = await press('q');
    expect(code).toBe(0);
    const [before = '', after = ''] = output.split(`${escapeCode}[?1049l`);
    expect(before).toContain(`${escapeCode}[?1049h`);
    expect(before).toContain('GET /v1/events/tail');
    expect(before.lastIndexOf(`${escapeCode}[?25h`)).toBeGreaterThan(
      before.lastIndexOf(`${escapeCode}[?25l`),
    );
    expect(after).toContain('all of them in the stream');
    expect(after).toMatch(
      /^To list the events, run this with the same DATABASE_URL:\r\n {2}npx posthorn events list /m,
    );
    expect(after).not.toContain(escapeCode);
  });
});
