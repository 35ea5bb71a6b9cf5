import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { type AddedEventType, InvalidEvents, type NewEvent, recordEvents } from '../../src/index.js';
import { freshDatabase } from '../support/database.js';

const { url } = await freshDatabase();
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

test('recordEvents accepts added types that are passed to it', async () => {
  const addedTypes = [
    { type: 'order.shipped', description: 'Shipped.', schema: { type: 'object' }, sample: {} },
  ];
  const shipped = { ...event, type: 'order.shipped', payload: {} };
  await expect(recordEvents(client, [shipped])).rejects.toThrow('/0/type');
  expect(await recordEvents(client, [shipped], { addedTypes })).toHaveLength(1);
});

test('recordEvents reads an array of added types only once, however often it is passed', async () => {
  let reads = 0;
  const schema = () => {
    reads += 1;
    return { type: 'object' };
  };
  const packed = { type: 'order.packed', description: 'Packed.', sample: {} };
  const addedTypes = [Object.defineProperty(packed, 'schema', { get: schema }) as AddedEventType];
  for (let call = 0; call < 3; call += 1) {
    await recordEvents(client, [{ ...event, type: 'order.packed', payload: {} }], { addedTypes });
  }
  expect(reads).toBe(1);
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
