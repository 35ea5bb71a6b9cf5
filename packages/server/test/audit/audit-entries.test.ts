import { userInfo } from 'node:os';
import { beforeEach, describe, expect, it } from 'vitest';
import { verifyChain } from '../../src/audit/chain-store.js';
import { prepareDemo } from '../../src/cli/service-process.js';
import { type AuditRow, auditRows } from '../support/audit.js';
import { dataDirectory } from '../support/data-directory.js';
import { freshServiceDatabase } from '../support/database.js';
import { startReceiver } from '../support/receiver.js';
import { sharedService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

const service = await sharedService();
const ada = { type: 'user', id: 'USR-ada' };
const secret = 'a-secret-that-must-not-be-logged';
let tenant: Tenant;

beforeEach(async () => {
  tenant = await newTenant(service, { actor: ada });
});

const entries = () => auditRows(service.database, tenant.organization);
const actions = async () => (await entries()).map(({ action }) => action);

/** What a request that must succeed adds to the log, with what every entry has checked. */
async function entryOf(
  webhook: { id: string; workspace_id: string | null },
  method: string,
  path: string,
  body?: unknown,
): Promise<AuditRow> {
  const before = (await entries()).length;
  const headers = { 'x-request-id': `request-${before}.${method}` };
  const more = { headers, ...(body !== undefined && { body }) };
  const response = await tenant.request(method, `/v1/webhooks/${webhook.id}${path}`, more);
  expect(response.status, response.text).toBeLessThan(300);
  const added = (await entries()).slice(before);
  expect(added).toHaveLength(1);
  expect(added[0]).toMatchObject({
    id: expect.stringMatching(/^AUD-[0-9A-HJKMNP-TV-Z]{26}$/),
    workspace_id: webhook.workspace_id,
    actor: ada,
    target: { type: 'webhook', id: webhook.id },
    request_id: headers['x-request-id'],
    source_address: '127.0.0.1',
  });
  return added[0]!;
}

describe('every change leaves one entry', () => {
  it('creating: the new values, but neither the secret nor the result of the verification', async () => {
    const { url } = await startReceiver();
    const { status, body, headers } = await tenant.create({
      ...{ url, secret, workspace_id: 'WS-1', event_types: ['invoice.paid'] },
    });
    expect(status).toBe(201);
    expect(await entries()).toEqual([
      {
        id: expect.any(String),
        position: 1,
        workspace_id: 'WS-1',
        actor: ada,
        action: 'webhook.created',
        target: { type: 'webhook', id: body.data.id },
        request_id: headers.get('x-request-id'),
        source_address: '127.0.0.1',
        changes: { url: { from: null, to: url }, event_types: { from: null, to: ['invoice.paid'] } },
        created_at: expect.any(Date),
      },
    ]);
  });

  it('changing: only the changed fields', async () => {
    const { webhook } = await tenant.connect(200, { workspace_id: 'WS-1', event_types: ['invoice.paid'] });
    const entry = await entryOf(webhook, 'PATCH', '', { event_types: ['task.created'] });
    expect(entry.action).toBe('webhook.updated');
    expect(entry.changes).toEqual({ event_types: { from: ['invoice.paid'], to: ['task.created'] } });
  });

  it('changing to the same values: an entry without changes', async () => {
    const { webhook } = await tenant.connect();
    expect((await entryOf(webhook, 'PATCH', '', { event_types: ['*'] })).changes).toEqual({});
  });

  it('changing the URL: includes the result of its verification', async () => {
    const { webhook } = await tenant.connect();
    const refusing = await startReceiver({ onVerification: 500 });
    const entry = await entryOf(webhook, 'PATCH', '', { url: refusing.url });
    expect(entry.action).toBe('webhook.updated');
    expect(entry.changes).toEqual({
      url: { from: webhook.url, to: refusing.url },
      status: { from: 'active', to: 'unverified' },
    });
  });

  it('disabling and enabling', async () => {
    const { webhook } = await tenant.connect();
    const disabled = {
      status: { from: 'active', to: 'disabled' },
      disabled_reason: { from: null, to: 'manual' },
    };
    expect((await entryOf(webhook, 'PATCH', '', { status: 'disabled' })).changes).toEqual(disabled);
    const enabled = {
      status: { from: 'disabled', to: 'active' },
      disabled_reason: { from: 'manual', to: null },
    };
    expect((await entryOf(webhook, 'PATCH', '', { status: 'active' })).changes).toEqual(enabled);
    expect(await actions()).toEqual(['webhook.created', 'webhook.updated', 'webhook.updated']);
  });

  it('deleting: the old values', async () => {
    const { webhook } = await tenant.connect(200, { event_types: ['invoice.paid'] });
    const entry = await entryOf(webhook, 'DELETE', '');
    expect(entry.action).toBe('webhook.deleted');
    expect(entry.changes).toEqual({
      url: { from: webhook.url, to: null },
      event_types: { from: ['invoice.paid'], to: null },
      status: { from: 'active', to: null },
    });
  });

  it('testing: the event type', async () => {
    const { webhook } = await tenant.connect();
    const entry = await entryOf(webhook, 'POST', '/test', { event_type: 'invoice.paid' });
    expect(entry.action).toBe('webhook.tested');
    expect(entry.changes).toEqual({ event_type: { from: null, to: 'invoice.paid' } });
  });

  it('verifying: whether it succeeded, and the status if it changed', async () => {
    const { receiver, webhook } = await tenant.connect();
    const same = await entryOf(webhook, 'POST', '/verify');
    expect([same.action, same.changes]).toEqual(['webhook.verified', {}]);
    receiver.onVerification = 500;
    const failed = await entryOf(webhook, 'POST', '/verify');
    expect([failed.action, failed.changes]).toEqual([
      'webhook.verification_failed',
      { status: { from: 'active', to: 'unverified' } },
    ]);
    const again = await entryOf(webhook, 'POST', '/verify');
    expect([again.action, again.changes]).toEqual(['webhook.verification_failed', {}]);
  });

  it('verifying while it changes: the request, without changes', async () => {
    const { receiver, webhook } = await tenant.connect();
    receiver.onVerification = async (response) => {
      await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { event_types: ['task.created'] });
      response.writeHead(500).end();
    };
    expect((await tenant.data('POST', `/v1/webhooks/${webhook.id}/verify`)).status).toBe('active');
    expect((await entries()).map(({ action, changes }) => [action, Object.keys(changes)])).toEqual([
      ['webhook.created', ['url', 'event_types']],
      ['webhook.updated', ['event_types']],
      ['webhook.verified', []],
    ]);
  });

  it('rotating the secret: how long the previous one signs, and neither secret', async () => {
    const { webhook } = await tenant.connect();
    const first = await entryOf(webhook, 'POST', '/rotate-secret', { secret, grace: '1h' });
    expect(first.action).toBe('webhook.secret_rotated');
    const until = first.changes.previous_secret_until?.to;
    expect(first.changes).toEqual({ previous_secret_until: { from: null, to: until } });
    expect(Date.parse(String(until))).toBeGreaterThan(Date.now());
    const second = await entryOf(webhook, 'POST', '/rotate-secret', { secret, grace: '0s' });
    expect(second.changes).toEqual({ previous_secret_until: { from: until, to: null } });
  });

  it('redelivering: the new delivery, the old one and the event', async () => {
    const { webhook } = await tenant.connect();
    const event = await tenant.record();
    const [delivery] = await tenant.settled(webhook);
    const entry = await entryOf(webhook, 'POST', `/deliveries/${delivery.id}/redeliver`);
    expect(entry.action).toBe('webhook.redelivered');
    const [again] = await tenant.settled(webhook, 2);
    expect(entry.changes).toEqual({
      delivery_id: { from: null, to: again.id },
      redelivery_of: { from: null, to: delivery.id },
      event_id: { from: null, to: event.id },
    });
  });

  it('replaying: the replay and its filters', async () => {
    const { webhook } = await tenant.connect();
    const day = new Date().toISOString().slice(0, 10);
    const entry = await entryOf(webhook, 'POST', '/replay', {
      from: day,
      to: day,
      event_types: ['invoice.*'],
    });
    expect(entry.action).toBe('webhook.replayed');
    expect(entry.changes).toEqual({
      replay_id: { from: null, to: expect.stringMatching(/^RPL-/) },
      from: { from: null, to: `${day}T00:00:00.000Z` },
      to: { from: null, to: expect.stringMatching(new RegExp(`^${day}T`)) },
      event_types: { from: null, to: ['invoice.*'] },
      only_failed: { from: null, to: false },
    });
  });

  it('creating the demo token at the first start: once, by the operator', async () => {
    const { database } = await freshServiceDatabase();
    const settings = { dataDir: await dataDirectory(), cell: 'east' };
    for (let start = 0; start < 2; start++) {
      expect(await prepareDemo(database, settings, Date.now())).toMatch(/^pht_east\./);
    }
    const rows = await auditRows(database, 'ORG-demo');
    expect(rows).toMatchObject([
      {
        actor: { type: 'operator', id: userInfo().username },
        action: 'token.created',
        target: { type: 'token', id: expect.stringMatching(/^TOK-/) },
        request_id: null,
        source_address: null,
      },
    ]);
  });
});

