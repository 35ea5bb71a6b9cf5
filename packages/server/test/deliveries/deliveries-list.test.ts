import { describe, expect, it } from 'vitest';
import { hideDelivery } from '../support/rare-delivery.js';
import { Held, startReceiver } from '../support/receiver.js';
import { sharedService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

const service = await sharedService();

type Listed = { id: string; webhook_id: string; event_id: string; created_at: string; attempts: number };

const listOf = (tenant: Tenant, query = '') =>
  tenant.data('GET', `/v1/deliveries${query}`) as Promise<Listed[]>;
const ofEvent = (tenant: Tenant, event: { id: string }, query = '') =>
  tenant.data('GET', `/v1/events/${event.id}/deliveries${query}`) as Promise<Listed[]>;
const idsOf = (deliveries: Listed[]) => deliveries.map(({ id }) => id);

/** Three webhooks, one of them of the workspace WS-2 and failing; four events of two types for each. */
async function withHistory() {
  const tenant = await newTenant(service);
  const one = await tenant.connect();
  const two = await tenant.connect();
  const failing = await tenant.connect(500, { workspace_id: 'WS-2' });
  for (let n = 0; n < 4; n += 1) {
    await tenant.record({ workspace_id: 'WS-2', type: n % 2 === 0 ? 'invoice.paid' : 'task.created' });
  }
  const all = await eventually(
    () => listOf(tenant, '?limit=100'),
    (list) => list.length === 12,
  );
  return { tenant, one: one.webhook, two: two.webhook, failing: failing.webhook, all };
}

describe.concurrent('GET /v1/deliveries', () => {
  it('has the deliveries of all webhooks, newest first, in the form that each webhook lists them', async () => {
    const { tenant, one, two, failing, all } = await withHistory();
    const each = await Promise.all([one, two, failing].map((webhook) => tenant.deliveries(webhook)));
    const newestFirst = each.flat().sort((a, b) => (a.created_at + a.id < b.created_at + b.id ? 1 : -1));
    expect(all).toEqual(newestFirst);
    expect(new Set(all.map(({ webhook_id }) => webhook_id))).toEqual(new Set([one.id, two.id, failing.id]));
  });

  it('pages, each delivery once', async () => {
    const { tenant, all } = await withHistory();
    const seen: string[] = [];
    let query = '?limit=5';
    for (let page = 0; page < 3; page += 1) {
      const { body } = await tenant.request('GET', `/v1/deliveries${query}`);
      seen.push(...idsOf(body.data));
      expect(body.meta.has_more).toBe(page < 2);
      query = `?limit=5&cursor=${body.meta.cursor}`;
    }
    expect(seen).toEqual(idsOf(all));
  });

  it('can be an empty page with more to come, which says how far back it searched', async () => {
    const tenant = await newTenant(service);
    const hidden = await hideDelivery(service, tenant, 250);
    const empty: { searched_to: string }[] = [];
    let cursor = '';
    for (;;) {
      const { body } = await tenant.request('GET', `/v1/deliveries?event_type=task.created${cursor}`);
      if (!body.meta.has_more) {
        expect(idsOf(body.data)).toEqual([hidden.id]);
        expect(body.meta).not.toHaveProperty('searched_to');
        break;
      }
      expect(body.data).toEqual([]);
      empty.push(body.meta);
      cursor = `&cursor=${body.meta.cursor}`;
    }
    const searched = empty.map(({ searched_to }) => searched_to);
    expect(searched.length).toBeGreaterThan(1);
    expect(searched).toEqual(searched.toSorted().reverse());
    expect(searched.at(-1)! > hidden.createdAt).toBe(true);
  });

  it('filters by webhook_id, status, final, event_type, event_id and time', async () => {
    const { tenant, one, failing, all } = await withHistory();
    const expected = (isWanted: (delivery: Listed & Record<string, unknown>) => boolean) =>
      idsOf(all.filter((each) => isWanted(each as Listed & Record<string, unknown>)));
    const { event_id, created_at } = all[5]!;
    for (const [query, isWanted] of [
      [`webhook_id=${one.id}`, (each) => each.webhook_id === one.id],
      ['webhook_id=WHK-unknown', () => false],
      ['status=failed', (each) => each.webhook_id === failing.id],
      ['status=success', (each) => each.webhook_id !== failing.id],
      ['final=false', (each) => each.webhook_id === failing.id],
      ['final=true', (each) => each.webhook_id !== failing.id],
      ['final=true&status=failed', () => false],
      ['event_type=task.created', (each) => each.event_type === 'task.created'],
      [`event_id=${event_id}`, (each) => each.event_id === event_id],
      [`to=${created_at}`, (each) => each.created_at <= created_at],
      [`from=${created_at}`, (each) => each.created_at >= created_at],
      [`organization_id=${tenant.organization}`, () => true],
      ['workspace_id=WS-2', (each) => each.webhook_id === failing.id],
      ['workspace_id=WS-none', () => false],
    ] as [string, (delivery: Listed & Record<string, unknown>) => boolean][]) {
      expect([query, idsOf(await listOf(tenant, `?${query}`))]).toEqual([query, expected(isWanted)]);
    }
  });

  it('shows a workspace-bound token only those of webhooks of its workspace', async () => {
    const { tenant, one, failing, all } = await withHistory();
    const bound = await newTenant(service, { organization_id: tenant.organization, workspace_id: 'WS-2' });
    const own = all.filter(({ webhook_id }) => webhook_id === failing.id);
    expect(await listOf(bound)).toEqual(own);
    expect(await listOf(bound, `?webhook_id=${one.id}`)).toEqual([]);
    expect((await bound.request('GET', '/v1/deliveries?workspace_id=WS-1')).body.code).toBe(
      'workspace_forbidden',
    );
    const { cursor } = (await tenant.request('GET', '/v1/deliveries?limit=1')).body.meta;
    expect((await bound.request('GET', `/v1/deliveries?cursor=${cursor}`)).body.code).toBe('invalid_cursor');
  });

  it('shows nothing of another organization, and refuses its name', async () => {
    const { tenant, one } = await withHistory();
    const stranger = await newTenant(service);
    expect(await listOf(stranger)).toEqual([]);
    expect(await listOf(stranger, `?webhook_id=${one.id}`)).toEqual([]);
    const refused = await stranger.request('GET', `/v1/deliveries?organization_id=${tenant.organization}`);
    expect([refused.status, refused.body.code]).toEqual([403, 'organization_forbidden']);
  });

  it('leaves out those of a webhook that was deleted', async () => {
    const { tenant, one, all } = await withHistory();
    await tenant.request('DELETE', `/v1/webhooks/${one.id}`);
    expect(await listOf(tenant)).toEqual(all.filter(({ webhook_id }) => webhook_id !== one.id));
  });

  it('needs webhooks:read', async () => {
    const tenant = await newTenant(service, { scopes: ['events:read'] });
    expect((await tenant.request('GET', '/v1/deliveries')).body.code).toBe('insufficient_scope');
  });

  it.each(['final=1', 'limit=0', 'webhook_id=', 'nonsense=1', 'status=pending'])(
    'is 400 for %s',
    async (query) => {
      const tenant = await newTenant(service);
      expect((await tenant.request('GET', `/v1/deliveries?${query}`)).status).toBe(400);
    },
  );
});

/** Sorts deliveries as these webhooks are. */
function sorted(deliveries: { webhook_id: string }[], webhooks: { id: string }[]) {
  const place = ({ webhook_id }: { webhook_id: string }) => webhooks.findIndex(({ id }) => id === webhook_id);
  return deliveries.toSorted((a, b) => place(a) - place(b));
}

describe.concurrent('GET /v1/events/{event_id}/deliveries', () => {
  it('has the deliveries to every webhook, those before their first attempt included with 0 attempts', async () => {
    const tenant = await newTenant(service);
    const held = new Held();
    const { webhook: quick } = await tenant.connect();
    const { receiver, webhook: slow } = await tenant.connect(held.reply);
    const event = await tenant.record();
    await tenant.record();
    // The requests for the two events can arrive in any order.
    const sent = await eventually(
      async () => receiver.deliveries.all.find(({ envelope }) => envelope.id === event.id),
      (found) => found !== undefined,
    );
    await tenant.settled(quick, 2);
    const list = await ofEvent(tenant, event);
    expect(list).toHaveLength(2);
    expect(list).toContainEqual((await tenant.deliveries(quick, `?event_id=${event.id}`))[0]);
    expect(list).toContainEqual({
      ...{
        id: sent?.headers['x-service-delivery'],
        webhook_id: slow.id,
        event_id: event.id,
        event_type: 'invoice.paid',
      },
      ...{ status: 'pending', final: false, attempts: 0, http_status: null, error: null, duration_ms: null },
      ...{ created_at: event.created_at, next_attempt_at: event.created_at },
    });
    held.release(200);
    await tenant.settled(slow, 2);
  });

  it('has those that wait in the database because no node recorded their event', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    await service.database.query({
      text: "update posthorn.webhooks set status = 'unverified' where id = $1",
      values: [webhook.id],
    });
    // Matched while active, in one transaction that is not over when it waits.
    await service.database.transaction(async (client) => {
      await client.query({
        text: "update posthorn.webhooks set status = 'active' where id = $1",
        values: [webhook.id],
      });
      await client.query({
        text: `select posthorn.record_event('invoice.paid', $1, '{"type":"user","id":"USR-1"}',
                 '{"type":"invoice","id":"INV-1"}', '{}')`,
        values: [tenant.organization],
      });
      await client.query({
        text: "update posthorn.webhooks set status = 'unverified' where id = $1",
        values: [webhook.id],
      });
    });
    const [event] = await tenant.events();
    expect(await ofEvent(tenant, event)).toMatchObject([
      {
        ...{ webhook_id: webhook.id, event_id: event.id, status: 'pending', attempts: 0, final: false },
        next_attempt_at: null,
      },
    ]);
  });

  it('has redeliveries, newest first, in pages', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    const event = await tenant.record();
    const [first] = await tenant.settled(webhook);
    const again = await tenant.data('POST', `/v1/webhooks/${webhook.id}/deliveries/${first.id}/redeliver`);
    await tenant.settled(webhook, 2);
    expect(idsOf(await ofEvent(tenant, event))).toEqual([again.id, first.id]);
    const { data, meta } = (await tenant.request('GET', `/v1/events/${event.id}/deliveries?limit=1`)).body;
    expect([idsOf(data), meta.has_more]).toEqual([[again.id], true]);
    expect(idsOf(await ofEvent(tenant, event, `?limit=1&cursor=${meta.cursor}`))).toEqual([first.id]);
  });

  it('has attempted deliveries of webhooks that were deleted since, for tokens that could see them', async () => {
    const tenant = await newTenant(service);
    const reader = await newTenant(service, { organization_id: tenant.organization, workspace_id: 'WS-1' });
    const { webhook: wide } = await tenant.connect();
    const { webhook: bound } = await tenant.connect(500, { workspace_id: 'WS-1' });
    const { id } = await tenant.record({ workspace_id: 'WS-1' });
    await tenant.settled(wide);
    await tenant.settled(bound);
    const path = `/v1/events/${id}/deliveries`;
    for (const webhook of [wide, bound]) await tenant.request('DELETE', `/v1/webhooks/${webhook.id}`);
    const [other, one] = sorted(await tenant.data('GET', path), [bound, wide]);
    expect(one).toMatchObject({ webhook_id: wide.id, status: 'success', final: true });
    expect(other).toMatchObject({
      ...{ webhook_id: bound.id, status: 'failed', final: true, attempts: 1 },
      ...{ http_status: 500, next_attempt_at: null },
    });
    expect(await reader.data('GET', path)).toEqual([other]);
    expect(await listOf(tenant, `?webhook_id=${wide.id}`)).toEqual([]);
  });

  it('is empty for an event that went to nobody, and 404 for one that does not exist', async () => {
    const tenant = await newTenant(service);
    const event = await tenant.record();
    expect((await tenant.request('GET', `/v1/events/${event.id}/deliveries`)).body).toEqual({
      ...{ data: [], meta: { cursor: null, has_more: false, not_delivered: [] } },
    });
    for (const id of ['EVT-unknown', 'nonsense', 'EVT-01ARZ3NDEKTSV4RRFFQ69G5FAV']) {
      expect((await tenant.request('GET', `/v1/events/${id}/deliveries`)).status).toBe(404);
    }
    const stranger = await newTenant(service);
    expect((await stranger.request('GET', `/v1/events/${event.id}/deliveries`)).status).toBe(404);
  });

  it('shows a workspace-bound token those of its webhooks, and needs both scopes', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    await tenant.webhook(receiver);
    const { webhook: own } = await tenant.connect(200, { workspace_id: 'WS-1' });
    const event = await tenant.record({ workspace_id: 'WS-1' });
    const bound = await newTenant(service, { organization_id: tenant.organization, workspace_id: 'WS-1' });
    expect((await ofEvent(bound, event)).map(({ webhook_id }) => webhook_id)).toEqual([own.id]);
    for (const scope of ['events:read', 'webhooks:read'] as const) {
      const half = await newTenant(service, { organization_id: tenant.organization, scopes: [scope] });
      expect((await half.request('GET', `/v1/events/${event.id}/deliveries`)).status).toBe(403);
    }
  });
});
