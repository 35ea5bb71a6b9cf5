import { describe, expect, it } from 'vitest';
import { hangs, type Reply, startReceiver } from '../support/receiver.js';
import { sharedService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

const service = await sharedService();

async function withWebhooks(count: number): Promise<{ tenant: Tenant; ids: string[] }> {
  const tenant = await newTenant(service);
  const receiver = await startReceiver();
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) ids.unshift((await tenant.webhook(receiver)).id);
  return { tenant, ids };
}

const list = (tenant: Tenant, query = '') => tenant.request('GET', `/v1/webhooks${query}`);
const idsOf = (webhooks: { id: string }[]) => webhooks.map(({ id }) => id);

describe('GET /v1/webhooks', () => {
  it('returns exactly the fields of the contract, with nulls before the first delivery', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(200, { event_types: ['invoice.*', 'task.created'] });
    const { status, body } = await list(tenant, `?organization_id=${tenant.organization}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      data: [
        {
          id: webhook.id,
          organization_id: tenant.organization,
          workspace_id: null,
          url: receiver.url,
          status: 'active',
          disabled_reason: null,
          event_types: ['invoice.*', 'task.created'],
          created_at: webhook.created_at,
          last_delivery_at: null,
          last_delivery_status: null,
          ...{
            description: null,
            rate_limit: null,
            filter: null,
            format: 'envelope',
            template: null,
            headers: {},
            verification_failure: null,
            previous_secret_until: null,
            retry_schedule: null,
            expires_at: null,
            failing_since: null,
          },
        },
      ],
      meta: { cursor: expect.any(String), has_more: false },
    });
  });

  it('is newest first', async () => {
    const { tenant, ids } = await withWebhooks(4);
    expect(idsOf((await list(tenant)).body.data)).toEqual(ids);
  });

  it('returns an empty list if there are none', async () => {
    const { body } = await list(await newTenant(service));
    expect(body).toEqual({ data: [], meta: { cursor: null, has_more: false } });
  });

  it('does not need organization_id, and is 403 for another one', async () => {
    const { tenant, ids } = await withWebhooks(1);
    expect(idsOf((await list(tenant)).body.data)).toEqual(ids);
    const other = await list(await newTenant(service), `?organization_id=${tenant.organization}`);
    expect([other.status, other.body.code]).toEqual([403, 'organization_forbidden']);
  });

  it("has no webhook of another organization or, for a workspace's token, of another workspace", async () => {
    const { tenant } = await withWebhooks(1);
    expect((await list(await newTenant(service))).body.data).toEqual([]);
    const receiver = await startReceiver();
    const own = await tenant.webhook(receiver, { workspace_id: 'WS-own' });
    await tenant.webhook(receiver, { workspace_id: 'WS-other' });
    const bound = await newTenant(service, {
      ...{ organization_id: tenant.organization, workspace_id: 'WS-own' },
    });
    expect(idsOf((await list(bound)).body.data)).toEqual([own.id]);
    expect((await list(bound, '?workspace_id=WS-other')).status).toBe(403);
  });

  it('pages with limit and cursor, each webhook once, even while others are created and deleted', async () => {
    const { tenant, ids } = await withWebhooks(5);
    const first = await list(tenant, '?limit=2');
    expect(idsOf(first.body.data)).toEqual(ids.slice(0, 2));
    expect(first.body.meta).toEqual({ cursor: expect.any(String), has_more: true });

    await tenant.webhook(await startReceiver());
    await tenant.data('DELETE', `/v1/webhooks/${ids[1]}`);
    const second = await list(tenant, `?limit=2&cursor=${first.body.meta.cursor}`);
    expect(idsOf(second.body.data)).toEqual(ids.slice(2, 4));
    const third = await list(tenant, `?cursor=${second.body.meta.cursor}`);
    expect(idsOf(third.body.data)).toEqual(ids.slice(4));
    expect(third.body.meta.has_more).toBe(false);
  });

  it('has an exact has_more at the end of the list', async () => {
    const { tenant } = await withWebhooks(2);
    expect((await list(tenant, '?limit=2')).body.meta.has_more).toBe(false);
    expect((await list(tenant, '?limit=1')).body.meta.has_more).toBe(true);
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=ten', 'limit'],
    ['cursor=nonsense', 'cursor'],
    ['status=active', 'status'],
    ['limit=1&limit=2', 'limit'],
  ])('is 400 for %s', async (query, parameter) => {
    const { status, body } = await list(await newTenant(service), `?${query}`);
    expect([status, body.errors?.[0].parameter]).toEqual([400, parameter]);
  });

  it("is 400 invalid_cursor for a cursor of another organization's list", async () => {
    const { tenant } = await withWebhooks(2);
    const { cursor } = (await list(tenant, '?limit=1')).body.meta;
    const { status, body } = await list(await newTenant(service), `?cursor=${cursor}`);
    expect([status, body.code]).toEqual([400, 'invalid_cursor']);
  });
});

describe('GET /v1/webhooks/{id}', () => {
  it('returns the webhook as the list does', async () => {
    const { tenant, ids } = await withWebhooks(1);
    const { status, body } = await tenant.request('GET', `/v1/webhooks/${ids[0]}`);
    expect(status).toBe(200);
    expect(body).toEqual({ data: (await list(tenant)).body.data[0] });
  });
});

describe('last_delivery_at and last_delivery_status', () => {
  const read = (tenant: Tenant, webhook: { id: string }) =>
    tenant.data('GET', `/v1/webhooks/${webhook.id}`).then((body) => ({
      ...{ at: body.last_delivery_at, status: body.last_delivery_status },
    }));

  it.each<[string, Reply, string]>([
    ['got a 204', 204, 'success'],
    ['got a 500', 500, 'failed'],
    ['was redirected', { status: 302, headers: { location: '/elsewhere' } }, 'failed'],
  ])('describe the latest attempt: one that %s', async (_name, reply, status) => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect(reply);
    await tenant.record();
    const seen = await eventually(
      () => read(tenant, webhook),
      ({ at }) => at !== null,
    );
    const [delivery] = await tenant.settled(webhook);
    expect(seen.status).toBe(status);
    const attempt = (await tenant.data('GET', `/v1/webhooks/${webhook.id}/deliveries/${delivery.id}`))
      .attempt_log[0];
    expect(seen.at).toBe(attempt.attempted_at);
    expect((await list(tenant)).body.data[0]).toMatchObject({
      ...{ last_delivery_at: seen.at, last_delivery_status: status },
    });
  });

  it('show an attempt no later than the list of deliveries', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    await tenant.record();
    await tenant.settled(webhook);
    expect(await read(tenant, webhook)).toMatchObject({ status: 'success' });
  });

  it('change from success to failed and back', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    const times: string[] = [];
    for (const [reply, status] of [
      [200, 'success'],
      [500, 'failed'],
      [200, 'success'],
    ] as const) {
      receiver.onDelivery = reply;
      await tenant.record();
      const seen = await eventually(
        () => read(tenant, webhook),
        ({ at, status: seenStatus }) => at !== times.at(-1) && seenStatus === status,
      );
      times.push(seen.at);
    }
    expect([...times].sort()).toEqual(times);
  });

  it('do not change with tests and verifications', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    await tenant.data('POST', `/v1/webhooks/${webhook.id}/test`, { event_type: 'invoice.paid' });
    await tenant.data('POST', `/v1/webhooks/${webhook.id}/verify`);
    // A delivery behind them is seen, so what they would have changed would be too.
    const before = Date.now();
    await tenant.record();
    const seen = await eventually(
      () => read(tenant, webhook),
      ({ at }) => at !== null,
    );
    expect(Date.parse(seen.at)).toBeGreaterThanOrEqual(before);
  });

  it('stay null during the first attempt', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(hangs);
    await tenant.record();
    await receiver.deliveries.nth(1);
    expect(await read(tenant, webhook)).toEqual({ at: null, status: null });
    await receiver.close();
  });
});