describe('no entry is left', () => {
  const refused = async (method: string, path: string, status: number, body?: unknown) => {
    const before = await entries();
    const response = await tenant.request(method, path, body === undefined ? {} : { body });
    expect(response.status, response.text).toBe(status);
    expect(await entries()).toEqual(before);
  };

  it('by a refused request', async () => {
    const { webhook } = await tenant.connect();
    const path = `/v1/webhooks/${webhook.id}`;
    await refused('POST', '/v1/webhooks', 422, tenant.creation({ url: 'ftp://x' }));
    await refused(
      'POST',
      '/v1/webhooks',
      403,
      tenant.creation({ url: webhook.url, organization_id: 'ORG-else' }),
    );
    await refused('PATCH', path, 422, { event_types: ['nobody.knows'] });
    await refused('POST', `${path}/test`, 422, { event_type: 'nobody.knows' });
    await refused('POST', `${path}/rotate-secret`, 422, { secret: 'short' });
    await refused('POST', `${path}/deliveries/WDLV-01ARZ3NDEKTSV4RRFFQ69G5FAV/redeliver`, 404);
    await refused('DELETE', '/v1/webhooks/WHK-01ARZ3NDEKTSV4RRFFQ69G5FAV', 404);
    await tenant.data('PATCH', path, { status: 'disabled' });
    await refused('POST', `${path}/verify`, 409);
    await refused('POST', `${path}/replay`, 409, { from: '2026-01-01', to: '2026-01-02' });
    await tenant.data('DELETE', path);
    await refused('DELETE', path, 404);
    await refused('POST', `${path}/test`, 404, { event_type: 'invoice.paid' });
  });

  it('by the eleventh test within a minute, and by a webhook beyond the limit', async () => {
    const { webhook } = await tenant.connect();
    const test = { event_type: 'invoice.paid' };
    for (let n = 0; n < 10; n++) await tenant.data('POST', `/v1/webhooks/${webhook.id}/test`, test);
    await refused('POST', `/v1/webhooks/${webhook.id}/test`, 429, test);
    await service.database.query({
      text: `
  insert into posthorn.webhooks (organization_id, id, url, status, event_types, created_at, secret)
  select $1, 'WHK-' || n, 'https://example.com', 'unverified', '{*}', now(), '' from generate_series(2, 100) n`,
      values: [tenant.organization],
    });
    await refused('POST', '/v1/webhooks', 409, tenant.creation({ url: webhook.url }));
  });

  it('by a change that lost the race with a verification of the URL', async () => {
    const { webhook } = await tenant.connect();
    const moved = await startReceiver();
    moved.onVerification = async (response) => {
      await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { event_types: ['task.created'] });
      response.writeHead(200).end();
    };
    const response = await tenant.request('PATCH', `/v1/webhooks/${webhook.id}`, {
      body: { url: moved.url },
    });
    expect(response.status).toBe(409);
    expect(await actions()).toEqual(['webhook.created', 'webhook.updated']);
  });

  it('by a request that is retried with its Idempotency-Key', async () => {
    const { url } = await startReceiver();
    const more = { headers: { 'idempotency-key': 'once' } };
    const [first, again] = [await tenant.create({ url }, more), await tenant.create({ url }, more)];
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.body.data.id).toBe(first.body.data.id);
    expect(await actions()).toEqual(['webhook.created']);
  });

  it('by the service itself', async () => {
    const { webhook } = await tenant.connect(410);
    await tenant.record();
    await eventually(
      () => tenant.data('GET', `/v1/webhooks/${webhook.id}`),
      ({ status }) => status === 'disabled',
    );
    expect(await actions()).toEqual(['webhook.created']);
  });
});

