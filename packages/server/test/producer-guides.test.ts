import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { recordEvents } from '../../client/src/postgres.js';
import { createResource, moveResource } from '../src/index.js';
import { actor } from './support/lifecycle.js';
import { platformToken, sharedService } from './support/service.js';
import { firstThatRuns, run, snippet, Workshop } from './support/snippets.js';
import { eventually, newTenant } from './support/tenant.js';

const recording = 'docs/record-events.md';
const moving = 'docs/lifecycles.md';
const service = await sharedService();
const tenant = await newTenant(service);
const { receiver, webhook } = await tenant.connect();
const owner = new pg.Client({ connectionString: service.databaseUrl });
await owner.connect();
afterAll(async () => {
  await owner.query('drop schema if exists billing cascade');
  await owner.end();
});

/** Returns a block of code of a guide, for the organization of these tests. */
const block = (page: string, language: string, having: string) =>
  snippet(page, language, having).replaceAll('ORG-demo', tenant.organization);

const workshop = await Workshop.open();
const compiled = await workshop.compile({
  pay: block(recording, 'ts', 'recordEvents('),
  finalize: block(moving, 'ts', 'moveResource('),
});
// Runs the program twice at once and again later, in one process: loading the package takes most of its time.
await writeFile(
  workshop.path('repeat.js'),
  "await Promise.all([import('./pay.js?1'), import('./pay.js?2')]);\nawait import('./pay.js?3');\n",
);
const python = await firstThatRuns(['python3', '/usr/bin/python3'], ['-c', 'import psycopg']);
const curl = await firstThatRuns(['curl'], ['--version']);
const jq = await firstThatRuns(['jq'], ['--version']);

/** Runs SQL on a connection of its own, as psql would. */
async function runSql(text: string): Promise<pg.QueryResult[]> {
  const client = new pg.Client({ connectionString: service.databaseUrl });
  await client.connect();
  try {
    return [await client.query(text)].flat();
  } finally {
    await client.end();
  }
}

/** Runs a program on the database of the service. Returns what it printed, or throws what it complained of. */
async function runProgram(file: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(file, args, { DATABASE_URL: service.databaseUrl });
  if (code !== 0 || stderr !== '') throw new Error(stderr);
  return stdout;
}

const runTypeScript = (name: string) => runProgram(process.execPath, [workshop.path(`${name}.js`)]);

