import { describe, expect, it } from 'vitest';
import { type RequestOptions, sendRequest } from '../support/client.js';
import { makeToken, platformToken, sharedService, startTestService } from '../support/service.js';
import { eventually, newTenant } from '../support/tenant.js';

const service = await sharedService();

const platform = (method: string, path: string, more: Omit<RequestOptions, 'method'> = {}) =>
  sendRequest(`${service.platformUrl}/platform${path}`, { method, token: platformToken, ...more });
const create = (body: unknown) => platform('POST', '/tokens', { body });
const whoAmI = (token: string) => sendRequest(`${service.publicUrl}/v1/token`, { token });

/** An organization's entries, newest first. */
async function auditOf(organization: string) {
  const token = await makeToken(service.database, {
    organization_id: organization,
    scopes: ['audit:read'],
  });
  return (await sendRequest(`${service.publicUrl}/v1/audit-logs`, { token })).body.data;
}

describe('GET /v1/token', () => {
  it('returns what the token is, whatever its scopes, and never the token', async () => {
    for (const scopes of [[], ['audit:read']] as const) {
      const token = await makeToken(service.database, { organization_id: 'ORG-who', scopes });
      const { status, body, text, headers } = await whoAmI(token);
      expect(status).toBe(200);
      expect(body.data).toEqual({
        id: expect.stringMatching(/^TOK-/),
        organization_id: 'ORG-who',
        organization_name: null,
        workspace_id: null,
        scopes,
        actor: { type: 'user', id: 'USR-test' },
        created_at: expect.stringMatching(/Z$/),
        expires_at: expect.stringMatching(/Z$/),
        portal: false,
      });
      expect(text).not.toContain(token);
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });

  it('needs a token, and takes no parameter', async () => {
    const { status, headers } = await sendRequest(`${service.publicUrl}/v1/token`);
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    const token = await makeToken(service.database);
    expect((await sendRequest(`${service.publicUrl}/v1/token?x=1`, { token })).status).toBe(400);
  });
});

describe('POST /platform/tokens', () => {
  it('returns the token once, with the same default scopes and expiry as the command line', async () => {
    const before = Date.now();
    const { status, body } = await create({ organization_id: 'ORG-new' });
    expect(status).toBe(201);
    const { data } = body;
    expect(data).toEqual({
      id: expect.stringMatching(/^TOK-/),
      token: expect.stringMatching(/^pht_/),
      organization_id: 'ORG-new',
      workspace_id: null,
      scopes: ['events:read', 'webhooks:read', 'webhooks:write'],
      actor: { type: 'token', id: data.id },
      expires_at: expect.any(String),
    });
    const lifetimeMs = Date.parse(data.expires_at) - before;
    expect(Math.round(lifetimeMs / 86_400_000)).toBe(365);
    expect((await whoAmI(data.token)).body.data.id).toBe(data.id);
    const list = await platform('GET', '/tokens?organization_id=ORG-new');
    expect(list.text).not.toContain(data.token);
  });

  it('creates the token as requested', async () => {
    const { body } = await create({
      organization_id: 'ORG-new',
      workspace_id: 'WS-1',
      scopes: ['audit:read', 'events:read', 'audit:read'],
      actor: { type: 'user', id: 'USR-ada' },
      expires: '30m',
    });
    expect((await whoAmI(body.data.token)).body.data).toMatchObject({
      workspace_id: 'WS-1',
      scopes: ['audit:read', 'events:read'],
      actor: { type: 'user', id: 'USR-ada' },
    });
    const lifetimeMs = Date.parse(body.data.expires_at) - Date.now();
    expect(lifetimeMs).toBeGreaterThan(1_790_000);
    expect(lifetimeMs).toBeLessThanOrEqual(1_800_000);
  });

  it('lists all faults at once', async () => {
    const { status, body } = await create({
      organization_id: 'acme',
      workspace_id: 'x',
      scopes: ['events:write'],
      actor: { type: 'User', id: '' },
      expires: '40000d',
      more: 1,
    });
    expect(status).toBe(422);
    expect(new Set(body.errors.map(({ pointer }: { pointer: string }) => pointer))).toEqual(
      new Set([
        '/organization_id',
        '/workspace_id',
        '/scopes/0',
        '/actor/type',
        '/actor/id',
        '/expires',
        '/more',
      ]),
    );
    expect((await create({ organization_id: 'ORG-new', scopes: [] })).status).toBe(422);
    expect((await create({ organization_id: 'ORG-new', expires: '0s' })).status).toBe(422);
    expect((await create(undefined)).status).toBe(422);
  });

  it('needs the platform token', async () => {
    const options = { method: 'POST', body: { organization_id: 'ORG-new' } };
    const token = await makeToken(service.database);
    for (const given of [undefined, token]) {
      const { status } = await sendRequest(`${service.platformUrl}/platform/tokens`, {
        ...options,
        token: given,
      });
      expect(status).toBe(401);
    }
    expect((await sendRequest(`${service.publicUrl}/platform/tokens`, { ...options, token })).status).toBe(
      404,
    );
  });

  it('leaves token.created in the audit log, without the token', async () => {
    const organization_id = 'ORG-audited';
    const { body } = await create({ organization_id, expires: '1d' });
    const [entry] = await auditOf(organization_id);
    expect(entry).toMatchObject({
      action: 'token.created',
      actor: { type: 'platform', id: 'platform' },
      target: { type: 'token', id: body.data.id },
      request_id: expect.any(String),
      source_address: '127.0.0.1',
      changes: { expires_at: { from: null, to: body.data.expires_at } },
    });
    expect(JSON.stringify(entry)).not.toContain(body.data.token);
  });
});

describe('GET /platform/tokens', () => {
  it('lists the tokens of one organization, newest first, in pages', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.unshift((await create({ organization_id: 'ORG-pages' })).body.data.id);
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const query = `organization_id=ORG-pages&limit=2${cursor && `&cursor=${cursor}`}`;
      const { body } = await platform('GET', `/tokens?${query}`);
      for (const token of body.data) {
        expect(token).toMatchObject({ organization_id: 'ORG-pages', revoked_at: null, portal: false });
        seen.push(token.id);
      }
      if (!body.meta.has_more) break;
      cursor = body.meta.cursor;
    }
    expect(seen).toEqual([...ids].sort().reverse());
  });

  it('refuses a query without an organization, and a cursor of another one', async () => {
    expect((await platform('GET', '/tokens')).status).toBe(400);
    const { body } = await platform('GET', '/tokens?organization_id=ORG-pages&limit=1');
    const other = await platform('GET', `/tokens?organization_id=ORG-new&cursor=${body.meta.cursor}`);
    expect([other.status, other.body.code]).toEqual([400, 'invalid_cursor']);
  });
});

