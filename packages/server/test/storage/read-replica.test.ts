import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Database } from '../../src/storage/database.js';
import { ReadReplica } from '../../src/storage/read-replica.js';
import { ask } from '../support/client.js';
import { Log } from '../support/log.js';
import { ReplicatedPostgres } from '../support/replica.js';
import { platformToken, startTestService, type TestService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

describe('a read replica', () => {
  let postgres: ReplicatedPostgres;
  let service: TestService;
  let tenant: Tenant;
  const log = new Log();

  beforeAll(async () => {
    postgres = await ReplicatedPostgres.start();
    service = await startTestService(
      { DATABASE_URL: postgres.url, POSTHORN_READ_DATABASE_URL: postgres.replicaUrl },
      log,
    );
    tenant = await newTenant(service);
  });
  afterAll(async () => {
    await service.stop();
    await postgres.stop();
  });

  const list = async (query = '') => {
    const { body } = await tenant.ask('GET', `/v1/events?organization_id=${tenant.organization}${query}`);
    return body as { data: { id: string }[]; meta: { cursor: string } };
  };
  const readsFrom = async (database: 'replica' | 'primary') => {
    const { text } = await ask(`${service.platformUrl}/metrics`, { token: platformToken });
    return Number(
      new RegExp(`^posthorn_event_reads_total{from="${database}"} (.*)$`, 'm').exec(text)?.[1] ?? 0,
    );
  };
  /** Reads until the replica serves a read. */
  const untilUsed = async () => {
    const before = await readsFrom('replica');
    await eventually(
      async () => {
        await list();
        return readsFrom('replica');
      },
      (reads) => reads > before,
    );
  };

  test('serves lists, single events and followers', async () => {
    const { id } = await tenant.record();
    await untilUsed();
    expect((await list()).data.map((event) => event.id)).toContain(id);
    expect((await list('&order=asc')).data.map((event) => event.id)).toContain(id);
    expect((await tenant.ask('GET', `/v1/events/${id}`)).status).toBe(200);
  });

  test('never hides an acknowledged event: while it is not replaying, reads go to the primary', async () => {
    await untilUsed();
    await postgres.pause();
    const warned = log.warnings.length;
    const { id } = await tenant.record();
    expect((await tenant.ask('GET', `/v1/events/${id}`)).status).toBe(200);
    expect((await list('&limit=1')).data[0]?.id).toBe(id);
    expect((await list('&order=asc')).data.at(-1)?.id).toBe(id);
    expect(log.warnings.slice(warned)).toEqual([
      'the read replica cannot be used; events are read from the primary',
    ]);
    await postgres.resume();
    await log.until('the read replica is in use again');
    await untilUsed();
    expect((await list('&limit=1')).data[0]?.id).toBe(id);
  });

  test('lets a reader see each event once and in order, whether or not it keeps up', async () => {
    let { cursor } = (await list('&order=asc')).meta;
    const recorded: string[] = [];
    const seen: string[] = [];
    for (let round = 0; round < 12; round += 1) {
      if (round === 4) await postgres.pause();
      if (round === 8) await postgres.resume();
      recorded.push((await tenant.record()).id);
      const page = await list(`&order=asc&cursor=${encodeURIComponent(cursor)}`);
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.meta.cursor;
    }
    expect(seen).toEqual(recorded);
  });

  test('is not missed when it is down', async () => {
    await untilUsed();
    await postgres.stopReplica();
    const { id } = await tenant.record();
    expect((await list('&limit=1')).data[0]?.id).toBe(id);
  });

  test('is not used if it is not a replica', async () => {
    const [primary, replica] = [1, 2].map(() => new Database({ connectionString: postgres.url }, 1));
    const warnings = new Log();
    const reader = new ReadReplica({
      ...{ primary: primary!, replica: replica!, logger: pino({}, warnings), onRead: () => undefined },
    });
    const { rows } = await reader.read((database) =>
      database.query<{ one: number }>({ text: 'select 1 as one' }),
    );
    expect(rows).toEqual([{ one: 1 }]);
    expect(warnings.lines[0]?.reason).toBe('the database is not a replica');
    await reader.stop();
    await primary?.close();
  });
});
