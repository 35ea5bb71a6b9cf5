import { beforeEach, describe, expect, test } from 'vitest';
import { writeAudit } from '../../src/audit/audit-store.js';
import { readAuditedOrganizations, verifyChain, verifyChainEnd } from '../../src/audit/chain-store.js';
import type { Queryable } from '../../src/postgres/database.js';
import { dropPartitions } from '../../src/retention/retention-store.js';
import { type AuditRow, auditEntry, auditRows, tamper } from '../support/audit.js';
import { freshDatabase } from '../support/database.js';

const { database, url } = await freshDatabase();
let counter = 0;
let organization: string;
let rows: AuditRow[];

const append = (n: number, organization_id = organization, into = database) =>
  writeAudit(
    into,
    Array.from({ length: n }, () => auditEntry({ organization_id })),
  );
const where = (position: number) => `where organization_id = '${organization}' and position = ${position}`;
const faultOf = async (organization_id = organization) =>
  (await verifyChain(database, organization_id)).fault;

beforeEach(async () => {
  counter += 1;
  organization = `ORG-${counter}`;
  await append(6);
  rows = await auditRows(database, organization);
});

test('an unchanged log is intact, and reports its length and its last hash', async () => {
  const { rows: chains } = await database.query<{ head: string }>({
    text: `select encode(hash, 'hex') as head from posthorn.audit_chains where organization_id = $1`,
    values: [organization],
  });
  expect(await verifyChain(database, organization)).toEqual({
    organization_id: organization,
    entries: 6,
    position: 6,
    head: chains[0]?.head,
    fault: undefined,
  });
});

test('an unchanged log is intact, whatever its entries contain', async () => {
  const text = '"\\/\b\f\n\r\t\u0001\u001f\u007f\u2028é😀<>&';
  const fields = {
    request_id: text,
    source_address: null,
    workspace_id: 'WS-1',
    organization_id: organization,
  };
  await writeAudit(database, [
    auditEntry({ ...fields, changes: { url: { from: text, to: null } } }),
    auditEntry({ ...fields, actor: { type: 'user', id: text }, target: { type: 'webhook', id: text } }),
    auditEntry({ ...fields, changes: {} }),
  ]);
  expect(await verifyChain(database, organization)).toMatchObject({ entries: 9, fault: undefined });
});

describe('an altered entry is found', () => {
  test.each([
    ['action', "'webhook.deleted'"],
    ['actor_id', "'USR-eve'"],
    ['actor_type', "'agent'"],
    ['workspace_id', "'WS-9'"],
    ['target_type', "'token'"],
    ['target_id', "'WHK-2'"],
    ['request_id', 'null'],
    ['source_address', "'192.0.2.2'"],
    ['changes', `'{"url":{"from":"https://a.example","to":"https://c.example"}}'`],
    ['id', "left(id, 29) || translate(right(id, 1), '0Z', 'Z0') || 'X'"],
  ])('in its %s', async (column, value) => {
    expect(await tamper(url, `update posthorn.audit_log set ${column} = ${value} ${where(3)}`)).toBe(1);
    expect(await faultOf()).toMatchObject({ kind: 'altered', position: 3 });
  });

  test('in its time', async () => {
    await tamper(
      url,
      `update posthorn.audit_log set created_at = created_at - interval '1 millisecond' ${where(1)}`,
    );
    expect(await faultOf()).toMatchObject({ kind: 'altered', position: 1, id: rows[0]?.id });
  });

  test('in its organization: it is missing in one and does not belong to the other', async () => {
    const other = `${organization}-other`;
    await append(2, other);
    await tamper(url, `update posthorn.audit_log set organization_id = '${other}' ${where(3)}`);
    expect(await faultOf()).toEqual({ kind: 'missing', position: 3, id: rows[3]?.id });
    expect(await faultOf(other)).toMatchObject({ id: rows[2]?.id });
  });

  test('even with a new hash: the next entry does not follow from it', async () => {
    await tamper(
      url,
      `update posthorn.audit_log set action = 'webhook.deleted' ${where(3)}`,
      `update posthorn.audit_log l
          set hash = posthorn.audit_hash((select b.hash from posthorn.audit_log b
                                           where b.organization_id = l.organization_id and b.position = 2), l)
        ${where(3)}`,
    );
    expect(await faultOf()).toEqual({ kind: 'altered', position: 4, id: rows[3]?.id });
  });

  test('even if the function that computes hashes was replaced', async () => {
    const { database, url } = await freshDatabase();
    await append(6, 'ORG-replaced', database);
    await tamper(
      url,
      'alter function posthorn.audit_hash rename to true_hash',
      `create function posthorn.audit_hash(previous bytea, entry posthorn.audit_log) returns bytea language sql as $$
         select case entry.position when 3 then entry.hash else posthorn.true_hash(previous, entry) end $$`,
      `update posthorn.audit_log set actor_id = 'USR-eve' where organization_id = 'ORG-replaced' and position = 3`,
    );
    const altered = { fault: { kind: 'altered', position: 3 } };
    expect(await verifyChain(database, 'ORG-replaced')).toMatchObject(altered);
    expect(await verifyChainEnd(database, 'ORG-replaced', 5)).toMatchObject(altered);
  });

  test('even if it is the last one, with a new hash', async () => {
    await tamper(url, `update posthorn.audit_log set hash = 'x' ${where(6)}`);
    expect(await faultOf()).toEqual({ kind: 'altered', position: 6, id: rows[5]?.id });
    await tamper(
      url,
      `update posthorn.audit_log l
          set action = 'webhook.deleted',
              hash = 'y'
        ${where(6)}`,
      `update posthorn.audit_log l
          set hash = posthorn.audit_hash((select b.hash from posthorn.audit_log b
                                           where b.organization_id = l.organization_id and b.position = 5), l)
        ${where(6)}`,
    );
    expect(await faultOf()).toEqual({ kind: 'altered', position: 6, id: rows[5]?.id });
  });
});

