import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Database } from '../../src/postgres/database.js';
import { ReadReplica } from '../../src/postgres/read-replica.js';
import { sendRequest } from '../support/client.js';
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
    const { body } = await tenant.request('GET', `/v1/events?organization_id=${tenant.organization}${query}`);
    return body as { data: { id: string }[]; meta: { cursor: string } };
  };
  const readsFrom = async (database: 'replica' | 'primary') => {
    const { text } = await sendRequest(`${service.platformUrl}/metrics`, { token: platformToken });
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
    expect((await tenant.request('GET', `/v1/events/${id}`)).status).toBe(200);
  });

  test('never hides an acknowledged event: while it is not replaying, reads go to the primary', async () => {
    await untilUsed();
    await postgres.pause();
    const warned = log.warnings.length;
    const { id } = await tenant.record();
    expect((await tenant.request('GET', `/v1/events/${id}`)).status).toBe(200);
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

  /** Reads once from these databases. Returns where the read took place, and the reason if it was the primary. */
  const readOnce = async (primaryUrl: string, replicaUrl: string) => {
    const [primary, replica] = [primaryUrl, replicaUrl].map(
      (connectionString) => new Database({ connectionString }, 1),
    ) as [Database, Database];
    const warnings = new Log();
    let readFrom = '';
    const reader = new ReadReplica({
      ...{ primary, replica, logger: pino({}, warnings) },
      onRead: (from) => {
        readFrom = from;
      },
    });
    const { rows } = await reader.read((database) =>
      database.query<{ one: number }>({ text: 'select 1 as one' }),
    );
    expect(rows).toEqual([{ one: 1 }]);
    await reader.stop();
    await primary.close();
    return { from: readFrom, reason: warnings.lines[0]?.reason };
  };

  test('is not used if it is not a replica', async () => {
    expect(await readOnce(postgres.url, postgres.url)).toEqual({
      from: 'primary',
      reason: 'the database is not a replica',
    });
  });

  test('is not used if it does not follow the new primary after a failover, even if it has more of the log', async () => {
    await service.stop();
    await postgres.failOver();
    expect(await readOnce(postgres.url, postgres.replicaUrl)).toEqual({
      from: 'primary',
      reason: expect.stringMatching(
        /^the replica is on timeline (\d+)\/1, but the primary is on timeline \1\/2$/,
      ),
    });
  });
});

test('what a replica had replayed before a failover does not count after it', async () => {
  const end = { timeline: '7/1', position: '16384' };
  const replayed = { ...end };
  const returning = (row: object) => ({ query: async () => ({ rows: [{ pid: 1, ...row }] }) });
  const read: string[] = [];
  const reader = new ReadReplica({
    primary: returning(end) as unknown as Database,
    replica: {
      onConnection: (work: (client: unknown, connection: object) => unknown) =>
        work(returning(replayed), connection),
      close: async () => undefined,
    } as unknown as Database,
    logger: pino({}, new Log()),
    onRead: (from) => read.push(from),
  });
  const connection = { processID: 1 };
  await reader.read(async () => undefined);
  Object.assign(end, { timeline: '7/2', position: '8192' });
  await reader.read(async () => undefined);
  expect(read).toEqual(['replica', 'primary']);
  await reader.stop();
});
