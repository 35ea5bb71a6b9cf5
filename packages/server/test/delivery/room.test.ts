import { describe, expect, test } from 'vitest';
import { recordBatch } from '../../src/storage/recording.js';
import { subscribe, withNode } from '../support/bundles.js';
import { batch, event } from '../support/client.js';

const eventsOf = (organization_id: string, count: number) =>
  Array.from({ length: count }, () => event({ organization_id }));

/** How much of each webhook's is in bundles, by whether a node has it. */
async function bundled(database: Awaited<ReturnType<typeof withNode>>['database']) {
  const { rows } = await database.query<{ id: string; size: number; leased: boolean }>({
    text: 'select webhook_id as id, size, leased_by is not null as leased from posthorn.bundles order by 1',
  });
  return rows.map(({ id, size, leased }) => [id, size, leased]);
}

describe('a recording for a node that says how much room it has', () => {
  test('leases no more to it, however many webhooks the events are for; the rest waits, and the node knows of whom', async () => {
    const { database, node } = await withNode();
    for (const id of ['WHK-2', 'WHK-3']) await subscribe(database, { id });
    const recorded = await recordBatch(database, batch(eventsOf('ORG-acme', 10)), {
      ...{ node, saturated: [], room: 25 },
    });
    expect(recorded.leased.length).toBe(20);
    expect(recorded.left).toMatchObject([{ webhook_id: 'WHK-3', bundled: true }]);
    expect(await bundled(database)).toEqual([
      ['WHK-1', 10, true],
      ['WHK-2', 10, true],
      ['WHK-3', 10, false],
    ]);
  });

  test('takes the small shares first: much of one does not keep the little of another out', async () => {
    const { database, node } = await withNode();
    await subscribe(database, { organization_id: 'ORG-little', id: 'WHK-little' });
    const events = [...eventsOf('ORG-acme', 100), ...eventsOf('ORG-little', 5)];
    const { leased, left } = await recordBatch(database, batch(events), { node, saturated: [], room: 50 });
    expect(new Set(leased.map(({ webhook_id: id }) => id))).toEqual(new Set(['WHK-little']));
    expect(leased.length).toBe(5);
    expect(left).toMatchObject([{ webhook_id: 'WHK-1', bundled: true }]);
  });

  test('does not count what goes elsewhere anyway', async () => {
    const { database, node } = await withNode();
    await subscribe(database, { id: 'WHK-2' });
    const placement = { node, saturated: ['WHK-1'], room: 10 };
    const { leased, left } = await recordBatch(database, batch(eventsOf('ORG-acme', 10)), placement);
    expect(leased.length).toBe(10);
    expect(left).toMatchObject([{ webhook_id: 'WHK-1', bundled: true }]);
    expect(new Set(leased.map(({ webhook_id: id }) => id))).toEqual(new Set(['WHK-2']));
  });

  test('leases a few that are rows alike', async () => {
    const { database, node } = await withNode();
    await subscribe(database, { id: 'WHK-2' });
    const { leased, left } = await recordBatch(database, batch(eventsOf('ORG-acme', 3)), {
      ...{ node, saturated: [], room: 4 },
    });
    expect(leased.map(({ webhook_id: id }) => id)).toEqual(Array(3).fill('WHK-1'));
    expect(left).toMatchObject([{ webhook_id: 'WHK-2', bundled: false }]);
    expect(await bundled(database)).toEqual([]);
  });
});

test('nodes of the version before, which do not say how much, are leased everything and told of nothing else', async () => {
  const { database, node } = await withNode();
  await subscribe(database, { id: 'WHK-saturated' });
  const { rows } = await database.query<{ webhook_id: string | null; ordinals: number[] | null }>({
    text: `
  select webhook_id, ordinals
    from posthorn.record_and_bundle('{invoice.paid}', '{ORG-acme}', null, '{user}', '{USR-1}', '{invoice}',
                                    '{INV-1}', null, null, array['{}'::json], $1, '{WHK-saturated}')
   where webhook_id is not null`,
    values: [node],
  });
  expect(rows).toEqual([{ webhook_id: 'WHK-1', ordinals: [1] }]);
});
