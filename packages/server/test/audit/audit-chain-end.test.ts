import { beforeEach, describe, expect, test } from 'vitest';
import { writeAudit } from '../../src/audit/audit-store.js';
import { verifyChain, verifyChainEnd } from '../../src/audit/chain-store.js';
import { auditEntry, tamper } from '../support/audit.js';
import { freshDatabase } from '../support/database.js';

const { database, url } = await freshDatabase();
let counter = 0;
let organization: string;

const append = (n: number) =>
  writeAudit(
    database,
    Array.from({ length: n }, () => auditEntry({ organization_id: organization })),
  );
const at = (position: number) => `where organization_id = '${organization}' and position = ${position}`;
const alter = (position: number) =>
  tamper(url, `update posthorn.audit_log set actor_id = 'USR-eve' ${at(position)}`);
const remove = (position: number) => tamper(url, `delete from posthorn.audit_log ${at(position)}`);
const check = (max: number) => verifyChainEnd(database, organization, max);

beforeEach(async () => {
  counter += 1;
  organization = `ORG-${counter}`;
  await append(6);
});

test.each([[2], [5], [6], [7]])('with %i entries at most, it agrees with the whole check', async (max) => {
  const whole = await verifyChain(database, organization);
  expect(await check(max)).toEqual({ ...whole, checked: Math.min(max, 6) });
});

test('an organization without entries has an empty chain', async () => {
  organization = 'ORG-none';
  expect(await check(10)).toMatchObject({ entries: 0, checked: 0, position: 0, head: '', fault: undefined });
});

describe('it finds', () => {
  test('an altered entry among those it checks, and no other', async () => {
    await alter(3);
    expect((await check(4)).fault).toMatchObject({ kind: 'altered', position: 3 });
    expect((await check(6)).fault).toMatchObject({ kind: 'altered', position: 3 });
    expect((await check(3)).fault).toBeUndefined();
  });

  test('the oldest entry that it checks altered, by the entry before it', async () => {
    await alter(4);
    expect((await check(3)).fault).toMatchObject({ kind: 'altered', position: 4 });
  });

  test.each([[1], [4], [6]])('that entry %i was removed', async (position) => {
    await remove(position);
    expect((await check(6)).fault).toMatchObject({ kind: 'missing', position });
  });

  test('that all entries were removed', async () => {
    await tamper(url, `delete from posthorn.audit_log where organization_id = '${organization}'`);
    expect((await check(6)).fault).toMatchObject({ kind: 'missing', position: 1 });
  });

  test('that the end of the chain is unknown', async () => {
    await tamper(url, `delete from posthorn.audit_chains where organization_id = '${organization}'`);
    expect((await check(6)).fault).toMatchObject({ kind: 'unknown end', position: 6 });
  });
});

test('entries that retention dropped are not missing', async () => {
  const { rows } = await database.query<{ hash: Buffer }>({
    text: `select hash from posthorn.audit_log ${at(2)}`,
  });
  await remove(1);
  await remove(2);
  await database.query({
    text: 'update posthorn.audit_chains set dropped = 2, dropped_hash = $1 where organization_id = $2',
    values: [rows[0]?.hash, organization],
  });
  expect(await check(10)).toMatchObject({ entries: 4, checked: 4, position: 6, fault: undefined });
});
