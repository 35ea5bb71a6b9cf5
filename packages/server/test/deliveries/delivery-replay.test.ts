import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { event } from '../support/client.js';
import { type Received, startReceiver } from '../support/receiver.js';
import { recordText } from '../support/recording.js';
import { sharedService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

const service = await sharedService();
const always = { from: '2020-01-01', to: '2100-01-01' };

const replay = (tenant: Tenant, webhook: { id: string }, body: Record<string, unknown> = always) =>
  tenant.request('POST', `/v1/webhooks/${webhook.id}/replay`, { body });

/** Starts a replay and waits until it has queued everything. */
async function replayed(tenant: Tenant, webhook: { id: string }, body: Record<string, unknown> = always) {
  const { status, text, body: created } = await replay(tenant, webhook, body);
  if (status !== 202) throw new Error(text);
  return eventually(
    () => tenant.data('GET', `/v1/webhooks/${webhook.id}/replays/${created.data.id}`),
    (job) => job.status !== 'running',
  );
}

/** Events that were recorded before the webhook was made, so that it got none of them. */
async function withPast(...fields: Record<string, unknown>[]) {
  const tenant = await newTenant(service);
  const events = [];
  for (const one of fields) events.push(await tenant.record(one));
  const { receiver, webhook } = await tenant.connect();
  return { tenant, events, receiver, webhook };
}

const idsOf = (list: { id: string }[]) => list.map(({ id }) => id);
const got = (requests: Received[]) => requests.map(({ envelope }) => envelope.id);

describe.concurrent('POST /v1/webhooks/{id}/replay', () => {
  it('is 202 with the replay, whose progress can be read until it is done', async () => {
    const { tenant, webhook } = await withPast({}, {}, {});
    const { status, headers, body } = await replay(tenant, webhook);
    expect(status).toBe(202);
    expect(body).toEqual({
      data: {
        id: expect.stringMatching(/^RPL-/),
        status: 'running',
        total: 3,
        done: 0,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    });
    const path = `/v1/webhooks/${webhook.id}/replays/${body.data.id}`;
    expect(headers.get('location')).toBe(path);
    const done = await eventually(
      () => tenant.request('GET', path),
      ({ body: { data } }) => data.status !== 'running',
    );
    expect(done.body).toEqual({ data: { ...body.data, status: 'done', done: 3 } });
  });

  it('sends every event of the range unchanged and oldest first, as new deliveries', async () => {
    const { tenant, events, receiver, webhook } = await withPast({}, { type: 'task.created' }, {});
    await replayed(tenant, webhook);
    await receiver.deliveries.nth(3);
    expect(got(receiver.deliveries.all).sort()).toEqual(idsOf(events).sort());
    const deliveries = await tenant.settled(webhook, 3);
    // Newest first in the list: the oldest event was queued first.
    expect(deliveries.map((one) => one.event_id)).toEqual(idsOf(events).reverse());
    for (const { envelope } of receiver.deliveries.all) {
      const stored = await tenant.data('GET', `/v1/events/${envelope.id}`);
      expect(envelope).toMatchObject({ created_at: stored.created_at, data: stored.payload });
    }
  });

  it('ends at the time of the request, so its total does not move', async () => {
    const { tenant, webhook, receiver } = await withPast({}, {});
    const { body } = await replay(tenant, webhook);
    const { rows } = await service.database.query<{ to_at: Date; created_at: Date }>({
      text: 'select to_at, created_at from posthorn.replays where id = $1',
      values: [body.data.id],
    });
    expect(rows[0]!.to_at).toEqual(rows[0]!.created_at);
    await receiver.deliveries.nth(2);
  });

  it('treats from and to as inclusive', async () => {
    const { tenant, events, receiver, webhook } = await withPast({}, {}, {}, {});
    const [from, to] = [events[1]!.created_at, events[2]!.created_at];
    const job = await replayed(tenant, webhook, { from, to });
    // Events recorded in the same millisecond as an edge are within it.
    const within = (await tenant.events()).filter(({ created_at: at }) => at >= from && at <= to);
    expect(job.total).toBe(within.length);
    await receiver.deliveries.nth(within.length);
    expect(got(receiver.deliveries.all).sort()).toEqual(idsOf(within).sort());
  });

  it('sends only events that the webhook subscribes to and its workspace may see', async () => {
    const tenant = await newTenant(service);
    const wanted = await tenant.record({ type: 'invoice.paid', workspace_id: 'WS-1' });
    await tenant.record({ type: 'task.created', workspace_id: 'WS-1' });
    await tenant.record({ type: 'invoice.paid', workspace_id: 'WS-2' });
    await tenant.record({ type: 'invoice.paid', workspace_id: null });
    const fields = { workspace_id: 'WS-1', event_types: ['invoice.*'] };
    const { receiver, webhook } = await tenant.connect(200, fields);
    expect(await replayed(tenant, webhook)).toMatchObject({ status: 'done', total: 1, done: 1 });
    expect((await receiver.deliveries.nth(1)).envelope.id).toBe(wanted.id);
  });

  it("never sends another organization's events", async () => {
    const other = await newTenant(service);
    await other.record();
    const { tenant, webhook } = await withPast();
    expect(await replayed(tenant, webhook)).toMatchObject({ total: 0, done: 0, status: 'done' });
  });

  it.each([
    [['invoice.paid'], ['invoice.paid']],
    [['invoice.*'], ['invoice.paid', 'invoice.voided']],
    ['*', ['invoice.paid', 'invoice.voided', 'task.created']],
    [
      ['task.created', 'invoice.voided'],
      ['invoice.voided', 'task.created'],
    ],
  ])('narrows to event_types %j', async (event_types, expected) => {
    const types = ['invoice.paid', 'invoice.voided', 'task.created'];
    const { tenant, receiver, webhook } = await withPast(...types.map((type) => ({ type })));
    expect((await replayed(tenant, webhook, { ...always, event_types })).total).toBe(expected.length);
    await receiver.deliveries.nth(expected.length);
    expect(receiver.deliveries.all.map(({ envelope }) => envelope.type).sort()).toEqual(expected);
  });

  it('cannot go beyond the subscription', async () => {
    const tenant = await newTenant(service);
    await tenant.record({ type: 'task.created' });
    const { webhook } = await tenant.connect(200, { event_types: ['invoice.*'] });
    expect((await replayed(tenant, webhook, { ...always, event_types: ['task.*'] })).total).toBe(0);
  });

  it('also sends delivered events again, unless only_failed is set', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    const { id } = await tenant.record();
    await tenant.settled(webhook);
    expect((await replayed(tenant, webhook, { ...always, only_failed: true })).total).toBe(0);
    expect((await replayed(tenant, webhook, { ...always, only_failed: false })).total).toBe(1);
    expect((await receiver.deliveries.nth(2)).envelope.id).toBe(id);
  });

  it('with only_failed sends events that were given up, are between attempts, or had no delivery', async () => {
    const tenant = await newTenant(service);
    const missed = await tenant.record({ subject: { type: 'invoice', id: 'missed' } });
    const { receiver, webhook } = await tenant.connect((response, { envelope }: Received) => {
      response.writeHead(envelope.type === 'task.created' ? 500 : 200).end();
    });
    const abandoned = await tenant.record({ type: 'task.created' });
    for (let attempts = 1; attempts <= 5; attempts += 1) {
      await tenant.settled(webhook, 1, (one) => one.attempts === attempts);
      if (attempts < 5) await tenant.bringForward(webhook);
    }
    const between = await tenant.record({ type: 'task.created' });
    const fine = await tenant.record({ type: 'invoice.paid' });
    await tenant.settled(webhook, 3);

    receiver.onDelivery = 200;
    const before = receiver.deliveries.count;
    const types = ['task.*', 'invoice.*'];
    const job = await replayed(tenant, webhook, { ...always, only_failed: true, event_types: types });
    expect(job).toMatchObject({ status: 'done', total: 3, done: 3 });
    await receiver.deliveries.nth(before + 3);
    const sent = got(receiver.deliveries.all.slice(before));
    expect(sent.sort()).toEqual(idsOf([missed, abandoned, between]).sort());
    expect(sent).not.toContain(fine.id);
  });

  it('with only_failed uses the latest delivery of an event, not an earlier one', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    const { id } = await tenant.record();
    const [delivered] = await tenant.settled(webhook);
    receiver.onDelivery = 500;
    await tenant.data('POST', `/v1/webhooks/${webhook.id}/deliveries/${delivered.id}/redeliver`);
    await tenant.settled(webhook, 2);
    const onlyFailed = { ...always, only_failed: true };
    receiver.onDelivery = 200;
    expect((await replayed(tenant, webhook, onlyFailed)).total).toBe(1);
    expect((await receiver.deliveries.nth(3)).envelope.id).toBe(id);

    await tenant.settled(webhook, 2, (one) => one.final);
    expect((await replayed(tenant, webhook, onlyFailed)).total).toBe(0);
  });

  it('with only_failed attempts a delivery that waits for a retry now, as its next attempt, and makes no second one', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(500);
    await tenant.record();
    const [delivery] = await tenant.settled(webhook);
    const onlyFailed = { ...always, only_failed: true };
    for (const attempt of [2, 3]) {
      if (attempt === 3) receiver.onDelivery = 204;
      expect(await replayed(tenant, webhook, onlyFailed)).toMatchObject({
        status: 'done',
        total: 1,
        done: 1,
      });
      expect((await receiver.deliveries.nth(attempt)).headers).toMatchObject({
        ...{ 'x-service-delivery': delivery.id, 'x-service-attempt': String(attempt) },
      });
      await tenant.settled(webhook, 1, (one) => one.attempts === attempt);
    }
    expect(await replayed(tenant, webhook, onlyFailed)).toMatchObject({ status: 'done', total: 0, done: 0 });
  });

  it('with only_failed uses deliveries of this webhook, whatever others got', async () => {
    const tenant = await newTenant(service);
    const { webhook: failing } = await tenant.connect(500);
    const { webhook: fine } = await tenant.connect(200);
    await tenant.record();
    await tenant.settled(failing);
    await tenant.settled(fine);
    const onlyFailed = { ...always, only_failed: true };
    expect((await replayed(tenant, fine, onlyFailed)).total).toBe(0);
    expect((await replayed(tenant, failing, onlyFailed)).total).toBe(1);
  });

  it('sends what a webhook missed while it was disabled', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(500);
    const waiting = await tenant.record();
    await tenant.settled(webhook);
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'disabled' });
    const meanwhile = await tenant.record();
    receiver.onDelivery = 200;
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'active' });
    await replayed(tenant, webhook, { ...always, only_failed: true });
    await receiver.deliveries.nth(3);
    expect(got(receiver.deliveries.all.slice(1)).sort()).toEqual(idsOf([waiting, meanwhile]).sort());
  });

  it('includes an event of its range whose transaction commits after the request', async ({
    onTestFinished,
  }) => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'disabled' });
    const producer = new pg.Client({ connectionString: service.databaseUrl });
    await producer.connect();
    onTestFinished(() => producer.end());
    const before = await tenant.record();
    await producer.query('begin');
    const fields = event({ organization_id: tenant.organization });
    const [open] = await recordText(producer, JSON.stringify([fields]));
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'active' });
    const { id } = (await replay(tenant, webhook)).body.data;
    const job = () => tenant.data('GET', `/v1/webhooks/${webhook.id}/replays/${id}`);
    expect(await eventually(job, ({ done }) => done === 1)).toMatchObject({ status: 'running' });
    await producer.query('commit');
    expect(await eventually(job, ({ status }) => status !== 'running')).toMatchObject({
      ...{ status: 'done', done: 2, total: 2 },
    });
    await receiver.deliveries.nth(2);
    expect(got(receiver.deliveries.all).sort()).toEqual(idsOf([before, open!]).sort());
  });

  it('never sends a webhook events about itself', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    const { webhook: other } = await tenant.connect();
    for (const status of ['disabled', 'active']) {
      await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status });
    }
    const own = { ...always, event_types: ['webhook.*'] };
    expect((await replayed(tenant, webhook, own)).total).toBe(0);
    expect((await replayed(tenant, other, own)).total).toBe(1);
  });

  it('is canceled if the webhook is disabled before it is done', async () => {
    const { tenant, webhook } = await withPast({});
    const job = (await replay(tenant, webhook)).body.data;
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'disabled' });
    const ended = await eventually(
      () => tenant.data('GET', `/v1/webhooks/${webhook.id}/replays/${job.id}`),
      ({ status }) => status !== 'running',
    );
    // Whichever came first: nothing was queued, or it had been by then.
    expect([
      ['cancelled', 0],
      ['done', 1],
    ]).toContainEqual([ended.status, ended.done]);
  });

  it.each(['disabled', 'unverified'])('is 409 if the webhook is %s', async (status) => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    receiver.onVerification = 500;
    if (status === 'disabled') await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status });
    else await tenant.data('POST', `/v1/webhooks/${webhook.id}/verify`);
    const response = await replay(tenant, webhook);
    expect([response.status, response.body.code]).toEqual([409, 'webhook_not_active']);
  });

  it('can name a type that the webhook subscribes to and that is no longer in the catalogue', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    await service.database.query({
      text: "update posthorn.webhooks set event_types = '{parcel.sent,invoice.paid}' where id = $1",
      values: [webhook.id],
    });
    const recorded = await tenant.record();
    await receiver.deliveries.nth(1);
    // The catalogue had the type when the event was recorded.
    await service.database.query({
      text: "update posthorn.events set type = 'parcel.sent' where organization_id = $1",
      values: [tenant.organization],
    });
    expect(await replayed(tenant, webhook, { ...always, event_types: ['parcel.sent'] })).toMatchObject({
      done: 1,
    });
    expect((await receiver.deliveries.nth(2)).envelope).toMatchObject({ id: recorded.id });
    const refused = await replay(tenant, webhook, { ...always, event_types: ['parcel.*'] });
    expect(refused.body.errors).toMatchObject([{ pointer: '/event_types/0', code: 'unknown_event_type' }]);
  });

  let unused: ReturnType<typeof withPast> | undefined;

  it.each([
    ['nothing', {}, ['/from', '/to']],
    ['no to', { from: '2026-01-01' }, ['/to']],
    ['times nobody can read', { from: 'yesterday', to: '2026-02-30' }, ['/from', '/to']],
    ['a time without an offset', { from: '2026-01-01T00:00:00', to: '2026-01-02' }, ['/from']],
    ['from after to', { from: '2026-01-02', to: '2026-01-01' }, ['/from']],
    ['an unknown type', { ...always, event_types: ['invoice.payed'] }, ['/event_types/0']],
    ['no types', { ...always, event_types: [] }, ['/event_types']],
    ['an empty type', { ...always, event_types: [''] }, ['/event_types/0']],
    ['only_failed as text', { ...always, only_failed: 'yes' }, ['/only_failed']],
    ['an unknown field', { ...always, status: 'failed' }, ['/status']],
    [
      'several faults',
      { from: 'x', to: '2026-01-01', event_types: ['x.y'], more: 1 },
      ['/event_types/0', '/from', '/more'],
    ],
  ])('is 422 for %s', async (_name, body, pointers) => {
    unused ??= withPast();
    const { tenant, webhook } = await unused;
    const response = await replay(tenant, webhook, body);
    expect(response.status).toBe(422);
    expect(response.body.errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual(pointers);
  });
});

describe('GET /v1/webhooks/{id}/replays/{replay_id}', () => {
  it('is 404 for a replay of another webhook or an unknown one', async () => {
    const { tenant, webhook } = await withPast({});
    const job = await replayed(tenant, webhook);
    const other = await tenant.webhook(await startReceiver());
    for (const path of [`${other.id}/replays/${job.id}`, `${webhook.id}/replays/RPL-unknown`]) {
      expect((await tenant.request('GET', `/v1/webhooks/${path}`)).status).toBe(404);
    }
  });
});
