import { describe, expect, it } from 'vitest';
import { auditRows } from '../support/audit.js';
import { sharedService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';

const service = await sharedService();
const preview = (tenant: Tenant, fields: object = {}) =>
  tenant.data('POST', '/v1/webhooks/preview', {
    organization_id: tenant.organization,
    event_types: ['*'],
    ...fields,
  });

describe.concurrent('POST /v1/webhooks/preview', () => {
  it('counts what the webhook would have got, shows the newest of it, and changes nothing', async () => {
    const tenant = await newTenant(service);
    for (let n = 1; n <= 12; n += 1) await tenant.record({ payload: { n } });
    await tenant.record({ type: 'task.created', payload: { n: 7 } });
    const result = await preview(tenant, {
      event_types: ['invoice.*'],
      filter: { payload: { n: [{ lte: 11 }] } },
    });
    expect(result).toMatchObject({ examined: 13, matched: 11, is_complete: true });
    expect(result.events.map((one: { payload: { n: number } }) => one.payload.n)).toEqual([
      11, 10, 9, 8, 7, 6, 5, 4, 3, 2,
    ]);
    const [newest] = result.events;
    expect(newest).toEqual(await tenant.data('GET', `/v1/events/${newest.id}`));
    expect(Date.parse(result.to) - Date.parse(result.from)).toBe(86_400_000);
    expect(await tenant.data('GET', '/v1/webhooks')).toEqual([]);
    expect(await auditRows(service.database, tenant.organization)).toEqual([]);
  });

  it('shows the body that a format or a template gives', async () => {
    const tenant = await newTenant(service);
    const { id } = await tenant.record();
    const body = async (fields: object) => (await preview(tenant, fields)).events[0].body;
    expect(await body({ format: 'template', template: { event: '{{id}}' } })).toBe(`{"event":"${id}"}`);
    expect(await body({ format: 'thin' })).toMatch(`{"id":"${id}"`);
    expect(await body({})).toBeUndefined();
  });

  it('keeps to the time range, and to the workspace if there is one', async () => {
    const tenant = await newTenant(service);
    const first = await tenant.record({ workspace_id: 'WS-1' });
    await tenant.record({ workspace_id: null });
    expect((await preview(tenant, { workspace_id: 'WS-1' })).examined).toBe(1);
    expect((await preview(tenant, { to: first.created_at })).matched).toBe(1);
    expect(await preview(tenant, { from: '2020-01-01', to: '2020-01-02' })).toMatchObject({
      examined: 0,
      events: [],
      is_complete: true,
    });
  });

  it('needs the scopes events:read and webhooks:read', async () => {
    for (const scopes of [['events:read'], ['webhooks:read']]) {
      const tenant = await newTenant(service, { scopes: scopes as never });
      const body = { organization_id: tenant.organization, event_types: '*' };
      expect((await tenant.request('POST', '/v1/webhooks/preview', { body })).status).toBe(403);
    }
  });

  it('names every fault', async () => {
    const tenant = await newTenant(service);
    const body = {
      ...{ organization_id: tenant.organization, event_types: ['a.b'], filter: {}, format: 'template' },
      ...{ from: '2026-01-02', to: '2026-01-01' },
    };
    const { status, body: problem } = await tenant.request('POST', '/v1/webhooks/preview', { body });
    const pointers = problem.errors.map(({ pointer }: { pointer: string }) => pointer);
    expect([status, pointers]).toEqual([422, ['/event_types/0', '/filter', '/template', '/from']]);
  });
});
