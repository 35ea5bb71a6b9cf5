import { beforeEach, describe, expect, it } from 'vitest';
import { writeAudit } from '../../src/audit/audit-store.js';
import { auditEntry, tamper } from '../support/audit.js';
import { sharedService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';

const service = await sharedService();
let tenant: Tenant;

const read = (by = tenant, query = '') => by.request('GET', `/v1/audit-logs/chain${query}`);

beforeEach(async () => {
  tenant = await newTenant(service, { scopes: ['audit:read'] });
  const entries = Array.from({ length: 3 }, () => auditEntry({ organization_id: tenant.organization }));
  await writeAudit(service.database, entries);
});

describe('the chain of the audit log', () => {
  it('is intact, and has the hash to compare with', async () => {
    const { status, body } = await read();
    const { rows } = await service.database.query<{ hash: string }>({
      text: `select encode(hash, 'hex') as hash from posthorn.audit_chains where organization_id = $1`,
      values: [tenant.organization],
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      data: {
        ...{ organization_id: tenant.organization, intact: true, entries: 3, checked: 3, position: 3 },
        ...{ head: rows[0]?.hash, fault: null, checked_at: expect.stringMatching(/Z$/) },
      },
    });
  });

  it('names the first entry that was altered', async () => {
    await tamper(
      service.databaseUrl,
      `update posthorn.audit_log set actor_id = 'USR-eve'
        where organization_id = '${tenant.organization}' and position = 2`,
    );
    const { body } = await read();
    expect(body.data).toMatchObject({
      ...{ intact: false, position: 1 },
      fault: { kind: 'altered', position: 2, id: expect.stringMatching(/^AUD-/) },
    });
  });

  it('needs the scope audit:read', async () => {
    const other = await newTenant(service, { scopes: ['events:read'] });
    expect((await read(other)).body).toMatchObject({ status: 403, code: 'insufficient_scope' });
  });

  it('is of one organization', async () => {
    const other = await newTenant(service, { scopes: ['audit:read'] });
    expect((await read(other)).body.data).toMatchObject({ entries: 0, intact: true, head: '' });
    const refused = await read(other, `?organization_id=${tenant.organization}`);
    expect(refused.body).toMatchObject({ status: 403, code: 'organization_forbidden' });
  });

  it('is kept from tokens of one workspace, which do not see all of its entries', async () => {
    const bound = await newTenant(service, { scopes: ['audit:read'], workspace_id: 'WS-1' });
    expect((await read(bound)).body).toMatchObject({ status: 403, code: 'workspace_forbidden' });
  });
});
