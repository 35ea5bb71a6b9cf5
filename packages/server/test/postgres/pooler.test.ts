import { beforeAll, describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/settings/config.js';
import { command } from '../support/command.js';
import { changeSettings, freshDatabase, type TestDatabase } from '../support/database.js';
import { hasPgBouncer, startPgBouncer } from '../support/pgbouncer.js';
import { startTestService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

describe.runIf(hasPgBouncer())('a transaction pooler', () => {
  let direct: TestDatabase;
  let pooledUrl: string;
  let tenant: Tenant;
  beforeAll(async () => {
    direct = await freshDatabase();
    await changeSettings(direct.database, { datestyle: 'SQL, DMY', timezone: 'Asia/Kolkata' });
    pooledUrl = await startPgBouncer(direct.url);
    const service = await startTestService({
      DATABASE_URL: pooledUrl,
      POSTHORN_DIRECT_DATABASE_URL: direct.url,
    });
    tenant = await newTenant(service);
  });

  test('is noticed: without a direct URL, the start ends with one line that says what to set', async () => {
    const failure = await startTestService({ DATABASE_URL: pooledUrl }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConfigError);
    expect((failure as Error).message).toMatch(/^POSTHORN_DIRECT_DATABASE_URL: not set, .* pooler/);
    const { stdout } = await command(['doctor', '--json'], { DATABASE_URL: pooledUrl });
    expect(stdout).toContain(
      '"DATABASE_URL points to a connection pooler, which does not forward notifications"',
    );
  });

  test('carries recording, delivery and reading, whichever connection a statement runs on, and whatever its settings are', async () => {
    const { receiver, webhook } = await tenant.connect();
    const events = await Promise.all(Array.from({ length: 30 }, () => tenant.record()));
    await receiver.deliveries.nth(events.length);
    await tenant.settled(webhook, events.length);
    const ids = new Set(events.map(({ id }) => id));
    const pages = await Promise.all(
      ['asc', 'desc', 'asc', 'desc'].map((order) =>
        tenant.data('GET', `/v1/events?organization_id=${tenant.organization}&order=${order}&limit=100`),
      ),
    );
    for (const page of pages)
      expect(new Set(page.map(({ id }: { id: string }) => id).filter((id: string) => ids.has(id)))).toEqual(
        ids,
      );
  });

  test('is bypassed for notifications', async () => {
    // With a PostgreSQL on a socket, only the connections of the pooler have an address.
    const listeners = async () => {
      const { rows } = await direct.database.query<{ direct: boolean; query: string }>({
        text: `
  select client_addr is not distinct from inet_client_addr() as direct, query from pg_stat_activity
   where datname = current_database() and application_name = 'posthorn listener'`,
      });
      return rows;
    };
    await eventually(listeners, (rows) => rows.length === 1);
    expect(await listeners()).toEqual([{ direct: true, query: 'listen "posthorn_deliveries"' }]);
  });
});
