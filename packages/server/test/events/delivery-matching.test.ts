import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordEvents } from '../../src/events/recording-store.js';
import { event, record } from '../support/client.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { sharedService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';

const service = await sharedService();

/** A caller's own connection, which knows nothing of ours but the schema. */
const caller = new pg.Client({ connectionString: service.databaseUrl });
beforeAll(() => caller.connect());
afterAll(() => caller.end());

const subscribe = async (tenant: Tenant, fields: Record<string, unknown>) =>
  tenant.webhook(await startReceiver(), fields);

/** Returns a function that creates an organization with a webhook of each name, the first time that it is called. */
function once(all: string[], fieldsOf: (name: string) => Record<string, unknown>) {
  const create = async () => {
    const tenant = await newTenant(service);
    const names = new Map<string, string>();
    for (const name of all) names.set((await subscribe(tenant, fieldsOf(name))).id, name);
    return { tenant, names };
  };
  let created: ReturnType<typeof create> | undefined;
  return () => {
    created ??= create();
    return created;
  };
}

/** Records an event in the transaction of the caller. */
function recordBySql(tenant: Tenant, type: string, workspace: string | null): Promise<{ id: string }> {
  return caller
    .query(
      `select posthorn.record_event(
         type => $1, organization_id => $2, workspace_id => $3, actor => '{"type":"user","id":"USR-1"}',
         subject => '{"type":"invoice","id":"INV-1"}', payload => '{}') as id`,
      [type, tenant.organization, workspace],
    )
    .then(({ rows }) => rows[0]);
}

/** The two ways in: through the listener, and by SQL. */
const ways: [string, (tenant: Tenant, type: string, workspace: string | null) => Promise<{ id: string }>][] =
  [
    ['the platform listener', (tenant, type, workspace_id) => tenant.record({ type, workspace_id })],
    ['SQL', recordBySql],
  ];

describe.each(ways)('an event recorded through %s', (_way, recordOne) => {
  it('goes only to webhooks of its organization', async () => {
    const [tenant, other] = [await newTenant(service), await newTenant(service)];
    const own = await subscribe(tenant, {});
    await subscribe(other, {});
    expect(await tenant.webhooksOf(await recordOne(tenant, 'invoice.paid', null))).toEqual([own.id]);
  });

  const ofWorkspaces = once(['everywhere', 'WS-1', 'WS-2'], (name) =>
    name === 'everywhere' ? {} : { workspace_id: name },
  );

  it.each([
    ['WS-1', ['everywhere', 'WS-1']],
    ['WS-2', ['everywhere', 'WS-2']],
    ['WS-3', ['everywhere']],
    [null, ['everywhere']],
  ])('of the workspace %s goes to %j', async (workspace, expected) => {
    const { tenant, names } = await ofWorkspaces();
    const matched = await tenant.webhooksOf(await recordOne(tenant, 'invoice.paid', workspace));
    expect(matched.map((id) => names.get(id)).sort()).toEqual(expected.sort());
  });

  const ofTypes = once(['*', 'invoice.*', 'invoice.paid', 'agent.*', 'agent.run.started'], (name) => ({
    event_types: [name],
  }));

  it.each([
    ['invoice.paid', ['*', 'invoice.*', 'invoice.paid']],
    ['invoice.voided', ['*', 'invoice.*']],
    ['agent.run.started', ['*', 'agent.*', 'agent.run.started']],
    ['agent.policy_violated', ['*', 'agent.*']],
    ['task.created', ['*']],
  ])('of the type %s goes to webhooks that subscribe to %j', async (type, expected) => {
    const { tenant, names } = await ofTypes();
    const matched = await tenant.webhooksOf(await recordOne(tenant, type, 'WS-1'));
    expect(matched.map((id) => names.get(id)).sort()).toEqual(expected.sort());
  });

  it('goes once to a webhook that subscribes to it twice', async () => {
    const tenant = await newTenant(service);
    const webhook = await subscribe(tenant, { event_types: ['invoice.*', 'invoice.paid'] });
    expect(await tenant.webhooksOf(await recordOne(tenant, 'invoice.paid', 'WS-1'))).toEqual([webhook.id]);
  });

  it('goes to no unverified or disabled webhook', async () => {
    const tenant = await newTenant(service);
    const active = await subscribe(tenant, {});
    const disabled = await subscribe(tenant, {});
    await tenant.data('PATCH', `/v1/webhooks/${disabled.id}`, { status: 'disabled' });
    await tenant.create({ url: (await startReceiver({ onVerification: 500 })).url });
    expect(await tenant.webhooksOf(await recordOne(tenant, 'invoice.paid', 'WS-1'))).toEqual([active.id]);
  });

  it('arrives at every webhook that matches', async () => {
    const tenant = await newTenant(service);
    const receivers: Receiver[] = [];
    for (const fields of [{}, { workspace_id: 'WS-1' }, { event_types: ['invoice.*'] }]) {
      const receiver = await startReceiver();
      await tenant.webhook(receiver, fields);
      receivers.push(receiver);
    }
    const { id } = await recordOne(tenant, 'invoice.paid', 'WS-1');
    for (const receiver of receivers) expect((await receiver.deliveries.nth(1)).envelope.id).toBe(id);
  });

  it('before a webhook was created does not go to it', async () => {
    const tenant = await newTenant(service);
    const { id } = await recordOne(tenant, 'invoice.paid', 'WS-1');
    await subscribe(tenant, {});
    expect(await tenant.webhooksOf({ id })).toEqual([]);
  });
});

