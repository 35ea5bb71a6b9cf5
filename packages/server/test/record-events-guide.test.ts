import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { platformToken, startTestService } from './support/service.js';
import { firstThatRuns, run, snippet, Workshop } from './support/snippets.js';
import { eventually, newTenant } from './support/tenant.js';

const page = 'docs/record-events.md';
const service = await startTestService();
const tenant = await newTenant(service, { organization_id: 'ORG-demo' });
const { receiver, webhook } = await tenant.connect();
const owner = new pg.Client({ connectionString: service.databaseUrl });
await owner.connect();
afterAll(() => owner.end());

const workshop = await Workshop.open();
const compiled = await workshop.compile({ pay: snippet(page, 'ts', 'recordEvents(') });
const python = await firstThatRuns(['python3', '/usr/bin/python3'], ['-c', 'import psycopg']);
const curl = await firstThatRuns(['curl'], ['--version']);

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

/** Runs a program on the database of the service; one that fails throws what it complained of. */
async function runProgram(file: string, args: readonly string[]): Promise<void> {
  const { code, stderr } = await run(file, args, { DATABASE_URL: service.databaseUrl });
  if (code !== 0) throw new Error(stderr);
}

const programs = [
  {
    language: 'SQL',
    runs: true,
    start: () => runSql(snippet(page, 'sql', 'posthorn.record_event(')),
    recorded: { type: 'invoice.finalized', subject: { type: 'invoice', id: 'INV-7' } },
    status: 'open',
  },
  {
    language: python ? 'Python' : 'Python (skipped: no python3 here can import psycopg)',
    runs: python !== undefined,
    start: () => runProgram(python ?? '', ['-c', snippet(page, 'python', 'posthorn.record_event(')]),
    recorded: { type: 'invoice.finalized', subject: { type: 'invoice', id: 'INV-8' } },
    status: 'open',
  },
  {
    language: 'TypeScript',
    runs: true,
    start: () => runProgram(process.execPath, [workshop.path('pay.js')]),
    recorded: { type: 'invoice.paid', subject: { type: 'invoice', id: 'INV-7' } },
    status: 'paid',
  },
];

let before: ReadonlySet<string>;

beforeEach(async () => {
  await owner.query('drop schema if exists billing cascade; delete from posthorn.event_keys');
  await owner.query(snippet(page, 'sql', 'create table billing.invoices'));
  before = new Set((await tenant.events()).map(({ id }) => id));
});

/** What was recorded since the test began, oldest first. */
async function recorded() {
  return (await tenant.events()).filter(({ id }) => !before.has(id)).reverse();
}

async function count(table: string): Promise<number> {
  const { rows } = await owner.query(`select count(*)::int as count from posthorn.${table}`);
  return rows[0].count;
}

async function statusOf(invoice: string): Promise<string> {
  return (await owner.query('select status from billing.invoices where id = $1', [invoice])).rows[0].status;
}

test('the TypeScript in the guide compiles in strict mode', () => {
  expect(compiled).toEqual({ pay: '' });
});

for (const { language, runs, start, recorded: expected, status } of programs) {
  describe.runIf(runs)(`the transaction of the guide in ${language}`, () => {
    test('commits the change with exactly one event that is delivered, even if it runs twice at once and again later', async () => {
      await Promise.all([start(), start()]);
      await start();
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

test('the SQL in the guide for many events records them in order', async () => {
  const [result] = await runSql(snippet(page, 'sql', 'posthorn.record_events('));
  expect(result!.rows.map(({ ordinal }) => Number(ordinal))).toEqual([1, 2]);
  expect((await recorded()).map(({ id, type }) => [id, type])).toEqual([
    [result!.rows[0].id, 'task.created'],
    [result!.rows[1].id, 'task.assigned'],
  ]);
});

test('the privileges in the guide allow a role to record, and nothing else', async () => {
  const role = `posthorn_app_${randomBytes(6).toString('hex')}`;
  await owner.query(`create role ${role}`);
  onTestFinished(async () => {
    await owner.query(`drop owned by ${role}; drop role ${role}`);
  });
  const rights = snippet(page, 'sql', 'grant usage on schema posthorn');
  await owner.query(rights.replaceAll('to app;', `to ${role};`));
  await owner.query(`grant usage on schema billing to ${role}; grant all on billing.invoices to ${role}`);
  await runSql(`set role ${role}; ${snippet(page, 'sql', 'posthorn.record_event(')}`);
  expect(await recorded()).toHaveLength(1);
  await expect(runSql(`set role ${role}; delete from posthorn.events`)).rejects.toThrow('permission denied');
});

describe.runIf(curl)(`the requests of the guide${curl ? '' : ' (skipped: there is no curl here)'}`, () => {
  async function ask(having: string): Promise<string> {
    const line = snippet(page, 'sh', having).replaceAll('http://127.0.0.1:7401', service.platformUrl);
    const { code, stdout, stderr } = await run('sh', ['-c', line], { PLATFORM_TOKEN: platformToken });
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  }

  test('record one event, and return the same one if they are repeated', async () => {
    const answer = await ask('INV-8-payment-1');
    const { data } = JSON.parse(answer);
    expect(await recorded()).toMatchObject([{ ...data[0], type: 'invoice.payment_failed' }]);
    expect(await ask('INV-8-payment-1')).toBe(answer);
    expect(await recorded()).toHaveLength(1);
  });

  test('record the lines of NDJSON in order', async () => {
    const { data } = JSON.parse(await ask('application/x-ndjson'));
    expect(await recorded()).toMatchObject([
      { ...data[0], type: 'task.created' },
      { ...data[1], type: 'task.assigned' },
    ]);
  });
});
