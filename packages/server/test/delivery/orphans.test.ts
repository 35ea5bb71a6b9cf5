import { expect, test } from 'vitest';
import { registerNode, releaseDeadNodes, releaseOrphans, retireNodes } from '../../src/storage/nodes.js';
import { recordBatch } from '../../src/storage/recording.js';
import { batch, event } from '../support/client.js';
import { freshDatabase } from '../support/database.js';

const { database } = await freshDatabase();

const held = async () => {
  const { rows } = await database.query<{ leased_by: number | null }>({
    text: 'select distinct leased_by from posthorn.deliveries order by 1',
  });
  return rows.map((row) => row.leased_by);
};

test('what is leased to a node that was declared dead a moment before goes back to the pool', async () => {
  await database.query({
    text: `insert into posthorn.webhooks (organization_id, id, url, status, event_types, created_at, secret)
           values ('ORG-acme', 'WHK-1', 'https://example.com', 'active', '{*}', now(), '')`,
  });
  const dead = await registerNode(database, 60_000);
  const alive = await registerNode(database, 60_000);
  await retireNodes(database, [dead]);
  await releaseDeadNodes(database);
  await recordBatch(database, batch([event()]), { node: dead, saturated: [] });
  await recordBatch(database, batch([event()]), { node: alive, saturated: [] });
  expect(await releaseDeadNodes(database)).toBe(0);
  expect(await releaseOrphans(database)).toBe(1);
  expect(await held()).toEqual([alive, null]);
});
