import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { avoidScans } from '../../src/postgres/database.js';
import { freshDatabase } from '../support/database.js';

const sources = new URL('../../src/', import.meta.url);

test('a transaction that avoids scans is not compiled just in time, and no later one is affected', async () => {
  const { database } = await freshDatabase();
  await database.onConnection(async (client) => {
    const settings = async () => [
      ...(await client.query({ text: 'show enable_seqscan' })).rows,
      ...(await client.query({ text: 'show jit' })).rows,
    ];
    await client.query({ text: 'set jit = on' });
    await client.query({ text: 'begin' });
    await avoidScans(client);
    expect(await settings()).toEqual([{ enable_seqscan: 'off' }, { jit: 'off' }]);
    await client.query({ text: 'commit' });
    expect(await settings()).toEqual([{ enable_seqscan: 'on' }, { jit: 'on' }]);
  });
});

test('no other code disables scans', () => {
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\benable_\w*(scan|join)/.test(file.endsWith('.ts') ? readFileSync(new URL(file, sources), 'utf8') : ''),
  );
  expect(files).toEqual([]);
});

test('no function that disables scans is compiled just in time, whoever calls it', async () => {
  const { database } = await freshDatabase();
  const { rows } = await database.query<{ name: string; settings: string[] }>({
    text: `
  select proname as name, proconfig as settings
    from pg_proc
   where pronamespace = 'posthorn'::regnamespace and array_to_string(proconfig, ' ') like '%enable_%'`,
  });
  expect(rows.length).toBeGreaterThan(0);
  for (const { name, settings } of rows) expect([name, ...settings]).toContain('jit=off');
});
