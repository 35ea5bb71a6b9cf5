import { type AuditOrigin, changesBetween } from '../audit/audit.js';
import { auditedWrite, writeAudit } from '../audit/audit-store.js';
import type { Database, Queryable } from '../postgres/database.js';

export interface Organization {
  id: string;
  name: string | null;
  created_at: Date;
}

/** The most characters of a display name. */
export const nameMax = 128;

const columns = 'organization_id as id, name, created_at';

/** Returns an organization that has or had a name. Returns undefined for any other one. */
export async function readOrganization(client: Queryable, id: string): Promise<Organization | undefined> {
  const { rows } = await client.query<Organization>({
    text: `select ${columns} from posthorn.organizations where organization_id = $1`,
    values: [id],
  });
  return rows[0];
}

/** Gives an organization a name, or removes it. An organization without a name stays known. */
export function renameOrganization(
  database: Database,
  id: string,
  name: string | null,
  origin: AuditOrigin,
): Promise<Organization> {
  return auditedWrite(database, id, async (client) => {
    await client.query({
      text: 'insert into posthorn.organizations (organization_id) values ($1) on conflict do nothing',
      values: [id],
    });
    const { rows } = await client.query<Organization & { before: string | null }>({
      text: `
  update posthorn.organizations o
     set name = $2
    from (select name as before from posthorn.organizations where organization_id = $1 for update) known
   where organization_id = $1
  returning ${columns}, before`,
      values: [id, name],
    });
    const { before, ...organization } = rows[0]!;
    const changes = changesBetween({ name: before }, { name });
    const about = { organization_id: id, workspace_id: null, target: { type: 'organization', id } };
    await writeAudit(client, [{ ...about, ...origin, action: 'organization.renamed', changes }]);
    return organization;
  });
}