describe('DELETE /platform/tokens/{id}', () => {
  it('revokes a token: 204, then 404, and every request with it is 401 within 2 seconds', async () => {
    const organization_id = 'ORG-revoked';
    const { id, token } = (await create({ organization_id })).body.data;
    expect((await whoAmI(token)).status).toBe(200);
    expect((await platform('DELETE', `/tokens/${id}`)).status).toBe(204);
    const revokedAt = Date.now();
    expect((await platform('DELETE', `/tokens/${id}`)).status).toBe(404);
    let lastAcceptedAt = revokedAt;
    await eventually(
      async () => {
        const sentAt = Date.now();
        const { status } = await whoAmI(token);
        if (status === 200) lastAcceptedAt = sentAt;
        return status;
      },
      (status) => status === 401,
    );
    expect(lastAcceptedAt - revokedAt).toBeLessThan(2_000);
    const entries = await auditOf(organization_id);
    expect(entries.map(({ action }: { action: string }) => action)).toEqual([
      'token.revoked',
      'token.created',
    ]);
    expect(entries[0].target).toEqual({ type: 'token', id });
  });

  it('is 404 for a token that does not exist', async () => {
    expect((await platform('DELETE', '/tokens/TOK-none')).status).toBe(404);
  });
});

describe('POST /platform/portal-sessions', () => {
  const open = (body: Record<string, unknown>) =>
    platform('POST', '/portal-sessions', { body: { organization_id: 'ORG-portal', ...body } });

  it('returns a link with the token in the fragment, for an hour, with all scopes', async () => {
    const { status, body } = await open({});
    expect(status).toBe(201);
    expect(Object.keys(body.data).sort()).toEqual(['expires_at', 'token', 'url']);
    const { url, token, expires_at } = body.data;
    expect(url).toBe(`${service.publicUrl}/console#token=${token}`);
    expect(Math.round((Date.parse(expires_at) - Date.now()) / 60_000)).toBe(60);
    expect((await whoAmI(token)).body.data).toMatchObject({
      scopes: ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'],
      expires_at,
      portal: true,
    });
  });

  it('can be read-only, and bound to a workspace and an actor', async () => {
    const actor = { type: 'user', id: 'USR-customer' };
    const { body } = await open({ read_only: true, workspace_id: 'WS-1', actor, expires: '5m' });
    expect((await whoAmI(body.data.token)).body.data).toMatchObject({
      scopes: ['events:read', 'webhooks:read', 'audit:read'],
      workspace_id: 'WS-1',
      actor,
    });
  });

  it('lasts 24 hours at most', async () => {
    expect((await open({ expires: '24h' })).status).toBe(201);
    for (const expires of ['25h', '1441m', '0s', 'long']) {
      const { status, body } = await open({ expires });
      expect([status, body.errors[0].pointer]).toEqual([422, '/expires']);
    }
  });

  it('leaves portal_session.created in the audit log, with the token as target', async () => {
    const { body } = await open({ actor: { type: 'user', id: 'USR-customer' } });
    const { id } = (await whoAmI(body.data.token)).body.data;
    const [entry] = await auditOf('ORG-portal');
    expect(entry).toMatchObject({
      action: 'portal_session.created',
      target: { type: 'token', id },
      changes: { actor: { to: { type: 'user', id: 'USR-customer' } } },
    });
    expect(JSON.stringify(entry)).not.toContain(body.data.token);
  });

  it('acts for its organization only', async () => {
    const other = await newTenant(service);
    const { token } = (await open({})).body.data;
    const { status } = await other.request('GET', `/v1/events?organization_id=${other.organization}`, {
      token,
    });
    expect(status).toBe(403);
  });

  it('begins the link with POSTHORN_PUBLIC_URL', async () => {
    const branded = await startTestService({ POSTHORN_PUBLIC_URL: 'https://hooks.example.com/' });
    const { body } = await sendRequest(`${branded.platformUrl}/platform/portal-sessions`, {
      ...{ method: 'POST', token: platformToken, body: { organization_id: 'ORG-portal' } },
    });
    expect(body.data.url).toBe(`https://hooks.example.com/console#token=${body.data.token}`);
  });
});
