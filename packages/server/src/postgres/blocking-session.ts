import type { Queryable } from './database.js';

/** A session whose open transaction uses our tables. Fields that PostgreSQL does not show to this user are null. */
export interface BlockingSession {
  pid: number;
  user: string | null;
  application: string | null;
  /** When its transaction began. */
  since: Date | null;
}

/** Returns the session with the oldest of the transactions that use our tables, apart from this session's own. */
export async function readBlockingSession(client: Queryable): Promise<BlockingSession | undefined> {
  const { rows } = await client.query<BlockingSession>({
    text: `
  select a.pid, a.usename::text as "user", a.application_name as application, a.xact_start as since
    from pg_stat_activity a
   where a.datname = current_database()
     and a.pid <> pg_backend_pid()
     and exists (select from pg_locks l
                   join pg_class c on c.oid = l.relation
                   join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'posthorn'
                  where l.pid = a.pid and l.database = a.datid and l.granted)
   order by a.xact_start nulls last
   limit 1`,
  });
  return rows[0];
}
