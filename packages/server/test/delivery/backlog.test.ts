import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { event, record } from '../support/client.js';
import { inMemory } from '../support/hostile-receiver.js';
import { hangs } from '../support/receiver.js';
import { startTestService } from '../support/service.js';
import { newTenant } from '../support/tenant.js';

const mib = 1024 * 1024;

/** Bytes that are in use, not those that only were. */
function heapInUse(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

describe('a backlog of 20,000 on a webhook that hangs', () => {
  test('stays in the database, and a healthy webhook gets its events as usual', async () => {
    const service = await startTestService({ POSTHORN_DELIVERY_TIMEOUT: '5s' });
    const dead = await newTenant(service);
    const { receiver: deadReceiver, webhook } = await dead.connect(hangs);
    const payload = { note: 'x'.repeat(3_000) };
    const before = heapInUse();
    let largest = 0;
    for (let batch = 0; batch < 20; batch += 1) {
      const events = Array.from({ length: 1_000 }, () =>
        event({ organization_id: dead.organization, payload }),
      );
      await record(service, ...events);
      largest = Math.max(largest, (await inMemory(service.platformUrl)).queued);
    }
    await deadReceiver.deliveries.nth(1);

    const alive = await newTenant(service);
    const { receiver } = await alive.connect(200);
    for (let n = 1; n <= 50; n += 1) {
      const { id } = await alive.record();
      expect((await receiver.deliveries.nth(n)).envelope.id).toBe(id);
      largest = Math.max(largest, (await inMemory(service.platformUrl)).queued);
    }
    // Of a webhook that has never responded hardly any is taken.
    expect(largest).toBeLessThan(1_000);
    expect(heapInUse() - before).toBeLessThan(40 * mib);
    const { rows } = await service.database.query<{ waiting: number }>({
      text: `
  select (select count(*) from posthorn.deliveries where webhook_id = $2 and status = 'pending')
       + (select count(*) from posthorn.open_shares($1, $2, null)) as waiting`,
      values: [dead.organization, webhook.id],
    });
    expect(rows[0]?.waiting).toBe(20_000);
    await dead.ask('DELETE', `/v1/webhooks/${webhook.id}`);
    await deadReceiver.close();
  });
});
