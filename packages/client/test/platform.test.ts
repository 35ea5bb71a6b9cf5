import { describe, expect, it } from 'vitest';
import { platformToken, sharedService } from '../../server/test/support/service.js';
import { newTenant } from '../../server/test/support/tenant.js';
import { Platform, Posthorn } from '../src/index.js';

const service = await sharedService();
const platform = new Platform({ url: service.platformUrl, token: platformToken });
const { organization: organization_id, token } = await newTenant(service);
const actor = { type: 'user', id: 'USR-ada' };

describe('the platform listener', () => {
  it('creates, lists and revokes tokens', async () => {
    const issued = await platform.tokens.create({ organization_id, scopes: ['events:read'], expires: '1d' });
    const client = new Posthorn({ url: service.publicUrl, token: issued.token });
    expect(await client.token()).toMatchObject({ id: issued.id, organization_id, scopes: ['events:read'] });
    const listed = await platform.tokens.list({ organization_id }).all();
    expect(listed.map(({ id }) => id)).toContain(issued.id);
    await platform.tokens.revoke(issued.id);
    await expect(platform.tokens.revoke(issued.id)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('creates portal sessions', async () => {
    const session = await platform.portalSessions.create({ organization_id, actor, read_only: true });
    expect(session.url).toBe(`${service.publicUrl}/console#token=${session.token}`);
    const who = await new Posthorn({ url: service.publicUrl, token: session.token }).token();
    expect(who).toMatchObject({ organization_id, actor, portal: true });
    expect(who.scopes).not.toContain('webhooks:write');
  });

  it('creates resources and moves them as far as their lifecycle allows', async () => {
    const created = await platform.resources.create('invoices', { organization_id, actor });
    expect(created).toMatchObject({ resource: { status: 'draft' }, event: undefined });
    const { id } = created.resource;
    const { resource, event } = await platform.resources.move('invoices', id, 'finalize', { actor });
    expect(resource).toMatchObject({ id, type: 'invoice', status: 'open' });
    const stored = await new Posthorn({ url: service.publicUrl, token }).events.get(event!.id);
    expect(stored).toMatchObject({ type: 'invoice.finalized', actor, subject: { type: 'invoice', id } });
    await expect(platform.resources.move('invoices', id, 'finalize', { actor })).rejects.toMatchObject({
      ...{ status: 409, code: 'move_not_allowed', possibleMoves: expect.arrayContaining(['pay', 'void']) },
    });
    expect(await platform.resources.get('invoices', id)).toEqual(resource);
  });

  it('returns its metrics as text', async () => {
    expect(await platform.metrics()).toMatch(/^posthorn_deliveries_in_memory\{.*\} \d+$/m);
  });

  it('has as much time for its metrics as for any other response', async () => {
    const hanging = new Platform({
      ...{ url: service.platformUrl, token: platformToken, timeoutMs: 20, retry: { attempts: 1 } },
      fetch: (_url, init) =>
        new Promise((_, reject) => {
          init!.signal?.addEventListener('abort', () => reject(init!.signal!.reason));
        }),
    });
    await expect(hanging.metrics()).rejects.toMatchObject({ code: 'timeout' });
  });
});
