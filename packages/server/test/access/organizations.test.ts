import { describe, expect, it } from 'vitest';
import { Platform, Posthorn } from '../../../client/src/index.js';
import { sendRequest } from '../support/client.js';
import { command } from '../support/command.js';
import { platformToken, sharedService } from '../support/service.js';
import { eventually, newTenant } from '../support/tenant.js';

const service = await sharedService();
const platform = new Platform({ url: service.platformUrl, token: platformToken });
const patch = (id: string, body: unknown) =>
  sendRequest(`${service.platformUrl}/platform/organizations/${id}`, {
    ...{ method: 'PATCH', token: platformToken, body },
  });

describe('the display name of an organization', () => {
  it('makes an unknown organization known, is in its tokens, and leaves an audit log entry', async () => {
    const tenant = await newTenant(service, { scopes: ['audit:read'] });
    const id = tenant.organization;
    await expect(platform.organizations.get(id)).rejects.toMatchObject({ code: 'not_found' });
    expect(await tenant.data('GET', '/v1/token')).toMatchObject({ organization_name: null });
    const named = await platform.organizations.rename(id, 'Rhein Logistics');
    expect(named).toEqual({ id, name: 'Rhein Logistics', created_at: expect.stringMatching(/Z$/) });
    expect(await platform.organizations.get(id)).toEqual(named);
    const client = new Posthorn({ url: service.publicUrl, token: tenant.token });
    // A node remembers a token for a second.
    await eventually(
      () => client.token(),
      (token) => token.organization_name === 'Rhein Logistics',
    );
    expect(await platform.organizations.rename(id, null)).toEqual({ ...named, name: null });
    expect(await platform.organizations.get(id)).toEqual({ ...named, name: null });
    const entries = await tenant.data('GET', '/v1/audit-logs');
    expect(entries.map(({ action, target, changes }: never) => ({ action, target, changes }))).toEqual(
      [
        { from: 'Rhein Logistics', to: null },
        { from: null, to: 'Rhein Logistics' },
      ].map((name) => ({
        ...{ action: 'organization.renamed', target: { type: 'organization', id }, changes: { name } },
      })),
    );
  });

  it('has 1 to 128 characters, and belongs to an organization ID', async () => {
    const pointers = async (body: unknown) => {
      const response = await patch('ORG-long', body);
      return [response.status, response.body.errors?.map(({ pointer }: { pointer: string }) => pointer)];
    };
    expect(await pointers({ name: 'n'.repeat(128) })).toEqual([200, undefined]);
    for (const name of ['', 'n'.repeat(129), 'two\nlines', 7]) {
      expect(await pointers({ name })).toEqual([422, ['/name']]);
    }
    expect(await pointers({})).toEqual([422, ['/name']]);
    expect(await pointers({ name: 'Acme', status: 'active' })).toEqual([422, ['/status']]);
    expect((await patch('acme', { name: 'Acme' })).status).toBe(404);
  });

  it('can be set on the command line, where posthorn status and whoami show it', async () => {
    const tenant = await newTenant(service);
    const id = tenant.organization;
    const env = { DATABASE_URL: service.databaseUrl };
    const rename = (...args: string[]) => command(['organization', 'rename', ...args], env);
    expect(await rename(id, '--name', 'Acme')).toMatchObject({ code: 0, stdout: `${id} is now Acme.\n` });
    expect(JSON.parse((await rename(id, '--name', 'Acme & Co', '--json')).stdout)).toMatchObject({
      name: 'Acme & Co',
    });
    const own = { POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: tenant.token };
    const { stdout } = await eventually(
      () => command(['whoami'], own),
      (result) => result.stdout.includes('Acme'),
    );
    expect(stdout).toContain(`Organization\tAcme & Co (${id})\n`);
    const { webhook } = await tenant.connect(500);
    await tenant.record();
    await tenant.settled(webhook);
    const { stdout: status } = await eventually(
      () => command(['status', '--limit', '1000'], env),
      (result) => result.stdout.includes(webhook.id),
    );
    expect(status).toContain(`\tAcme & Co (${id})\n`);
    expect(await rename(id, '--name', '')).toMatchObject({ stdout: `${id} has no name now.\n` });
    expect(await rename('acme', '--name', 'Acme')).toMatchObject({ code: 2 });
    expect(await rename(id, '--name', 'n'.repeat(129))).toMatchObject({ code: 2 });
  });
});
