import { readdir, readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { freshDatabase } from '../support/database.js';
import { dumpSchema } from '../support/schema-dump.js';

const schema = new URL('../../schema/', import.meta.url);

test('schema/schema.sql is the schema that a new database gets (UPDATE_SCHEMA=1 prints it)', async () => {
  const { database } = await freshDatabase();
  const dumped = await database.transaction(async (client) => {
    // PostgreSQL leaves out the schema of a name that its user's search path finds.
    await client.query({ text: "set local search_path to ''" });
    return dumpSchema(client);
  });
  const file = new URL('schema.sql', schema);
  if (process.env.UPDATE_SCHEMA) await writeFile(file, dumped);
  expect(await readFile(file, 'utf8')).toBe(dumped);
});

test('every function has one text, in a file of its own name', async () => {
  const files = (await readdir(new URL('functions/', schema))).sort();
  for (const file of files) {
    const text = await readFile(new URL(`functions/${file}`, schema), 'utf8');
    const named = [...text.matchAll(/create (?:or replace )?function posthorn\.(\w+)/g)].map(
      ([, name]) => name,
    );
    expect([file, named]).toEqual([file, [file.replace('.sql', '')]]);
  }
});

test('every table that holds data of organizations leads its primary key with the organization', async () => {
  const { database } = await freshDatabase();
  const { rows } = await database.query<{ name: string; first: string }>({
    text: `
  select c.relname as name, a.attname as first
    from pg_class c
    join pg_index i on i.indrelid = c.oid and i.indisprimary
    join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
   where c.relnamespace = 'posthorn'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
  });
  const others = rows.filter(({ first }) => first !== 'organization_id').map(({ name }) => name);
  // Of nodes or the whole platform, not of organizations; and the schema's own.
  expect(others.sort()).toEqual([
    'catalogue',
    'catalogue_files',
    'event_types',
    'handoffs',
    'nodes',
    'schema_files',
  ]);
});
