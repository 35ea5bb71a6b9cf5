import pg from 'pg';
import type { NewAuditEntry } from '../../src/audit/audit.js';
import type { Queryable } from '../../src/postgres/database.js';

/** An entry that is in order; fields given replace the usual ones. */
export function auditEntry(fields: Partial<NewAuditEntry> = {}): NewAuditEntry {
  return {
    organization_id: 'ORG-acme',
    workspace_id: null,
    actor: { type: 'user', id: 'USR-ada' },
    action: 'webhook.updated',
    target: { type: 'webhook', id: 'WHK-1' },
    request_id: 'request-1',
    source_address: '192.0.2.1',
    changes: { url: { from: 'https://a.example', to: 'https://b.example' } },
    ...fields,
  };
}

export interface AuditRow {
  id: string;
  position: number;
  workspace_id: string | null;
  actor: { type: string; id: string };
  action: string;
  target: { type: string; id: string };
  request_id: string | null;
  source_address: string | null;
  changes: Record<string, { from: unknown; to: unknown }>;
  created_at: Date;
}

/** The whole log of an organization, oldest first. */
export async function auditRows(database: Queryable, organization: string): Promise<AuditRow[]> {
  const { rows } = await database.query<AuditRow>({
    text: `
  select id, position, workspace_id, action, request_id, source_address, changes::jsonb as changes, created_at,
         jsonb_build_object('type', actor_type, 'id', actor_id) as actor,
         jsonb_build_object('type', target_type, 'id', target_id) as target
    from posthorn.audit_log
   where organization_id = $1
   order by position`,
    values: [organization],
  });
  return rows;
}

/** Does what the triggers forbid, as somebody with all rights could. */
export async function tamper(url: string, ...statements: string[]): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('set session_replication_role = replica');
    let changed = 0;
    for (const text of statements) changed += (await client.query(text)).rowCount ?? 0;
    return changed;
  } finally {
    await client.end();
  }
}
