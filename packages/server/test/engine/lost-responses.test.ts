import { beforeAll, describe, expect, test } from 'vitest';
import { recordBatch } from '../../src/events/recording-store.js';
import { batch, event, sendRequest } from '../support/client.js';
import { freshDatabase, type TestDatabase } from '../support/database.js';
import { backlogSizes, handoffSizes } from '../support/deliveries.js';
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

async function statusesOf(organization: string): Promise<string[]> {
  const { rows } = await direct.database.query<{ status: string }>({
    text: 'select status from posthorn.deliveries where organization_id = $1',
    values: [organization],
  });
  return rows.map(({ status }) => status);
}

const successes = (count: number) => (statuses: string[]) =>
  statuses.length === count && statuses.every((status) => status === 'success');

describe('deliveries leased to a node that never got the response', () => {
  test('are made once if their events were committed and the producer got a 503', async () => {
    const owner = await newTenant(service);
    const { receiver } = await owner.connect();
    const body = Array.from({ length: 5 }, (_, n) =>
      event({ organization_id: owner.organization, idempotency_key: `once-${n}` }),
    );
    const send = () =>
      sendRequest(`${service.platformUrl}/platform/events`, { method: 'POST', token: platformToken, body });
    // Connections at hand: one that had to be opened now would carry no statement.
    await Promise.all(Array.from({ length: 8 }, () => owner.events()));
    proxy.loseResponses();
    expect((await send()).status).toBe(503);
    expect(await handoffSizes(direct.database)).toEqual([5]);
    proxy.heal();
    const again = await eventually(send, ({ status }) => status === 201);
    await receiver.deliveries.nth(5);
    await eventually(() => statusesOf(owner.organization), successes(5));
    expect(receiver.deliveries.all.map(({ envelope }) => envelope.id).sort()).toEqual(
      again.body.data.map(({ id }: { id: string }) => id).sort(),
    );
    expect([await handoffSizes(direct.database), await backlogSizes(direct.database)]).toEqual([[], []]);
  });

  test('are made if the node claimed them', async () => {
    const owner = await newTenant(service);
    const { receiver } = await owner.connect();
    // Not sooner: a claim of nothing whose response is lost would be the last for now.
    proxy.loseResponsesFrom('claimed unheard');
    const payload = { note: 'claimed unheard' };
    await recordBatch(direct.database, batch([event({ organization_id: owner.organization, payload })]));
    await eventually(
      () => backlogSizes(direct.database, 'leased'),
      ([size]) => size === 1,
    );
    proxy.heal();
    await receiver.deliveries.nth(1);
    await eventually(() => statusesOf(owner.organization), successes(1));
  });
});