describe('a removed entry is found', () => {
  test.each([
    ['at the beginning', 1],
    ['in the middle', 4],
    ['at the end', 6],
  ])('%s', async (_where, position) => {
    expect(await tamper(url, `delete from posthorn.audit_log ${where(position)}`)).toBe(1);
    expect(await faultOf()).toEqual({ kind: 'missing', position, id: rows[position]?.id ?? null });
  });

  test('if all of them were removed', async () => {
    await tamper(url, `delete from posthorn.audit_log where organization_id = '${organization}'`);
    expect(await faultOf()).toEqual({ kind: 'missing', position: 1, id: null });
  });

  test('if those after it were renumbered', async () => {
    await tamper(
      url,
      `delete from posthorn.audit_log ${where(4)}`,
      `update posthorn.audit_log set position = position - 1
        where organization_id = '${organization}' and position > 4`,
    );
    expect(await faultOf()).toEqual({ kind: 'altered', position: 4, id: rows[4]?.id });
  });

  test('if the end of the chain was removed with it', async () => {
    await tamper(
      url,
      `delete from posthorn.audit_log ${where(6)}`,
      `delete from posthorn.audit_chains where organization_id = '${organization}'`,
    );
    expect(await faultOf()).toEqual({ kind: 'unknown end', position: 5, id: rows[4]?.id });
    expect(await readAuditedOrganizations(database, '', 1_000)).toContain(organization);
  });
});

test('an entry added after the end is found', async () => {
  await tamper(
    url,
    `insert into posthorn.audit_log
     select organization_id, created_at, id || '0', position + 1, workspace_id, actor_type, actor_id, action,
            target_type, target_id, request_id, source_address, changes, hash
       from posthorn.audit_log ${where(6)}`,
    `update posthorn.audit_log l
        set hash = posthorn.audit_hash((select b.hash from posthorn.audit_log b
                                         where b.organization_id = l.organization_id and b.position = 6), l)
      ${where(7)}`,
  );
  expect(await faultOf()).toEqual({ kind: 'added', position: 7, id: `${rows[5]?.id}0` });
});

