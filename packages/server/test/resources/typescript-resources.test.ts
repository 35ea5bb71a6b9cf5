import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import {
  createResource,
  InvalidResource,
  MoveNotAllowed,
  moveResource,
  type Resource,
  ResourceNotFound,
  readResource,
} from '../../src/index.js';
import { actor, Platform } from '../support/lifecycle.js';
import { sharedService } from '../support/service.js';
import { eventually, newTenant } from '../support/tenant.js';

const service = await sharedService();
const tenant = await newTenant(service);
const platform = new Platform(service, tenant.organization);
const organization_id = tenant.organization;

const clients: pg.Client[] = [];
afterAll(() => Promise.all(clients.map((each) => each.end())));

async function connect(): Promise<pg.Client> {
  const connected = new pg.Client({ connectionString: service.databaseUrl });
  await connected.connect();
  clients.push(connected);
  return connected;
}
const client = await connect();

/** The caller's own transaction, with whatever it writes besides. */
async function inTransaction<T>(work: () => Promise<T>, end: 'commit' | 'rollback' = 'commit'): Promise<T> {
  await client.query('begin');
  try {
    return await work();
  } finally {
    await client.query(end);
  }
}

describe('in the transaction of the caller', () => {
  test('a commit leaves the resource, exactly one event and one entry, and the event is delivered', async () => {
    const { receiver } = await tenant.connect();
    const { data } = await inTransaction(() =>
      createResource(client, 'invoices', { organization_id, actor }),
    );
    const { data: open, event } = await inTransaction(() =>
      moveResource(client, 'invoices', data.id, 'finalize', { actor, number: '2026-000418' }),
    );
    expect(open).toEqual({ ...data, status: 'open', number: '2026-000418', updated_at: open.updated_at });
    expect(await tenant.events({ subject_id: data.id })).toEqual([event]);
    expect(await readResource(client, 'invoices', data.id)).toEqual(open);
    expect(await platform.audit(data.id)).toMatchObject([
      { action: 'invoice.created', request_id: null, source_address: null },
      { action: 'invoice.finalized', changes: { status: { from: 'draft', to: 'open' } } },
    ]);
    const arrived = await receiver.deliveries.nth(1);
    expect(arrived.envelope).toMatchObject({ id: event.id, data: event.payload });
  });

  test('a rollback leaves nothing', async () => {
    const { id } = await platform.bring('service-lines');
    const before = await platform.traces();
    await inTransaction(async () => {
      await createResource(client, 'tasks', { organization_id, actor, title: 'Never was' });
      await moveResource(client, 'service-lines', id, 'activate', { actor });
      expect(await readResource(client, 'service-lines', id)).toMatchObject({ status: 'active' });
    }, 'rollback');
    expect(await platform.traces()).toEqual(before);
    expect((await platform.post(`service-lines/${id}/activate`, { actor })).status).toBe(200);
  });

  test('a creation returns its event', async () => {
    const { data, event } = await inTransaction(() =>
      createResource(client, 'runs', {
        ...{ organization_id, workspace_id: 'WS-1', actor: { type: 'agent', id: 'AGT-7' } },
        service_line_id: 'LIN-1',
      }),
    );
    expect(data).toMatchObject({ status: 'running', agent_id: 'AGT-7', workspace_id: 'WS-1' });
    expect(event).toMatchObject({ type: 'agent.run.started', payload: { id: data.id, agent_id: 'AGT-7' } });
    const created = await inTransaction(() => createResource(client, 'agents', { organization_id, actor }));
    expect(created.event).toBeUndefined();
  });

  test('a driver that parses times, numbers and JSON differently makes no difference', async () => {
    const own = new pg.Client({
      connectionString: service.databaseUrl,
      types: { getTypeParser: () => (text: string) => text } as unknown as pg.CustomTypesConfig,
    });
    await own.connect();
    const { data, event } = await createResource(own, 'users', { organization_id, actor });
    await own.end();
    expect((await platform.get(`users/${data.id}`)).body).toEqual({ data });
    expect(await tenant.events({ subject_id: data.id })).toEqual([event]);
  });
});

