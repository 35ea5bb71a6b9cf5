import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { registerNode } from '../../src/cells/node-store.js';
import { batchOf, type NewBatch, recordBatch } from '../../src/events/recording-store.js';
import type { Database } from '../../src/postgres/database.js';
import { newId } from '../../src/values/identifier.js';
import { deliveryFailed } from '../../src/webhooks/webhook.js';
import { batch, event } from '../support/client.js';
import { freshDatabase } from '../support/database.js';
import { roomOf, settleFor, subscribe, succeeded } from '../support/deliveries.js';
import { startTestService, type TestService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

// biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape
type Body = any;

describe('webhooks on * that fail', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ POSTHORN_RETRY_SCHEDULE: '5ms,5ms,5ms,5ms' });
  });

  /** Resolves with the events of the organization, oldest first, once none of its deliveries is unfinished. */
  async function atRest(owner: Tenant): Promise<Body[]> {
    await eventually(
      async () => {
        const { rows } = await service.database.query<{ count: number }>({
          text: `
  select (select count(*) from posthorn.deliveries where organization_id = $1 and status = 'pending')
       + (select count(*) from posthorn.handoffs where organization_ids @> array[$1])
       + (select count(*) from posthorn.backlog where organization_id = $1) as count`,
          values: [owner.organization],
        });
        return rows[0]?.count;
      },
      (unfinished) => unfinished === 0,
    );
    return (await owner.events()).reverse();
  }

  const failedOnes = (events: Body[]) => events.filter(({ type }) => type === 'webhook.delivery_failed');

  test('next to a healthy one: one webhook.delivery_failed per delivery given up, sent to the healthy one and never to the failed one', async () => {
    const owner = await newTenant(service);
    const failing = await owner.connect(500);
    const healthy = await owner.connect(200);
    const recorded = [await owner.record(), await owner.record(), await owner.record()];
    const reported = failedOnes(await atRest(owner));

    expect(reported.map(({ payload }) => payload.event_id).sort()).toEqual(
      recorded.map(({ id }) => id).sort(),
    );
    for (const { subject } of reported) expect(subject).toEqual({ type: 'webhook', id: failing.webhook.id });

    const ids = (requests: Body[]) => [...new Set(requests.map(({ envelope }) => envelope.id))].sort();
    expect(ids(failing.receiver.deliveries.all)).toEqual(recorded.map(({ id }) => id).sort());
    expect(failing.receiver.deliveries.count).toBe(15);
    // Five attempts in a row have failed: an incident, which is reported once.
    const incidents = (await owner.events({ type: 'webhook.failing' })).map(({ id }) => id);
    expect(incidents).toHaveLength(1);
    expect(healthy.receiver.deliveries.count).toBe(7);
    expect(ids(healthy.receiver.deliveries.all)).toEqual(
      [...recorded.map(({ id }) => id), ...reported.map(({ id }) => id), ...incidents].sort(),
    );
  });

  test('two of them: each gets one report about the other, both failures are recorded, and there it ends', async () => {
    const owner = await newTenant(service);
    // Incidents are another matter.
    const event_types = ['invoice.*', 'webhook.delivery_failed'];
    const [one, other] = [
      await owner.connect(500, { event_types }),
      await owner.connect(500, { event_types }),
    ];
    const healthy = await owner.connect(200, { event_types });
    const recorded = await owner.record();
    const reported = failedOnes(await atRest(owner));

    const about = (event: Body) => [event.payload.webhook_id, event.payload.event_type];
    expect(reported.map(about).sort()).toEqual(
      [
        [one.webhook.id, 'invoice.paid'],
        [one.webhook.id, 'webhook.delivery_failed'],
        [other.webhook.id, 'invoice.paid'],
        [other.webhook.id, 'webhook.delivery_failed'],
      ].sort(),
    );
    // Those about the failure of a webhook.* event go to nobody, not even to a webhook whose receiver responds.
    const first = reported.filter(({ payload }) => payload.event_type === 'invoice.paid');
    const heard = healthy.receiver.deliveries.all.map(({ envelope }) => envelope.id);
    expect(heard.sort()).toEqual([recorded.id, ...first.map(({ id }) => id)].sort());
    for (const { receiver, webhook } of [one, other]) {
      expect(receiver.deliveries.count).toBe(10);
      for (const { envelope } of receiver.deliveries.all)
        expect(envelope.data.webhook_id ?? 'none').not.toBe(webhook.id);
    }
  });
});

describe('any set of webhooks, whichever of them fail', () => {
  let database: Database;
  let node: number;
  beforeAll(async () => {
    ({ database } = await freshDatabase());
    node = await registerNode(database, 600_000);
  });

  const subscribers = fc.array(
    fc.record({
      workspace_id: fc.constantFrom(null, null, 'WS-1', 'WS-2'),
      event_types: fc.constantFrom(
        ['*'],
        ['*'],
        ['webhook.*'],
        ['webhook.delivery_failed'],
        ['invoice.*', 'webhook.delivery_failed'],
        ['invoice.paid'],
      ),
      fails: fc.boolean(),
    }),
    { minLength: 1, maxLength: 8 },
  );

  test('stops eventually: failing deliveries cause others, and those cause none', async () => {
    let run = 0;
    const roundsSeen = new Set<number>();
    const property = fc.asyncProperty(subscribers, async (drawn) => {
      run += 1;
      const organization = `ORG-${run}`;
      const all = drawn.map((one) => ({ ...one, id: newId('WHK', Date.now()) }));
      const byId = new Map(all.map((one) => [one.id, one]));
      for (const one of all) await subscribe(database, { ...one, organization_id: organization });
      const record = async (events: NewBatch) => (await recordBatch(database, events, roomOf(node))).leased;

      let rounds = 0;
      let due = await record(batch([event({ organization_id: organization })]));
      while (due.length > 0) {
        rounds += 1;
        expect(rounds, 'rounds of deliveries').toBeLessThanOrEqual(2);
        // As if all attempts were made.
        await settleFor(database, node, due.map(succeeded));
        const failed = due.filter(({ webhook_id: id }) => byId.get(id)?.fails);
        const events = failed.map(({ delivery_id, webhook_id, event_id, type }) =>
          deliveryFailed(
            { ...byId.get(webhook_id)!, organization_id: organization },
            {
              ...{ delivery_id, event_id, event_type: type, attempts: 5, http_status: 500, error: null },
              last_attempt_at: new Date().toISOString(),
            },
          ),
        );
        due = events.length > 0 ? await record(batchOf(events)) : [];
      }
      roundsSeen.add(rounds);

      const { rows } = await database.query<{ self: number; failed: number; reported: number }>({
        text: `
  select (select count(*) from posthorn.deliveries d
            join posthorn.events e on e.organization_id = d.organization_id and e.id = d.event_id
           where d.organization_id = $1 and e.subject_id = d.webhook_id) as self,
         (select count(*) from posthorn.deliveries
           where organization_id = $1 and webhook_id = any ($2)) as failed,
         (select count(*) from posthorn.events
           where organization_id = $1 and type = 'webhook.delivery_failed') as reported`,
        values: [organization, all.filter(({ fails }) => fails).map(({ id }) => id)],
      });
      const { self, failed, reported } = rows[0]!;
      expect(self).toBe(0);
      expect(reported).toBe(failed);
    });
    await fc.assert(property, { numRuns: 60 });
    // Runs in which nothing failed would prove nothing.
    expect(Math.max(...roundsSeen)).toBe(2);
  });
});
