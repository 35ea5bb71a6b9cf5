import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { earliestAuditMs } from '../../src/audit/audit.js';
import { type AuditFilter, auditTable } from '../../src/audit/audit-store.js';
import { pageStatement } from '../../src/postgres/keyset.js';
import { makePartitionsAhead } from '../../src/retention/retention-store.js';
import { dayMs } from '../../src/values/time.js';
import { freshDatabase } from '../support/database.js';
import { PagePlans } from '../support/plans.js';

const entries = 10_000;
const nowMs = Date.now();
const earliestMs = earliestAuditMs(nowMs);

/** Each filter, and the index that is made for it; PostgreSQL has shortened the longest name. */
const filters: [string, Partial<AuditFilter>, string][] = [
  ['none', {}, 'pkey'],
  ['workspace_id', { workspace_id: 'WS-3' }, 'organization_id_workspace_id_created_at__idx'],
  ['actor_id', { actor_id: 'USR-3' }, 'organization_id_actor_id_created_at_id_idx'],
  ['action', { action: 'action.3' }, 'organization_id_action_created_at_id_idx'],
  ['target_id', { target_id: 'WHK-3' }, 'organization_id_target_id_created_at_id_idx'],
  ['a target nobody has', { target_id: 'WHK-none' }, 'organization_id_target_id_created_at_id_idx'],
];

let client: pg.Client;
let plans: PagePlans;

beforeAll(async () => {
  const { url, database } = await freshDatabase();
  client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('begin');
  for (let ms = earliestMs; ms < nowMs + 31 * dayMs; ms += 27 * dayMs) {
    await client.query('select posthorn.ensure_partition($1, $2)', ['audit_log', new Date(ms)]);
  }
  await client.query(
    `insert into posthorn.audit_log
            (organization_id, created_at, id, position, workspace_id, actor_type, actor_id, action,
             target_type, target_id, changes, hash)
     select 'ORG-' || case when g % 10 < 6 then 0 else g % 10 end, at, 'AUD-' || lpad(g::text, 26, '0'), g,
            case when g % 5 > 0 then 'WS-' || (g * 31 % 7) end, 'user', 'USR-' || (g * 104729 % 211),
            'action.' || (g * 7919 % 23), 'webhook', 'WHK-' || (g * 7907 % 2003), '{}', ''
       from (select g, to_timestamp(($1::float8 + g * $3::float8) / 1000) as at
               from generate_series(0::bigint, $2::bigint - 1) g) e`,
    [earliestMs, entries, (nowMs - earliestMs) / entries],
  );
  await client.query('commit');
  await makePartitionsAhead(database, nowMs);
});
afterAll(() => client.end());

describe.each(['before statistics exist', 'with statistics'])('%s', (when) => {
  beforeAll(async () => {
    if (when === 'with statistics') await client.query('analyze posthorn.audit_log');
    plans = new PagePlans(client);
  });

  test.each(filters)(
    'a page of the audit log filtered by %s is one ordered scan of the index made for it',
    async (_, filter, index) => {
      for (const organization_id of ['ORG-0', 'ORG-7', 'ORG-none']) {
        for (const order of ['asc', 'desc'] as const) {
          for (const toMs of [undefined, nowMs - 100 * dayMs]) {
            for (const after of [undefined, { atMs: nowMs - 150 * dayMs, id: 'AUD-0' }]) {
              const page = { organization_id, fromMs: earliestMs, toMs, ...filter };
              const statement = pageStatement(auditTable, page, order, after, 26);
              await plans.expectOrderedScan(statement, index, { page, order, after });
            }
          }
        }
      }
    },
  );
});

test('a page over the whole year takes few locks', async () => {
  await client.query('begin');
  const page = { organization_id: 'ORG-0', fromMs: earliestMs, action: 'action.3' };
  const { text, values } = pageStatement(auditTable, page, 'desc', undefined, 26);
  expect((await client.query(text, values)).rows).toHaveLength(26);
  const { rows } = await client.query(
    'select count(*)::int as locks from pg_locks where pid = pg_backend_pid()',
  );
  await client.query('commit');
  expect(rows[0].locks).toBeLessThan(120);
});
