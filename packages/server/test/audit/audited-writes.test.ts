import { setImmediate } from 'node:timers/promises';
import pg from 'pg';
import { expect, test } from 'vitest';
import { auditedWrite, writeAudit } from '../../src/audit/audit-store.js';
import { Database } from '../../src/postgres/database.js';
import { auditEntry } from '../support/audit.js';
import { afterFile } from '../support/cleanup.js';
import { changeSettings, freshDatabase, shortenLockWaits } from '../support/database.js';

test('writes that wait for a locked chain leave connections to others, and fail together', async () => {
  const { database, url } = await freshDatabase();
  const write = (organization_id: string) =>
    auditedWrite(database, organization_id, (client) =>
      writeAudit(client, [auditEntry({ organization_id })]),
    );
  await write('ORG-held');
  await shortenLockWaits(database, 'write_audit');
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  await holder.query('begin');
  await holder.query("select from posthorn.audit_chains where organization_id = 'ORG-held' for update");

  const waiting = Array.from({ length: 20 }, () =>
    write('ORG-held').catch((error: { code?: string }) => error.code),
  );
  // Two of them wait for the lock, and the others for those.
  await setImmediate();
  expect(database.use).toMatchObject({ inUse: 2, waiting: 0 });
  for (let n = 0; n < 10; n += 1) await write('ORG-free');
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['55P03']));

  await holder.query('rollback');
  await holder.end();
  await expect(write('ORG-held')).resolves.toBeUndefined();
});

test('writes that wait for a locked chain fail together, too, if the time limit of the database ends the first', async () => {
  const { database: usual, url } = await freshDatabase();
  const entry = auditEntry({ organization_id: 'ORG-held' });
  await usual.transaction((client) => writeAudit(client, [entry]));
  await changeSettings(usual, { statement_timeout: '500ms' });
  const database = new Database({ connectionString: url }, 1);
  afterFile(() => database.close());
  const failures = await usual.transaction(async (holder) => {
    await holder.query({
      text: "select from posthorn.audit_chains where organization_id = 'ORG-held' for update",
    });
    const write = () =>
      auditedWrite(database, 'ORG-held', (client) => writeAudit(client, [entry])).catch((error) => error);
    return Promise.all([write(), write(), write()]);
  });
  expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['57014']));
});
