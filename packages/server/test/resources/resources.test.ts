import { describe, expect, test } from 'vitest';
import { migrate } from '../../src/postgres/migrate.js';
import { lifecycles, transitionsOf } from '../../src/resources/resource-schema.js';
import { createResource } from '../../src/resources/resource-store.js';
import { freshDatabase } from '../support/database.js';
import { resources } from '../support/lifecycle.js';

const { database } = await freshDatabase();

const readMoves = async () =>
  (
    await database.query<{ kind: string; move: string; from_status: string | null; to_status: string }>({
      text: 'select * from posthorn.lifecycle_moves order by kind, move, from_status',
    })
  ).rows;

describe('the table of moves in the database', () => {
  test('matches the source', async () => {
    const inSource = resources.flatMap(([, lifecycle]) =>
      transitionsOf(lifecycle).map(({ move, from, to }) => ({
        ...{ kind: lifecycle.kind, move, from_status: from, to_status: to },
      })),
    );
    const moves = await readMoves();
    expect(moves).toHaveLength(inSource.length);
    expect(moves).toEqual(expect.arrayContaining(inSource));
  });

  test('gets the missing moves of a version with other moves, from several nodes at once, and keeps the rest', async () => {
    const complete = await readMoves();
    await database.query({ text: "delete from posthorn.lifecycle_moves where move = 'pause'" });
    await database.query({
      text: "insert into posthorn.lifecycle_moves values ('invoice', 'a-newer-one', 'paid', 'open')",
    });
    await database.query({
      text: "update posthorn.schema_files set checksum = 'other' where name = 'rows/lifecycle_moves.sql'",
    });
    await Promise.all([migrate(database), migrate(database), migrate(database)]);
    const newer = { kind: 'invoice', move: 'a-newer-one', from_status: 'paid', to_status: 'open' };
    const moves = await readMoves();
    expect(moves).toHaveLength(complete.length + 1);
    expect(moves).toEqual(expect.arrayContaining([...complete, newer]));
    await database.query({ text: "delete from posthorn.lifecycle_moves where move = 'a-newer-one'" });
  });
});

describe('SQL written by hand', async () => {
  const invoice = await createResource(database, lifecycles.invoices, {
    ...{ organization_id: 'ORG-acme', workspace_id: null, attributes: {} },
  });
  const set = (assignment: string) =>
    database.query({
      text: `update posthorn.resources set ${assignment} where organization_id = 'ORG-acme' and id = $1`,
      values: [invoice.id],
    });
  const insert = (kind: string, status: string) =>
    database.query({
      text: `
  insert into posthorn.resources
         (organization_id, id, kind, status, status_since, attributes, created_at, updated_at)
  values ('ORG-acme', 'X-1', $1, $2, now(), '{}', now(), now())`,
      values: [kind, status],
    });

  test.each(['paid', 'voided', 'nonsense', ''])('cannot make %j of a draft', async (status) => {
    await expect(set(`status = '${status}'`)).rejects.toThrow('no move of invoice leads from draft');
  });

  test('can make only the moves of the table', async () => {
    await set("status = 'open'");
    await expect(set("status = 'draft'")).rejects.toThrow('from open to draft');
    await set("status = 'open', attributes = '{}'");
  });

  test('cannot create a resource in a status other than the first, or of an unknown kind', async () => {
    await expect(insert('invoice', 'open')).rejects.toThrow('from nothing to open');
    await expect(insert('parcel', 'draft')).rejects.toThrow('parcel');
  });

  test.each(["organization_id = 'ORG-other'", "id = 'INV-other'", "kind = 'task'"])(
    'cannot set %s',
    async (assignment) => {
      await expect(set(assignment)).rejects.toThrow('the organization, id and kind of');
    },
  );
});

test('an id belongs to one resource in all organizations', async () => {
  const { rows } = await database.query<{ plan: string }>({
    text: "select indexdef as plan from pg_indexes where indexname = 'resources_by_id'",
  });
  expect(rows[0]!.plan).toMatch(/^CREATE UNIQUE INDEX .*\(id\)$/);
});
