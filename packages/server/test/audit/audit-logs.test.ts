import { beforeEach, describe, expect, it } from 'vitest';
import { scopes } from '../../src/access/token.js';
import { writeAudit } from '../../src/audit/audit-store.js';
import { auditEntry } from '../support/audit.js';
import { type ApiResponse, sendRequest } from '../support/client.js';
import { Conformance } from '../support/conformance.js';
import { readOperations } from '../support/operations.js';
import { startTestService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';

const service = await startTestService();
const auditor = { scopes: ['audit:read'] as const, expires_at: new Date(Date.now() + 3 * 366 * 86_400_000) };
let tenant: Tenant;

interface Entry {
  id: string;
  action: string;
  created_at: string;
}
interface Page {
  data: Entry[];
  meta: { cursor: string | null; has_more: boolean };
}

/** Entries one after the other, each in a millisecond of its own. */
async function write(...some: Parameters<typeof auditEntry>[0][]): Promise<void> {
  for (const fields of some) {
    const entry = auditEntry({ organization_id: tenant.organization, ...fields });
    await writeAudit(service.database, [entry]);
    await service.database.query({ text: 'select pg_sleep(0.002)' });
  }
}

const list = (query = '', by = tenant): Promise<ApiResponse> => by.request('GET', `/v1/audit-logs${query}`);
async function page(query = '', by = tenant): Promise<Page> {
  const { status, text, body } = await list(query, by);
  expect(status, text).toBe(200);
  return body;
}
const idsOf = ({ data }: Page) => data.map(({ id }) => id);

beforeEach(async () => {
  service.clock.stoppedAtMs = undefined;
  tenant = await newTenant(service, auditor);
});

it('an entry has exactly its fields', async () => {
  await write({ workspace_id: 'WS-1' });
  const { data, meta } = await page();
  expect(data).toEqual([
    {
      id: expect.stringMatching(/^AUD-[0-9A-HJKMNP-TV-Z]{26}$/),
      organization_id: tenant.organization,
      workspace_id: 'WS-1',
      actor: { type: 'user', id: 'USR-ada' },
      action: 'webhook.updated',
      target: { type: 'webhook', id: 'WHK-1' },
      request_id: 'request-1',
      source_address: '192.0.2.1',
      changes: { url: { from: 'https://a.example', to: 'https://b.example' } },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    },
  ]);
  expect(meta).toEqual({ cursor: expect.any(String), has_more: false });
});

it('responds as documented', async () => {
  await write({}, { request_id: null, source_address: null, changes: {} });
  const operation = (await readOperations(service.publicUrl)).find(({ path }) => path === '/v1/audit-logs')!;
  expect(operation.scopes).toEqual(['audit:read']);
  const conformance = await Conformance.of(service.publicUrl);
  const responses = await Promise.all(
    ['', '?limit=0', '?organization_id=ORG-else', '?cursor=x'].map((query) => list(query)),
  );
  expect(responses.map(({ status }) => status)).toEqual([200, 400, 403, 400]);
  for (const response of responses) conformance.check(operation, response);
});

describe('filters', () => {
  beforeEach(() =>
    write(
      { workspace_id: 'WS-1', action: 'webhook.created' },
      { workspace_id: 'WS-2', actor: { type: 'operator', id: 'root' }, action: 'token.created' },
      { target: { type: 'token', id: 'TOK-1' }, action: 'token.revoked' },
    ),
  );

  it.each([
    ['', [2, 1, 0]],
    ['?workspace_id=WS-1', [0]],
    ['?actor_id=root', [1]],
    ['?actor_id=USR-ada', [2, 0]],
    ['?action=token.created', [1]],
    ['?action=token', []],
    ['?target_id=TOK-1', [2]],
    ['?actor_id=USR-ada&target_id=WHK-1', [0]],
    ['?order=asc', [0, 1, 2]],
    ['?from=2000-01-01&to=2000-12-31', []],
    ['?workspace_id=WS-none', []],
  ])('%j', async (query, expected) => {
    const all = idsOf(await page('?order=asc'));
    expect(idsOf(await page(query))).toEqual(expected.map((index) => all[index]));
    const withOrganization = `${query}${query ? '&' : '?'}organization_id=${tenant.organization}`;
    expect(idsOf(await page(withOrganization))).toEqual(expected.map((index) => all[index]));
  });

  it('by time include both ends, to the millisecond', async () => {
    const { data } = await page('?order=asc');
    const [first, second, third] = data as [Entry, Entry, Entry];
    expect(idsOf(await page(`?from=${second.created_at}`))).toEqual([third.id, second.id]);
    expect(idsOf(await page(`?to=${second.created_at}`))).toEqual([second.id, first.id]);
    expect(idsOf(await page(`?from=${second.created_at}&to=${second.created_at}`))).toEqual([second.id]);
    const today = second.created_at.slice(0, 10);
    expect(await page(`?to=${today}&from=${first.created_at.slice(0, 10)}`)).toMatchObject({
      data: { length: 3 },
    });
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=ten', 'limit'],
    ['from=yesterday', 'from'],
    ['from=2026-02-01&to=2026-01-01', 'from'],
    ['order=up', 'order'],
    ['type=webhook.created', 'type'],
    ['action=', 'action'],
    ['action=a&action=b', 'action'],
  ])('%s is 400', async (query, parameter) => {
    const { status, body } = await list(`?${query}`);
    expect(status).toBe(400);
    expect(body.errors).toMatchObject([{ parameter }]);
  });
});

describe('pages', () => {
  it.each(['desc', 'asc'] as const)('follow each other without loss or repetition, %s', async (order) => {
    await write(...Array.from({ length: 7 }, () => ({})));
    const whole = idsOf(await page(`?order=${order}`));
    const seen: string[] = [];
    let query = `?order=${order}&limit=3`;
    for (;;) {
      const one = await page(query);
      seen.push(...idsOf(one));
      if (!one.meta.has_more) break;
      expect(one.data).toHaveLength(seen.length === 5 ? 2 : 3);
      query = `?order=${order}&limit=${seen.length === 3 ? 2 : 3}&cursor=${one.meta.cursor}`;
    }
    expect(seen).toEqual(whole);
    expect(seen).toHaveLength(7);
  });

  it('have 25 entries by default', async () => {
    await writeAudit(
      service.database,
      Array.from({ length: 26 }, () => auditEntry({ organization_id: tenant.organization })),
    );
    expect(await page()).toMatchObject({ data: { length: 25 }, meta: { has_more: true } });
  });

  it('of one millisecond keep the order of writing', async () => {
    const names = Array.from({ length: 30 }, (_, n) => `test.${String(n).padStart(2, '0')}`);
    await writeAudit(
      service.database,
      names.map((action) => auditEntry({ organization_id: tenant.organization, action })),
    );
    const { data } = await page('?order=asc&limit=100');
    expect(data.map(({ action }) => action)).toEqual(names);
  });

  it('have a null cursor if they are empty and descending', async () => {
    expect(await page()).toEqual({ data: [], meta: { cursor: null, has_more: false } });
  });

  it('always have a cursor if they are ascending, even for an empty log', async () => {
    const empty = await page('?order=asc');
    expect(empty).toEqual({ data: [], meta: { cursor: expect.any(String), has_more: false } });
    await write({});
    const first = await page(`?order=asc&cursor=${empty.meta.cursor}`);
    expect(first.data).toHaveLength(1);
    const none = await page(`?order=asc&cursor=${first.meta.cursor}`);
    expect(none).toEqual({ data: [], meta: { cursor: expect.any(String), has_more: false } });
    await write({ action: 'webhook.deleted' });
    const second = await page(`?order=asc&cursor=${none.meta.cursor}`);
    expect(second.data).toMatchObject([{ action: 'webhook.deleted' }]);
  });

  it.each(['order=asc', 'action=webhook.updated', 'workspace_id=WS-1', 'from=2000-01-01', 'to=2100-01-01'])(
    'have cursors that are refused for another query: %s',
    async (question) => {
      await write({});
      const { meta } = await page();
      const { status, body } = await list(`?${question}&cursor=${meta.cursor}`);
      expect([status, body.code]).toEqual([400, 'invalid_cursor']);
    },
  );

  it('refuse cursors of the event stream', async () => {
    const both = await newTenant(service, { scopes, expires_at: auditor.expires_at });
    const events = await both.request('GET', `/v1/events?order=asc&organization_id=${both.organization}`);
    const response = await list(`?order=asc&cursor=${events.body.meta.cursor}`, both);
    expect([response.status, response.body.code]).toEqual([400, 'invalid_cursor']);
  });
});

describe('tenancy', () => {
  beforeEach(() => write({ workspace_id: 'WS-1' }, { workspace_id: 'WS-2' }, { workspace_id: null }));

  it('shows nothing of another organization, and a request for it is 403', async () => {
    const other = await newTenant(service, auditor);
    expect(idsOf(await page('', other))).toEqual([]);
    const { status, body } = await list(`?organization_id=${tenant.organization}`, other);
    expect([status, body.code]).toEqual([403, 'organization_forbidden']);
  });

  it('shows a token of a workspace only the entries of that workspace', async () => {
    const bound = await newTenant(service, {
      ...auditor,
      ...{ organization_id: tenant.organization, workspace_id: 'WS-1' },
    });
    const ours = idsOf(await page('?workspace_id=WS-1'));
    expect(ours).toHaveLength(1);
    expect(idsOf(await page('', bound))).toEqual(ours);
    expect(idsOf(await page('?workspace_id=WS-1', bound))).toEqual(ours);
    const { status, body } = await list('?workspace_id=WS-2', bound);
    expect([status, body.code]).toEqual([403, 'workspace_forbidden']);
  });

  it('does not let a cursor give a token access to other workspaces', async () => {
    const bound = await newTenant(service, {
      ...auditor,
      ...{ organization_id: tenant.organization, workspace_id: 'WS-1' },
    });
    const { meta } = await page('?limit=1');
    expect((await list(`?cursor=${meta.cursor}`, bound)).body.code).toBe('invalid_cursor');
  });
});

describe('access', () => {
  it('needs the scope audit:read', async () => {
    const without = scopes.filter((scope) => scope !== 'audit:read');
    const { status, body } = await list('', await newTenant(service, { scopes: without }));
    expect([status, body.code]).toEqual([403, 'insufficient_scope']);
    expect(body.detail).toContain('audit:read');
  });

  it('needs a token', async () => {
    const { status, headers } = await sendRequest(`${service.publicUrl}/v1/audit-logs`);
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])('is read-only: %s is 405', async (method) => {
    const { status, headers } = await tenant.request(method, '/v1/audit-logs');
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('HEAD is GET without the body', async () => {
    await write({});
    const [head, get] = [await tenant.request('HEAD', '/v1/audit-logs'), await list()];
    expect([head.status, head.text]).toEqual([200, '']);
    for (const name of ['content-type', 'content-length', 'cache-control'])
      expect(head.headers.get(name), name).toBe(get.headers.get(name));
  });
});

describe('an entry can be read for 12 months, to the millisecond', () => {
  let oldest: Entry;
  let newest: Entry;
  let lastMs: number;

  beforeEach(async () => {
    await write({}, {});
    [newest, oldest] = (await page()).data as [Entry, Entry];
    const date = new Date(oldest.created_at);
    lastMs = date.setUTCFullYear(date.getUTCFullYear() + 1);
  });

  it.each(['', '?order=asc', '?target_id=WHK-1&from=2000-01-01'])('in the list %j', async (query) => {
    service.clock.stoppedAtMs = lastMs;
    expect(idsOf(await page(query)).sort()).toEqual([oldest.id, newest.id]);
    service.clock.stoppedAtMs = lastMs + 1;
    expect(idsOf(await page(query))).toEqual([newest.id]);
  });

  it('with a cursor, and for has_more', async () => {
    const first = await page('?limit=1');
    service.clock.stoppedAtMs = lastMs;
    expect((await page('?limit=1')).meta.has_more).toBe(true);
    expect(idsOf(await page(`?cursor=${first.meta.cursor}`))).toEqual([oldest.id]);
    service.clock.stoppedAtMs = lastMs + 1;
    expect((await page('?limit=1')).meta.has_more).toBe(false);
    expect(idsOf(await page(`?cursor=${first.meta.cursor}`))).toEqual([]);
  });
});
