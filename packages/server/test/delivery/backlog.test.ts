import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import type { Database } from '../../src/storage/database.js';
import { registerNode } from '../../src/storage/nodes.js';
import { event, record } from '../support/client.js';
import { freshDatabase } from '../support/database.js';
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
  test('stays in the database, and a healthy webhook gets its events as if it were not there', async () => {
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
    // The first batch came before anything was known of the webhook; of the others hardly any is taken.
    expect(largest).toBeLessThan(5_000);
    expect(heapInUse() - before).toBeLessThan(40 * mib);
    const { rows } = await service.database.query<{ waiting: number }>({
      text: `
  select (select count(*) from posthorn.deliveries where webhook_id = $2 and status = 'pending')
       + (select count(*) from posthorn.bundled_of($1, $2)) as waiting`,
      values: [dead.organization, webhook.id],
    });
    expect(rows[0]?.waiting).toBe(20_000);
    await dead.ask('DELETE', `/v1/webhooks/${webhook.id}`);
    await deadReceiver.close();
  });
});

describe('claiming', () => {
  /** Deliveries of a webhook that wait to be claimed, all due. */
  async function queue(database: Database, webhookId: string, count: number): Promise<void> {
    await database.query({
      text: `
  insert into posthorn.deliveries
         (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at)
  select 'ORG-acme', $1, now(), 'WDLV-' || $1 || '-' || n, 'EVT-' || n, 'invoice.paid', now(), now() - interval '1 minute'
    from generate_series(1, $2::int) n`,
      values: [webhookId, count],
    });
  }

  interface Plan {
    'Actual Rows': number;
    'Shared Hit Blocks': number;
    'Shared Read Blocks': number;
  }

  /** Pages that one claim touches; what it claims is put back. */
  async function pagesOfClaim(database: Database, node: number): Promise<number> {
    let plan: Plan | undefined;
    const undone = new Error('undone');
    await database
      .transaction(async (client) => {
        const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] | string }>({
          text: `
  explain (analyze, buffers, format json)
  select * from posthorn.claim_due(${node}, '{}', 100, 100, 1000000, now() - interval '1 day')`,
        });
        const text = rows[0]!['QUERY PLAN'];
        [{ Plan: plan }] = typeof text === 'string' ? JSON.parse(text) : text;
        throw undone;
      })
      .catch((error) => {
        if (error !== undone) throw error;
      });
    expect(plan?.['Actual Rows']).toBeGreaterThanOrEqual(100);
    return plan!['Shared Hit Blocks'] + plan!['Shared Read Blocks'];
  }

  async function prepare(...counts: number[]): Promise<{ database: Database; node: number }> {
    const { database } = await freshDatabase();
    await database.query({
      text: "select posthorn.ensure_partition('deliveries', (now() at time zone 'UTC')::date)",
    });
    for (const [index, count] of counts.entries()) await queue(database, `WHK-${index}`, count);
    await database.query({ text: 'vacuum analyze posthorn.deliveries' });
    return { database, node: await registerNode(database, 60_000) };
  }

  test('100 of 50,000 costs about as much as 100 of 200', async () => {
    const few = await prepare(200);
    const many = await prepare(50_000);
    // The first claim of a connection also reads the catalogue.
    await pagesOfClaim(few.database, few.node);
    await pagesOfClaim(many.database, many.node);
    const [pagesFew, pagesMany] = [
      await pagesOfClaim(few.database, few.node),
      await pagesOfClaim(many.database, many.node),
    ];
    // Indexes of 50,000 are a level deeper: each of the rows is found and written through one page more.
    expect(pagesMany).toBeLessThan(2 * pagesFew);
  });
});