/** Runs the commands of a guide against the platform listener. Returns what they printed. */
async function runCommands(page: string, having: string, env: Record<string, string> = {}): Promise<string> {
  const text = block(page, 'sh', having).replaceAll('http://127.0.0.1:7401', service.platformUrl);
  const { code, stdout, stderr } = await run('sh', ['-c', text], { PLATFORM_TOKEN: platformToken, ...env });
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

/** Creates a role and gives it the privileges that are in blocks of guides. */
async function newRole(...privileges: string[]): Promise<string> {
  const role = `posthorn_app_${randomBytes(6).toString('hex')}`;
  await owner.query(`create role ${role}`);
  onTestFinished(async () => {
    await owner.query(`reset role; drop owned by ${role}; drop role ${role}`);
  });
  for (const text of privileges) await owner.query(text.replaceAll('to app;', `to ${role};`));
  return role;
}
/** Expects that the role can neither read nor delete rows of any table. */
async function expectNoAccess(role: string): Promise<void> {
  const { rows } = await owner.query(
    "select relname from pg_class where relnamespace = 'posthorn'::regnamespace and relkind in ('r', 'p')",
  );
  for (const { relname } of rows)
    for (const text of [`select from posthorn.${relname}`, `delete from posthorn.${relname}`])
      await expect(runSql(`set role ${role}; ${text}`), text).rejects.toThrow('permission denied');
}
const toRecord = block(recording, 'sql', 'grant usage on schema posthorn');
const toMove = block(moving, 'sql', 'grant execute on function posthorn.create_resource');

const runTwiceAtOnceAndAgain = (start: () => Promise<unknown>) => async () => {
  await Promise.all([start(), start()]);
  await start();
};

const startSql = () => runSql(block(recording, 'sql', 'posthorn.record_event('));
const startPython = () =>
  runProgram(python ?? '', ['-c', block(recording, 'python', 'posthorn.record_event(')]);

const programs = [
  {
    language: 'SQL',
    runs: true,
    start: startSql,
    repeat: runTwiceAtOnceAndAgain(startSql),
    recorded: { type: 'invoice.finalized', subject: { type: 'invoice', id: 'INV-7' } },
    status: 'open',
  },
  {
    language: python ? 'Python' : 'Python (skipped: no python3 here can import psycopg)',
    runs: python !== undefined,
    start: startPython,
    repeat: runTwiceAtOnceAndAgain(startPython),
    recorded: { type: 'invoice.finalized', subject: { type: 'invoice', id: 'INV-8' } },
    status: 'open',
  },
  {
    language: 'TypeScript',
    runs: true,
    start: () => runTypeScript('pay'),
    repeat: () => runTypeScript('repeat'),
    recorded: { type: 'invoice.paid', subject: { type: 'invoice', id: 'INV-7' } },
    status: 'paid',
  },
];

let before: ReadonlySet<string>;

beforeEach(async () => {
  await owner.query('drop schema if exists billing cascade');
  await owner.query('delete from posthorn.event_keys where organization_id = $1', [tenant.organization]);
  await owner.query(block(recording, 'sql', 'create table billing.invoices'));
  before = new Set((await tenant.events()).map(({ id }) => id));
});

/** What was recorded since the test began, oldest first. */
async function recorded() {
  return (await tenant.events()).filter(({ id }) => !before.has(id)).reverse();
}

/** Returns how many rows of the organization are in a table. */
async function count(table: string): Promise<number> {
  const { rows } = await owner.query(
    `select count(*)::int as count from posthorn.${table} where organization_id = $1`,
    [tenant.organization],
  );
  return rows[0].count;
}

async function statusOf(invoice: string): Promise<string> {
  return (await owner.query('select status from billing.invoices where id = $1', [invoice])).rows[0].status;
}

test('the TypeScript in the guides compiles in strict mode', () => {
  expect(compiled).toEqual({ pay: '', finalize: '' });
});

for (const { language, runs, start, repeat, recorded: expected, status } of programs) {
  describe.runIf(runs)(`the transaction of the guide in ${language}`, () => {
    test('commits the change with exactly one event that is delivered, even if it runs twice at once and again later', async () => {
      await repeat();
      expect(await statusOf(expected.subject.id)).toBe(status);
      const events = await recorded();
      expect(events).toMatchObject([
        { ...expected, payload: { id: expected.subject.id, new_status: status } },
      ]);
      expect(await tenant.webhooksOf(events[0])).toEqual([webhook.id]);
      // Settled, not only received: the next test counts the deliveries.
      await eventually(
        () => tenant.deliveries(webhook),
        (list) => list.some((one) => one.event_id === events[0].id && one.status === 'success'),
      );
      expect(receiver.deliveries.all.map(({ envelope }) => envelope.id)).toContain(events[0].id);
    });

    test('leaves no change, event, delivery or key if the commit fails', async () => {
      await owner.query(`
        create function billing.refuse() returns trigger language plpgsql as
          $$ begin raise exception 'refused at the commit'; end $$;
        create constraint trigger refused after update on billing.invoices
          deferrable initially deferred for each row execute function billing.refuse()`);
      const deliveries = await count('deliveries');
      await expect(start()).rejects.toThrow('refused at the commit');
      expect(await statusOf(expected.subject.id)).toBe('draft');
      expect(await recorded()).toEqual([]);
      expect(await count('deliveries')).toBe(deliveries);
      expect(await count('event_keys')).toBe(0);
    });
  });
}

test('the TypeScript in the guide for lifecycles commits what it prints', async () => {
  expect(await runTypeScript('finalize')).toContain('invoice.finalized');
  expect(await recorded()).toMatchObject([
    {
      type: 'invoice.finalized',
      payload: { previous_status: 'draft', new_status: 'open', number: '2026-000418' },
    },
  ]);
});

test('the SQL in the guide for many events records them in order', async () => {
  const [result] = await runSql(block(recording, 'sql', 'select * from posthorn.record_events('));
  expect(result!.rows.map(({ ordinal }) => Number(ordinal))).toEqual([1, 2]);
  expect((await recorded()).map(({ id, type }) => [id, type])).toEqual([
    [result!.rows[0].id, 'task.created'],
    [result!.rows[1].id, 'task.assigned'],
  ]);
});

test('the privileges in the guide allow a role to record, and to read no table', async () => {
  const role = await newRole(toRecord);
  await owner.query(`grant usage on schema billing to ${role}; grant all on billing.invoices to ${role}`);
  await runSql(`set role ${role}; ${block(recording, 'sql', 'posthorn.record_event(')}`);
  expect(await recorded()).toHaveLength(1);
  await owner.query('begin');
  await owner.query(`set local role ${role}`);
  const event = { type: 'invoice.paid', organization_id: tenant.organization, actor, payload: {} };
  const [second] = await recordEvents(owner, [{ ...event, subject: { type: 'invoice', id: 'INV-1' } }]);
  await owner.query('commit');
  const times = (await recorded()).map(({ id, created_at }) => ({ id, created_at }));
  expect(times).toContainEqual(second);
  await expectNoAccess(role);
});

test('the privileges in the guide for lifecycles, with those for recording, allow a role to create and move, and to read no table', async () => {
  const role = await newRole(toRecord, toMove);
  await owner.query(`set role ${role}`);
  const { data } = await createResource(owner, 'tasks', { organization_id: tenant.organization, actor });
  const started = await moveResource(owner, 'tasks', data.id, 'start', { actor });
  expect(started.data.status).toBe('in_progress');
  await owner.query('reset role');
  await expectNoAccess(role);
});

describe.runIf(curl)(`the requests of the guide${curl ? '' : ' (skipped: there is no curl here)'}`, () => {
  test('record one event, and return the same one if they are repeated', async () => {
    const printed = await runCommands(recording, 'INV-8-payment-1');
    const { data } = JSON.parse(printed);
    expect(await recorded()).toMatchObject([{ ...data[0], type: 'invoice.payment_failed' }]);
    expect(await runCommands(recording, 'INV-8-payment-1')).toBe(printed);
    expect(await recorded()).toHaveLength(1);
  });

  test('record the lines of NDJSON in order', async () => {
    const { data } = JSON.parse(await runCommands(recording, 'application/x-ndjson'));
    expect(await recorded()).toMatchObject([
      { ...data[0], type: 'task.created' },
      { ...data[1], type: 'task.assigned' },
    ]);
  });

  test.runIf(jq)(
    `create a line, activate it, and list the moves that are possible then${jq ? '' : ' (skipped: no jq here)'}`,
    async () => {
      const data = JSON.parse(await runCommands(moving, '"name": "Customer support"'));
      expect(data.status).toBe('draft');
      const event = JSON.parse(await runCommands(moving, '/activate', { LINE: data.id }));
      expect(await recorded()).toMatchObject([{ ...event, subject: { id: data.id } }]);
      const refused = await runCommands(moving, '/resume', { LINE: data.id });
      expect(refused.trim()).toBe(snippet(moving, 'json', 'Allowed moves: pause').trim());
    },
  );
});
