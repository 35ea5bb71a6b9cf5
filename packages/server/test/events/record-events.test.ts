import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { changeCatalogue } from '../../src/catalogue/catalogue-store.js';
import { InvalidEvents, type NewEvent, recordEvents } from '../../src/index.js';
import { freshDatabase } from '../support/database.js';
import { eventually } from '../support/tenant.js';

const { url, database } = await freshDatabase();
const client = new pg.Client({ connectionString: url });
await client.connect();
afterAll(() => client.end());

const event: NewEvent = {
  type: 'agent.run.completed',
  organization_id: 'ORG-acme',
  actor: { type: 'agent', id: 'AGT-1' },
  subject: { type: 'run', id: 'RUN-1' },
  payload: { service_line_id: 'LIN-1', duration_ms: 1, tokens_used: 1, outcome: 'success' },
};
const count = async () => Number((await client.query('select count(*) from posthorn.events')).rows[0].count);

test('recordEvents refuses what the catalogue refuses, with the location of each fault, and records nothing', async () => {
  const refused = recordEvents(client, [event, { ...event, payload: { ...event.payload, outcome: 7 } }]);
  await expect(refused).rejects.toBeInstanceOf(InvalidEvents);
  await expect(refused).rejects.toMatchObject({ faults: [{ pointer: '/1/payload/outcome' }] });
  expect(await count()).toBe(0);
});

test('recordEvents knows a type of the platform 2 seconds after the catalogue has it', async () => {
  const shipped = { ...event, type: 'order.shipped', payload: {} };
  await expect(recordEvents(client, [shipped])).rejects.toThrow('/0/type');
  const type = { type: 'order.shipped', description: 'Shipped.', schema: { type: 'object' }, sample: {} };
  await changeCatalogue(database, { builtin: true, types: [type] }, {});
  const recorded = await eventually(
    () => recordEvents(client, [shipped]).catch(() => undefined),
    (events) => events !== undefined,
  );
  expect(recorded).toHaveLength(1);
});

test('recordEvents works for a role that can only read the catalogue', async () => {
  const role = `recorder_${Date.now()}`;
  await client.query(`create role ${role}`);
  try {
    await client.query(`grant usage on schema posthorn to ${role}`);
    await client.query(`grant execute on function posthorn.record_events(json) to ${role}`);
    await client.query(`grant select on posthorn.catalogue, posthorn.event_types to ${role}`);
    await changeCatalogue(database, { builtin: true, types: [] }, {});
    // A new client, because each client caches the catalogue.
    const recorder = new pg.Client({ connectionString: url });
    await recorder.connect();
    await recorder.query(`set role ${role}`);
    expect(await recordEvents(recorder, [event])).toHaveLength(1);
    await recorder.end();
  } finally {
    await client.query(`drop owned by ${role}; drop role ${role}`);
  }
});

test('the SQL function refuses a type outside the catalogue with the closest one as the hint', async () => {
  const misspelled = JSON.stringify([event, { ...event, type: 'invoice.payd' }]);
  await expect(client.query('select * from posthorn.record_events($1)', [misspelled])).rejects.toMatchObject({
    message: "posthorn: event 1: type 'invoice.payd' is not in the catalogue",
    hint: 'The closest type in the catalogue is invoice.paid.',
    code: '22023',
  });
});

test.each([
  ['a forged webhook event', { type: 'webhook.disabled' }, 'webhook.*'],
  ['a payload that is no object', { payload: [1] }, 'payload'],
  ['an organization that is none', { organization_id: 'acme' }, 'organization_id'],
  ['an actor without an id', { actor: { type: 'user' } }, 'actor'],
  ['a type of another form', { type: 'nope' }, 'type'],
  ['a misspelled field', { workspaceid: 'WS-1', zzz: 1 }, 'event 0: has unknown fields: workspaceid, zzz'],
])('the SQL function refuses %s', async (_what, change, named) => {
  const statement = client.query('select * from posthorn.record_events($1)', [
    JSON.stringify([{ ...event, ...change }]),
  ]);
  await expect(statement).rejects.toThrow(named);
});

test.each(['[null]', '[1]', '["event"]', '[[]]'])('the SQL function refuses %s', async (events) => {
  const statement = client.query('select * from posthorn.record_events($1)', [events]);
  await expect(statement).rejects.toThrow('event 0: is not a JSON object');
});

test('a repeatable read transaction fails with 40001 if its key was committed meanwhile, and can be retried', async () => {
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  const keyed = { ...event, idempotency_key: 'RUN-1-completed' };
  await client.query('begin isolation level repeatable read');
  await client.query('select 1 from posthorn.events limit 1');
  const [first] = await recordEvents(other, [keyed]);
  await other.end();
  await expect(recordEvents(client, [keyed])).rejects.toMatchObject({ code: '40001' });
  await client.query('rollback');
  expect(await recordEvents(client, [keyed])).toEqual([first]);
});
