import type { Queryable } from '../../src/postgres/database.js';

async function lines(database: Queryable, text: string): Promise<string[]> {
  const { rows } = await database.query<{ line: string }>({ text });
  return rows.map(({ line }) => line);
}

const isPartition = 'exists (select from pg_inherits i where i.inhrelid = c.oid)';

/** Returns the schema as PostgreSQL knows it: tables, indexes, triggers, sequences, and how functions are called. */
export async function dumpSchema(database: Queryable): Promise<string> {
  const tables = await lines(
    database,
    `
  select format(E'create table posthorn.%s (\\n%s\\n)%s%s;', c.relname,
           (select string_agg(part, E',\\n' order by rank, name)
              from (select 1 as rank, a.attnum::text::int as n, lpad(a.attnum::text, 3, '0') as name,
                           format('  %s %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
                             case when a.attcollation <> t.typcollation then format(' collate %I', l.collname) else '' end,
                             case when a.attnotnull then ' not null' else '' end,
                             case when a.attidentity <> '' then ' generated always as identity'
                                  when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid)
                                  else '' end) as part
                      from pg_attribute a
                      join pg_type t on t.oid = a.atttypid
                      left join pg_collation l on l.oid = a.attcollation
                      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
                     where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                     union all
                    select 2, 0, k.conname, format('  constraint %s %s', k.conname, pg_get_constraintdef(k.oid))
                      from pg_constraint k
                     where k.conrelid = c.oid and k.contype <> 'n') parts),
           case when c.relkind = 'p' then ' partition by ' || pg_get_partkeydef(c.oid) else '' end,
           coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '')) as line
    from pg_class c
   where c.relnamespace = 'posthorn'::regnamespace and c.relkind in ('r', 'p') and not ${isPartition}
   order by c.relname`,
  );
  const indexes = await lines(
    database,
    `
  select pg_get_indexdef(i.indexrelid) || ';' as line
    from pg_index i
    join pg_class c on c.oid = i.indrelid
   where c.relnamespace = 'posthorn'::regnamespace and not ${isPartition}
     and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u'))
   order by 1`,
  );
  const triggers = await lines(
    database,
    `
  select pg_get_triggerdef(t.oid) || ';' as line
    from pg_trigger t
    join pg_class c on c.oid = t.tgrelid
   where c.relnamespace = 'posthorn'::regnamespace and not t.tgisinternal and not ${isPartition}
   order by 1`,
  );
  const sequences = await lines(
    database,
    `
  select format('create sequence posthorn.%s;', c.relname) as line
    from pg_class c
   where c.relnamespace = 'posthorn'::regnamespace and c.relkind = 'S'
     and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'i')
   order by 1`,
  );
  const functions = await lines(
    database,
    `
  select format('-- posthorn.%s(%s) returns %s', p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid)) as line
    from pg_proc p
   where p.pronamespace = 'posthorn'::regnamespace
   order by 1`,
  );
  const head =
    '-- The schema as it exists in a database, for reference. Printed by test/postgres/schema.test.ts; not applied.';
  const signatures = ['-- Functions. The text of each is in functions/.', ...functions].join('\n');
  return `${[head, ...tables, indexes.join('\n'), triggers.join('\n'), sequences.join('\n'), signatures].join('\n\n')}\n`;
}
