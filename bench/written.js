import { setTimeout as wait } from 'node:timers/promises';

/** A backend that falls idle publishes its figures after ten seconds at the latest. */
const publishedMs = 11_000;

/** Returns what PostgreSQL has written in several databases so far, once their figures are complete. */
export async function writtenIn(databases) {
  for (const database of databases) await database.query('select pg_stat_force_next_flush()');
  await wait(publishedMs);
  const all = [];
  for (const database of databases) {
    const { rows } = await database.query(`
      select (select xact_commit::float8 from pg_stat_database where datname = current_database()) as commits,
             (select sum(n_tup_ins + n_tup_upd + n_tup_del)::float8 from pg_stat_user_tables) as rows,
             pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as "walBytes"`);
    all.push(rows[0]);
  }
  return all;
}