test('entries dropped by retention are not missing, and the rest is still verified', async () => {
  // The first four entries are of another month.
  await tamper(
    url,
    "select posthorn.ensure_partition('audit_log', '2020-05-10')",
    `update posthorn.audit_log set created_at = '2020-05-10' where organization_id = '${organization}' and position <= 4`,
  );
  await rewriteHashes();
  expect(await faultOf()).toBeUndefined();
  expect(await dropPartitions(database, 'audit_log', new Date('2020-05-10'), new Date())).toEqual([]);
  expect(await dropPartitions(database, 'audit_log', new Date('2020-06-01'), new Date())).toEqual([
    'audit_log_20200501',
  ]);
  expect(await verifyChain(database, organization)).toMatchObject({
    ...{ entries: 2, position: 6, fault: undefined },
  });
  await append(1);
  expect(await verifyChain(database, organization)).toMatchObject({
    entries: 3,
    position: 7,
    fault: undefined,
  });
  await tamper(url, `delete from posthorn.audit_log ${where(5)}`);
  expect(await faultOf()).toEqual({ kind: 'missing', position: 5, id: rows[5]?.id });
});

test('a log that retention emptied is intact, and continues', async () => {
  const { database } = await freshDatabase();
  const entries = [auditEntry(), auditEntry()];
  await writeAudit(database, entries);
  await dropPartitions(database, 'audit_log', new Date('2100-01-01'), new Date());
  expect(await verifyChain(database, 'ORG-acme')).toMatchObject({
    entries: 0,
    position: 2,
    fault: undefined,
  });
  await writeAudit(database, entries);
  expect(await verifyChain(database, 'ORG-acme')).toMatchObject({
    entries: 2,
    position: 4,
    fault: undefined,
  });
});

test('a log of many batches is verified to its end, with progress reports', async () => {
  for (let turn = 0; turn < 6; turn++) await append(400);
  const progress: number[] = [];
  const report = await verifyChain(database, organization, (seen, of) => progress.push(seen, of));
  expect(report).toMatchObject({ entries: 2_406, fault: undefined });
  expect(progress).toEqual([1_000, 2_406, 2_000, 2_406, 2_406, 2_406]);
  await tamper(url, `update posthorn.audit_log set action = 'x' ${where(1_001)}`);
  expect(await faultOf()).toMatchObject({ kind: 'altered', position: 1_001 });
});

test('a log is intact while others write to it', async () => {
  let writing = true;
  const write = async () => {
    while (writing) await append(50);
  };
  const written = write();
  const reports = [await verifyChain(database, organization)];
  const hasGrown = () => reports.at(-1)!.entries > reports[0]!.entries;
  while (reports.length < 10 || !hasGrown()) reports.push(await verifyChain(database, organization));
  writing = false;
  await written;
  expect(reports.map(({ fault }) => fault)).toEqual(reports.map(() => undefined));
});

test('verifying a log ends, however much is being written to it', async () => {
  await append(1_000);
  let written = 0;
  const busy: Queryable = {
    async query(statement) {
      await append(50);
      written += 50;
      return database.query(statement);
    },
  };
  const report = await verifyChain(busy, organization);
  expect(report).toMatchObject({ entries: 1_006 + written, fault: undefined });
});

test('an organization without a log has no faults', async () => {
  expect(await verifyChain(database, 'ORG-nobody')).toMatchObject({ entries: 0, head: '', fault: undefined });
});

test('organizations are listed in order, each once, even in small pages', async () => {
  const all = await readAuditedOrganizations(database, '', 1_000);
  expect([...all].sort()).toEqual(all);
  expect(new Set(all).size).toBe(all.length);
  const paged: string[] = [];
  for (;;) {
    const page = await readAuditedOrganizations(database, paged.at(-1) ?? '', 2);
    paged.push(...page);
    if (page.length < 2) break;
  }
  expect(paged).toEqual(all);
  expect(all.length).toBeGreaterThan(10);
});

/** Makes the chain as if it had been written so. */
async function rewriteHashes(): Promise<void> {
  await tamper(
    url,
    `do $$
     declare
       before bytea := '';
       entry  posthorn.audit_log;
     begin
       for entry in select * from posthorn.audit_log where organization_id = '${organization}' order by position loop
         before := posthorn.audit_hash(before, entry);
         update posthorn.audit_log set hash = before
          where organization_id = entry.organization_id and position = entry.position;
       end loop;
       update posthorn.audit_chains set hash = before where organization_id = '${organization}';
     end $$`,
  );
}
