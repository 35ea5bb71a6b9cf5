import { beforeAll, describe, expect, test } from 'vitest';
import { recordBatch } from '../../src/storage/recording.js';
import { bundleSizes } from '../support/bundles.js';
import { ask, batch, event } from '../support/client.js';
import { freshDatabase, type TestDatabase } from '../support/database.js';
import { PostgresProxy } from '../support/postgres-proxy.js';
import { platformToken, startTestService, type TestService } from '../support/service.js';
import { eventually, newTenant } from '../support/tenant.js';

let direct: TestDatabase;
let proxy: PostgresProxy;
let service: TestService;
beforeAll(async () => {
  direct = await freshDatabase();
  proxy = await PostgresProxy.open(direct.url);
  service = await startTestService({ DATABASE_URL: proxy.url, POSTHORN_DELIVERY_TIMEOUT: '1s' });
});

async function deliveriesOf(organization: string) {
  const { rows } = await direct.database.query<{ status: string; leased_by: number | null }>({
    text: 'select status, leased_by from posthorn.deliveries where organization_id = $1',
    values: [organization],
  });
  return rows;
}

describe('deliveries that the database leased to a node without the node hearing of it', () => {
  test('are made all the same, where their event was committed and its producer told 503', async () => {
    const owner = await newTenant(service);
    const { receiver } = await owner.connect();
    const body = event({ organization_id: owner.organization, idempotency_key: 'once' });
    const send = () =>
      ask(`${service.platformUrl}/platform/events`, { method: 'POST', token: platformToken, body });
    // Connections at hand: one that had to be opened now would carry no statement.
    await Promise.all(Array.from({ length: 8 }, () => owner.events()));
    proxy.loseAnswers();
    expect((await send()).status).toBe(503);
    expect(await deliveriesOf(owner.organization)).toHaveLength(1);
    proxy.heal();
    const again = await eventually(send, ({ status }) => status === 201);
    expect(await deliveriesOf(owner.organization)).toHaveLength(1);
    expect((await receiver.deliveries.nth(1)).envelope.id).toBe(again.body.data[0].id);
  });

  test('are made all the same, where they are in a bundle', async () => {
    const owner = await newTenant(service);
    const { receiver } = await owner.connect();
    const body = Array.from({ length: 5 }, () => event({ organization_id: owner.organization }));
    await Promise.all(Array.from({ length: 8 }, () => owner.events()));
    proxy.loseAnswers();
    const answer = await ask(`${service.platformUrl}/platform/events`, {
      ...{ method: 'POST', token: platformToken, body },
    });
    expect(answer.status).toBe(503);
    expect(await deliveriesOf(owner.organization)).toEqual([]);
    expect(await bundleSizes(direct.database)).toEqual([5]);
    proxy.heal();
    await receiver.deliveries.nth(5);
    const rows = await eventually(
      () => deliveriesOf(owner.organization),
      (all) => all.length === 5 && all.every(({ status }) => status === 'success'),
    );
    expect(rows).toHaveLength(5);
    expect(receiver.deliveries.count).toBe(5);
    expect(await bundleSizes(direct.database)).toEqual([]);
  });

  test('are made all the same, where the node claimed them', async () => {
    const owner = await newTenant(service);
    const { receiver } = await owner.connect();
    // Not sooner: a claim of nothing whose answer is lost would be the last for now.
    proxy.loseAnswersFrom('claimed unheard');
    const payload = { note: 'claimed unheard' };
    await recordBatch(direct.database, batch([event({ organization_id: owner.organization, payload })]));
    await eventually(
      () => deliveriesOf(owner.organization),
      ([delivery]) => delivery?.leased_by !== null,
    );
    proxy.heal();
    await receiver.deliveries.nth(1);
  });
});
