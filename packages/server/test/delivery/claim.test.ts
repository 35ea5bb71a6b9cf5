import { describe, expect, test } from 'vitest';
import { claimDeliveries } from '../../src/storage/claims.js';
import { registerNode } from '../../src/storage/nodes.js';
import { recordBatch } from '../../src/storage/recording.js';
import { changeWebhook, createWebhook } from '../../src/storage/webhooks.js';
import { batch, event } from '../support/client.js';
import { freshDatabase } from '../support/database.js';

const organization_id = 'ORG-acme';
const kilobyte = 1024;

/** Two webhooks, and deliveries to both of events with a payload of so many bytes, held by nobody. */
async function prepared(events: number, payloadBytes: number) {
  const { database } = await freshDatabase();
  for (const id of ['WHK-1', 'WHK-2']) {
    const created = { created_at: new Date(), secret: Buffer.alloc(1), url: 'http://127.0.0.1/' };
    await createWebhook(database, {
      organization_id,
      id,
      workspace_id: null,
      event_types: ['*'],
      ...created,
    });
    await changeWebhook(database, { organization_id, id }, { status: 'active' });
  }
  const payload = { id: 'TSK-1', filler: 'x'.repeat(payloadBytes) };
  const large = event({ organization_id, type: 'task.created', payload });
  // One by one: several together would wait in a bundle.
  for (let recorded = 0; recorded < events; recorded += 1) await recordBatch(database, batch([large]));
  const node = await registerNode(database, 60_000);
  const claim = (bytesMax: number) =>
    claimDeliveries(database, {
      ...{ node, bytesMax, busy: [], perWebhook: 100, webhooksMax: 100 },
      notBefore: new Date(Date.now() - 86_400_000),
    });
  return { claim };
}

describe('a claim', () => {
  test('brings no more than so many bytes, of each webhook something, and says that it left some', async () => {
    const { claim } = await prepared(5, 100 * kilobyte);
    const { deliveries, cut } = await claim(350 * kilobyte);
    expect(deliveries.map((delivery) => delivery.webhook_id).sort()).toEqual([
      'WHK-1',
      'WHK-1',
      'WHK-2',
      'WHK-2',
    ]);
    expect(cut).toBe(true);
  });

  test('brings one delivery however large it is, and the rest with the claims after it', async () => {
    const { claim } = await prepared(2, 100 * kilobyte);
    const brought: string[] = [];
    for (let more = true; more; ) {
      const { deliveries, cut } = await claim(1);
      expect(deliveries).toHaveLength(1);
      brought.push(...deliveries.map((delivery) => delivery.delivery_id));
      more = cut;
    }
    expect(new Set(brought).size).toBe(4);
    expect(await claim(1)).toEqual({ deliveries: [], cut: false });
  });

  test('that finds room for all of it says that nothing is left', async () => {
    const { claim } = await prepared(3, 10);
    const { deliveries, cut } = await claim(350 * kilobyte);
    expect([deliveries.length, cut]).toEqual([6, false]);
  });
});