describe("an event recorded in the caller's own transaction", () => {
  it('is sent after the commit, and not before', async () => {
    const tenant = await newTenant(service);
    const { receiver } = await tenant.connect();
    await caller.query('begin');
    const { id } = await recordBySql(tenant, 'invoice.paid', 'WS-1');
    // Another event that is committed meanwhile arrives first.
    const other = await tenant.record();
    expect((await receiver.deliveries.nth(1)).envelope.id).toBe(other.id);
    await caller.query('commit');
    expect((await receiver.deliveries.nth(2)).envelope.id).toBe(id);
  });

  it('leaves no event and no delivery after a rollback', async () => {
    const tenant = await newTenant(service);
    const { receiver } = await tenant.connect();
    await caller.query('begin');
    const { id } = await recordBySql(tenant, 'invoice.paid', 'WS-1');
    await caller.query('rollback');
    expect(await tenant.webhooksOf({ id })).toEqual([]);
    expect((await tenant.request('GET', `/v1/events/${id}`)).status).toBe(404);
    const next = await tenant.record();
    expect((await receiver.deliveries.nth(1)).envelope.id).toBe(next.id);
  });

  it("commits with its deliveries and the caller's change, also through recordEvents", async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    await caller.query('create temp table if not exists changes (name text)');
    await caller.query('begin');
    await caller.query("insert into changes values ('paid')");
    const fields = { organization_id: tenant.organization };
    const [recorded] = await recordEvents(caller, [event(fields)] as unknown as Parameters<
      typeof recordEvents
    >[1]);
    await caller.query('commit');
    expect(await tenant.webhooksOf(recorded!)).toEqual([webhook.id]);
    expect((await receiver.deliveries.nth(1)).envelope.id).toBe(recorded!.id);
  });
});

describe('events of one request', () => {
  it('each go to the right webhooks', async () => {
    const tenant = await newTenant(service);
    const { receiver: invoices } = await tenant.connect(200, { event_types: ['invoice.*'] });
    const { receiver: tasks } = await tenant.connect(200, { event_types: ['task.*'] });
    const types = ['invoice.paid', 'task.created', 'invoice.voided', 'task.assigned'];
    const recorded = await record(
      service,
      ...types.map((type) => event({ type, organization_id: tenant.organization })),
    );
    await Promise.all([invoices.deliveries.nth(2), tasks.deliveries.nth(2)]);
    const got = (receiver: Receiver) => receiver.deliveries.all.map(({ envelope }) => envelope.id).sort();
    const ids = recorded.map(({ id }) => id);
    expect(got(invoices)).toEqual([ids[0], ids[2]]);
    expect(got(tasks)).toEqual([ids[1], ids[3]]);
  });
});
