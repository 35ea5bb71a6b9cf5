import { beforeAll, describe, expect, it } from 'vitest';
import { startReceiver } from '../support/receiver.js';
import { sharedService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';

const service = await sharedService();

interface Ids {
  webhook: string;
  delivery: string;
  replay: string;
}

/** Every route with an id in its path, and a body that is in order. */
const routes: [method: string, path: string, body?: unknown][] = [
  ['GET', '/v1/webhooks/{webhook}'],
  ['PATCH', '/v1/webhooks/{webhook}', { event_types: ['task.created'] }],
  ['PATCH', '/v1/webhooks/{webhook}', { status: 'disabled' }],
  ['DELETE', '/v1/webhooks/{webhook}'],
  ['POST', '/v1/webhooks/{webhook}/verify'],
  ['POST', '/v1/webhooks/{webhook}/rotate-secret'],
  ['POST', '/v1/webhooks/{webhook}/test', { event_type: 'invoice.paid' }],
  ['GET', '/v1/webhooks/{webhook}/stats'],
  ['GET', '/v1/webhooks/{webhook}/deliveries'],
  ['GET', '/v1/webhooks/{webhook}/deliveries/{delivery}'],
  ['POST', '/v1/webhooks/{webhook}/deliveries/{delivery}/redeliver'],
  ['POST', '/v1/webhooks/{webhook}/replay', { from: '2026-01-01', to: '2100-01-01' }],
  ['GET', '/v1/webhooks/{webhook}/replays/{replay}'],
];

let owner: Tenant;
let other: Tenant;
let neighbour: Tenant;
let theirs: Ids;
let ours: Ids;
const never: Ids = {
  webhook: 'WHK-01ARZ3NDEKTSV4RRFFQ69G5FAV',
  delivery: 'WDLV-01ARZ3NDEKTSV4RRFFQ69G5FAV',
  replay: 'RPL-01ARZ3NDEKTSV4RRFFQ69G5FAV',
};

/** A webhook with one delivery and one replay. */
async function withEverything(tenant: Tenant): Promise<Ids> {
  const { webhook } = await tenant.connect(200, { workspace_id: 'WS-1' });
  await tenant.record({ workspace_id: 'WS-1' });
  const [delivery] = await tenant.settled(webhook);
  const { id } = await tenant.data('POST', `/v1/webhooks/${webhook.id}/replay`, {
    ...{ from: '2020-01-01', to: '2020-01-02' },
  });
  return { webhook: webhook.id, delivery: delivery.id, replay: id };
}

beforeAll(async () => {
  owner = await newTenant(service);
  theirs = await withEverything(owner);
  other = await newTenant(service);
  ours = await withEverything(other);
  const bound = { organization_id: owner.organization, workspace_id: 'WS-2' };
  neighbour = await newTenant(service, bound);
});

/** All that a stranger can see of a response, without the ids that were in the request. */
async function seen(tenant: Tenant, [method, path, body]: (typeof routes)[number], ids: Ids) {
  const filled = path.replace(/\{(\w+)\}/g, (_, kind: keyof Ids) => ids[kind]);
  const { status, headers, text } = await tenant.request(method, filled, {
    headers: { 'x-request-id': 'the-same-request' },
    ...(body !== undefined && { body }),
  });
  const kept = [...headers].filter(([name]) => name !== 'date');
  const plain = Object.values(ids).reduce((left, id) => left.replaceAll(id, 'ID'), text);
  return { status, headers: kept, text: plain };
}

describe.each(routes)('%s %s %j', (...route) => {
  it('responds to a webhook of another organization byte for byte like to an unknown one', async () => {
    const foreign = await seen(other, route, theirs);
    expect(foreign.status).toBe(404);
    expect(foreign).toEqual(await seen(other, route, never));
  });

  it("responds to a workspace's token for a webhook of another workspace like to an unknown one", async () => {
    const foreign = await seen(neighbour, route, theirs);
    expect(foreign.status).toBe(404);
    expect(foreign).toEqual(await seen(neighbour, route, never));
  });
});

describe.each(routes.filter(([, path]) => path.includes('{delivery}') || path.includes('{replay}')))(
  '%s %s, at a webhook of one’s own',
  (...route) => {
    it('responds to ids of another organization byte for byte like to unknown ones', async () => {
      const mixed = await seen(other, route, { ...theirs, webhook: ours.webhook });
      expect(mixed.status).toBe(404);
      expect(mixed).toEqual(await seen(other, route, { ...never, webhook: ours.webhook }));
    });
  },
);

describe('refused requests', () => {
  it('have changed nothing: the owner finds everything unchanged, and events still arrive', async () => {
    const path = `/v1/webhooks/${theirs.webhook}`;
    expect(await owner.data('GET', path)).toMatchObject({ status: 'active', event_types: ['*'] });
    expect((await owner.data('GET', `${path}/deliveries`)).map(({ id }: { id: string }) => id)).toEqual([
      theirs.delivery,
    ]);
    expect((await owner.request('GET', `${path}/deliveries/${theirs.delivery}`)).status).toBe(200);
    expect((await owner.request('GET', `${path}/replays/${theirs.replay}`)).status).toBe(200);
    expect(await owner.webhooksOf(await owner.record({ workspace_id: 'WS-1' }))).toEqual([theirs.webhook]);
  });
});

describe("a workspace's token", () => {
  it("can use every route with a webhook of its own workspace, and sees none of the organization's", async () => {
    const bound = { organization_id: owner.organization, workspace_id: 'WS-1' };
    const colleague = await newTenant(service, bound);
    const own = await withEverything(colleague);
    const [deletion, ...others] = [...routes].sort(([method]) => (method === 'DELETE' ? -1 : 1));
    for (const route of [...others, deletion!]) {
      const { status, text } = await seen(colleague, route, own);
      // Disabled by one of the routes before, which others then refuse.
      expect([200, 202, 204, 409], `${route[0]} ${route[1]}: ${text}`).toContain(status);
    }
    const wide = await owner.webhook(await startReceiver());
    expect((await colleague.request('GET', `/v1/webhooks/${wide.id}`)).status).toBe(404);
  });
});