describe('refusals', () => {
  test('a move that the status does not allow reports the status and the allowed moves, and the transaction continues', async () => {
    const { id } = await platform.bring('service-lines', 'active');
    await inTransaction(async () => {
      const refused = await moveResource(client, 'service-lines', id, 'resume', { actor }).catch(
        (error) => error,
      );
      expect(refused).toBeInstanceOf(MoveNotAllowed);
      expect(refused).toMatchObject({ status: 'active', possibleMoves: ['pause', 'close'] });
      expect(refused.message).toContain('pause, close');
      await moveResource(client, 'service-lines', id, 'pause', { actor });
    });
    expect((await platform.get(`service-lines/${id}`)).body.data.status).toBe('paused');
  });

  test('a resource that does not exist', async () => {
    const nowhere = moveResource(client, 'invoices', 'INV-none', 'pay', { actor });
    await expect(nowhere).rejects.toBeInstanceOf(ResourceNotFound);
    await expect(readResource(client, 'invoices', 'INV-none')).rejects.toThrow('INV-none');
  });

  test('invalid fields, before the database is used', async () => {
    const untouched = { query: () => Promise.reject(new Error('queried')) };
    const refused = createResource(untouched, 'incidents', {
      ...{ organization_id, actor, title: 'Late', service_line_id: 'LIN-1' },
      severity: 'high',
    });
    await expect(refused).rejects.toBeInstanceOf(InvalidResource);
    await expect(refused).rejects.toMatchObject({ faults: [{ pointer: '/severity' }] });
  });

  test('unknown names do not compile, and throw a clear error without types', async () => {
    // @ts-expect-error a draft is activated, not finalized
    await expect(moveResource(client, 'service-lines', 'LIN-1', 'finalize', { actor })).rejects.toThrow(
      'activate',
    );
    // @ts-expect-error there are none of these
    await expect(createResource(client, 'parcels', { organization_id, actor })).rejects.toThrow('parcels');
    // @ts-expect-error a severity is indispensable
    await expect(moveResource(client, 'incidents', 'INC-1', 'change-severity', { actor })).rejects.toThrow(
      'severity',
    );
    // @ts-expect-error an incident needs more than this
    await expect(createResource(client, 'incidents', { organization_id, actor })).rejects.toThrow('title');
    const typed: Pick<Resource<'invoices'>, 'status' | 'amount_minor' | 'payment_attempts'> = {
      ...{ status: 'voided', amount_minor: 1, payment_attempts: 0 },
    };
    // @ts-expect-error no invoice is closed
    typed.status satisfies 'closed';
  });
});

describe('concurrently', () => {
  test('the second of two moves from one status waits for the first and sees its result', async () => {
    const [first, second] = [await connect(), await connect()];
    const { id } = await platform.bring('invoices', 'open');
    await first.query('begin');
    await moveResource(first, 'invoices', id, 'pay', { actor });
    await second.query('begin');
    const late = moveResource(second, 'invoices', id, 'void', { actor }).catch((error) => error);
    await waitsForALock(second);
    await first.query('commit');
    expect(await late).toBeInstanceOf(MoveNotAllowed);
    expect(await late).toMatchObject({ status: 'paid', possibleMoves: [] });
    await second.query('commit');
    const types = (await tenant.events({ subject_id: id })).map(({ type }) => type);
    expect(types).toEqual(['invoice.paid', 'invoice.finalized']);
  });

  test('the second move is made if the first is rolled back', async () => {
    const [first, second] = [await connect(), await connect()];
    const { id } = await platform.bring('invoices', 'open');
    await first.query('begin');
    await moveResource(first, 'invoices', id, 'pay', { actor });
    const late = moveResource(second, 'invoices', id, 'void', { actor });
    await waitsForALock(second);
    await first.query('rollback');
    expect((await late).data.status).toBe('voided');
  });

  test('requests for a locked resource are refused after a while, and those of other organizations go on', async () => {
    const holder = await connect();
    const stranger = new Platform(service, (await newTenant(service)).organization);
    const line = await stranger.bring('service-lines');
    const { id } = await platform.bring('invoices', 'open');
    await holder.query('begin');
    await moveResource(holder, 'invoices', id, 'pay', { actor });
    const requests = [1, 2, 3, 4].map(() => platform.post(`invoices/${id}/void`, { actor }));
    await eventually(
      async () => waiting(),
      (count) => count === 2,
    );
    expect((await stranger.post(`service-lines/${line.id}/activate`, { actor })).status).toBe(200);
    const responses = await Promise.all(requests);
    await holder.query('rollback');
    for (const { status, headers, body } of responses) {
      expect([status, headers.get('retry-after')]).toEqual([503, '1']);
      expect(body.detail).toMatch(/Nothing was changed. Try again.$/);
    }
    expect((await platform.post(`invoices/${id}/void`, { actor })).status).toBe(200);
  });

  test('a request that deadlocks with a transaction changes nothing and can be repeated', async () => {
    const line = await platform.bring('service-lines');
    await client.query(`
  create function posthorn.deadlock() returns trigger language plpgsql as
  $$ begin raise exception 'deadlock detected' using errcode = 'deadlock_detected'; end $$;
  create trigger deadlocks before update on posthorn.resources
  for each row when (old.id = '${line.id}') execute function posthorn.deadlock()`);
    const { status, headers, body } = await platform.post(`service-lines/${line.id}/activate`, { actor });
    await client.query('drop function posthorn.deadlock cascade');
    expect([status, headers.get('retry-after'), body.code]).toEqual([503, '1', 'unavailable']);
    expect(await tenant.events({ subject_id: line.id })).toEqual([]);
    expect((await platform.post(`service-lines/${line.id}/activate`, { actor })).status).toBe(200);
  });
});

/** How many of this database wait for somebody's lock. */
async function waiting(): Promise<number> {
  const { rows } = await service.database.query<{ count: number }>({
    text: `
  select count(*) from pg_stat_activity
   where datname = current_database() and wait_event_type = 'Lock'`,
  });
  return rows[0]!.count;
}

async function waitsForALock(waiter: pg.Client): Promise<void> {
  const { processID } = waiter as unknown as { processID: number };
  await eventually(
    async () => (await client.query('select cardinality(pg_blocking_pids($1)) as n', [processID])).rows[0].n,
    (blockers) => blockers > 0,
  );
}
