import { setTimeout as wait } from 'node:timers/promises';

/** A backend that falls idle publishes its figures after ten seconds at the latest. */
const publishedMs = 11_000;
const askEveryMs = 200;

/**
 * Tables of deliveries that have not ended. Only those that exist are read, because another checkout may have others.
 */
const openTables = ['bundles', 'handoffs', 'backlog'];
const waitingTables = ['bundles', 'backlog'];

/** Waits until every outcome is written. It looks rarely, because the query has a cost, too. */
export async function settled(database) {
  const open = (await existing(database, openTables)).map((table) => `exists (select from ${table})`);
  // Each state has an index of its own, which a condition on both together would not use.
  const states = (await hasColumn(database, 'deliveries', 'leased_by'))
    ? ['and leased_by is null', 'and leased_by is not null']
    : [''];
  for (const state of states)
    open.push(`exists (select from posthorn.deliveries where status = 'pending' ${state})`);
  for (;;) {
    const { rows } = await database.query(`select ${open.join(' or ')} as open`);
    if (!rows[0].open) return;
    await wait(askEveryMs);
  }
}

/** Counts the deliveries that no node holds and that were never attempted. */
export async function waitingIn(database) {
  const counts = (await existing(database, waitingTables)).map(
    (table) =>
      `coalesce((select sum(cardinality(ordinals)) from ${table} where leased_by is null), 0)::float8`,
  );
  const { rows } = await database.query(`select ${counts.join(' + ') || '0'} as waiting`);
  return rows[0].waiting;
}

/** Returns what PostgreSQL says it wrote in this database so far, once its figures are complete. */
export async function written(database) {
  await database.query('select pg_stat_force_next_flush()');
  await wait(publishedMs);
  const { rows } = await database.query(`
    select (select xact_commit::float8 from pg_stat_database where datname = current_database()) as commits,
           (select sum(n_tup_ins + n_tup_upd + n_tup_del)::float8 from pg_stat_user_tables
             where schemaname = 'posthorn') as rows`);
  return rows[0];
}

async function existing(database, tables) {
  const names = tables.map((table) => `posthorn.${table}`);
  const { rows } = await database.query(
    'select name from unnest($1::text[]) name where to_regclass(name) is not null',
    [names],
  );
  return rows.map(({ name }) => name);
}

export async function hasColumn(database, table, column) {
  const { rows } = await database.query(
    `select from information_schema.columns
      where table_schema = 'posthorn' and table_name = $1 and column_name = $2`,
    [table, column],
  );
  return rows.length > 0;
}
