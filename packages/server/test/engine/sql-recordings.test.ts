import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { NewEvent } from '../../src/events/event.js';
import { recordEvents } from '../../src/events/recording-store.js';
import { event } from '../support/client.js';
import { freshServiceDatabase } from '../support/database.js';
import { withoutPolls } from '../support/limits.js';
import { Log } from '../support/log.js';
import { PostgresProxy } from '../support/postgres-proxy.js';
import { sharedService, startTestService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';

describe('events recorded by plain SQL in a transaction of the producer', () => {
  async function recordBySql(url: string, owner: Tenant): Promise<string> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query({
      text: `select posthorn.record_event('invoice.paid', $1, '{"type":"user","id":"USR-1"}',
               '{"type":"invoice","id":"INV-1"}', '{}') as id`,
      values: [owner.organization],
    });
    await client.end();
    return rows[0].id;
  }

  test('are delivered after a notification, without waiting for a poll', async () => {
    await withoutPolls();
    const unpolled = await startTestService();
    onTestFinished(() => unpolled.stop());
    const owner = await newTenant(unpolled);
    const { receiver } = await owner.connect();
    for (let n = 1; n <= 3; n += 1) {
      const id = await recordBySql(unpolled.databaseUrl, owner);
      expect((await receiver.deliveries.nth(n)).envelope.id).toBe(id);
    }
    // Not each of those that come close together has a word of its own.
    const all = await Promise.all(
      Array.from({ length: 40 }, () =>
        recordEvents(unpolled.database, [
          event({ organization_id: owner.organization }) as unknown as NewEvent,
        ]),
      ),
    );
    await receiver.deliveries.nth(43);
    const received = receiver.deliveries.all.slice(3).map(({ envelope }) => envelope.id);
    expect(received.sort()).toEqual(all.map(([recorded]) => recorded!.id).sort());
  });

  test('are delivered even if POSTHORN_DIRECT_DATABASE_URL cannot be reached, which is logged once, as is its end', async () => {
    const { url } = await freshServiceDatabase();
    const proxy = await PostgresProxy.open(url);
    proxy.cut();
    const log = new Log();
    const deaf = await startTestService({ DATABASE_URL: url, POSTHORN_DIRECT_DATABASE_URL: proxy.url }, log);
    onTestFinished(() => deaf.stop());
    const owner = await newTenant(deaf);
    const { receiver } = await owner.connect();
    const id = await recordBySql(url, owner);
    expect((await receiver.deliveries.nth(1)).envelope.id).toBe(id);
    await log.until('notifications cannot be received; check POSTHORN_DIRECT_DATABASE_URL');
    proxy.heal();
    await log.until('notifications are being received again');
    expect(log.lines.filter(({ msg }) => msg.includes('notifications'))).toHaveLength(2);
  });

  test('are delivered by the poll if no node can LISTEN, as behind a transaction pooler', async () => {
    const { url } = await freshServiceDatabase();
    const proxy = await PostgresProxy.open(url, /posthorn listener/);
    const deaf = await startTestService({ DATABASE_URL: proxy.url });
    onTestFinished(() => deaf.stop());
    const owner = await newTenant(deaf);
    const { receiver } = await owner.connect();
    const { rows } = await deaf.database.query<{ listeners: number }>({
      text: "select count(*) as listeners from pg_stat_activity where datname = current_database() and application_name = 'posthorn listener'",
    });
    expect(rows[0]?.listeners).toBe(0);
    const id = await recordBySql(url, owner);
    expect((await receiver.deliveries.nth(1)).envelope.id).toBe(id);
  });

  test('are not delivered if the transaction is rolled back', async () => {
    const service = await sharedService();
    const owner = await newTenant(service);
    const { receiver, webhook } = await owner.connect();
    const client = new pg.Client({ connectionString: service.databaseUrl });
    await client.connect();
    const recordIn = async () => {
      const { rows } = await client.query('select id from posthorn.record_events($1)', [
        JSON.stringify([event({ organization_id: owner.organization })]),
      ]);
      return rows[0].id;
    };
    await client.query('begin');
    await recordIn();
    await client.query('rollback');
    const kept = await recordIn();
    await client.end();
    expect((await receiver.deliveries.nth(1)).envelope.id).toBe(kept);
    expect(await owner.settled(webhook, 1)).toMatchObject([{ event_id: kept }]);
  });
});