describe('a change and its entry are atomic', () => {
  it('if the entry cannot be written, nothing is', async () => {
    const { webhook } = await tenant.connect();
    const broken = `for each row when (new.organization_id = '${tenant.organization}')`;
    await service.database.query({
      text: `create function posthorn.break_audit() returns trigger language plpgsql
             as $$ begin raise exception 'broken'; end $$`,
    });
    await service.database.query({
      text: `create trigger break_audit before insert on posthorn.audit_log ${broken}
             execute function posthorn.break_audit()`,
    });
    const before = await stateOf(tenant.organization);
    const path = `/v1/webhooks/${webhook.id}`;
    const writes: [string, string, unknown?][] = [
      ['POST', '/v1/webhooks', tenant.creation({ url: webhook.url })],
      ['PATCH', path, { event_types: ['task.created'] }],
      ['PATCH', path, { url: `${webhook.url}/2` }],
      ['PATCH', path, { status: 'disabled' }],
      ['POST', `${path}/verify`],
      ['POST', `${path}/rotate-secret`],
      ['POST', `${path}/test`, { event_type: 'invoice.paid' }],
      ['POST', `${path}/replay`, { from: '2026-01-01', to: '2026-01-02' }],
      ['DELETE', path],
    ];
    for (const [method, to, body] of writes) {
      const { status } = await tenant.request(method, to, body === undefined ? {} : { body });
      expect([method, to, status]).toEqual([method, to, 500]);
    }
    await service.database.query({ text: 'drop function posthorn.break_audit() cascade' });
    expect(await stateOf(tenant.organization)).toEqual(before);
    expect(await actions()).toEqual(['webhook.created']);
  });

  async function stateOf(organization: string): Promise<unknown> {
    const { rows } = await service.database.query({
      text: `
  select (select json_agg(w order by id)::text from posthorn.webhooks w where organization_id = $1) as webhooks,
         (select json_agg(r order by id)::text from posthorn.replays r where organization_id = $1) as replays,
         (select count(*) from posthorn.events where organization_id = $1) as events`,
      values: [organization],
    });
    return rows;
  }
});

it('the log contains no secret, neither in plain text nor encrypted, and its chain is intact', async () => {
  const { url } = await startReceiver();
  const { body } = await tenant.create({ url, secret });
  const path = `/v1/webhooks/${body.data.id}`;
  const { secret: generated } = await tenant.data('POST', `${path}/rotate-secret`, {});
  await tenant.data('POST', `${path}/rotate-secret`, { secret: `${secret}-2` });
  const { rows } = await service.database.query<{ text: string; sealed: string; before: string }>({
    text: `
  select (select string_agg(l::text, E'\\n') from posthorn.audit_log l where organization_id = $1) as text,
         encode(w.secret, 'hex') as sealed, encode(w.previous_secret, 'hex') as before
    from posthorn.webhooks w where w.organization_id = $1`,
    values: [tenant.organization],
  });
  const { text, sealed, before } = rows[0]!;
  expect(text).toContain('webhook.secret_rotated');
  const secrets = [secret, generated, generated.slice(6), tenant.token, sealed, before];
  expect(secrets.filter((one) => text.includes(one))).toEqual([]);
  expect((await verifyChain(service.database, tenant.organization)).fault).toBeUndefined();
});
