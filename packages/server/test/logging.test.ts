import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sendRequest } from './support/client.js';
import { freshDatabase } from './support/database.js';
import { Log } from './support/log.js';
import { PostgresProxy } from './support/postgres-proxy.js';
import { platformToken, startTestService, type TestService } from './support/service.js';
import { eventually, newTenant } from './support/tenant.js';

const log = new Log();
let service: TestService;
let proxy: PostgresProxy;

beforeAll(async () => {
  proxy = await PostgresProxy.open((await freshDatabase()).url);
  service = await startTestService({ DATABASE_URL: proxy.url, POSTHORN_RETRY_SCHEDULE: '1ms' }, log);
});
beforeEach(() => {
  log.lines.length = 0;
});

describe('the level of a log line', () => {
  it('is a warning for the attempt after which a delivery is given up, and information for those before', async () => {
    const tenant = await newTenant(service);
    await tenant.connect(503, { event_types: ['invoice.paid'] });
    await tenant.record({ type: 'invoice.paid' });
    const attempts = await log.until('delivery', 2);
    expect(attempts.map(({ level, verdict, attempt }) => [level, verdict, attempt])).toEqual([
      [30, 'retry', 1],
      [40, 'given_up', 2],
    ]);
  });

  it('is a warning for a receiver that responds with 410', async () => {
    const tenant = await newTenant(service);
    await tenant.connect(410);
    await tenant.record();
    const [attempt] = await log.until('delivery');
    expect(attempt).toMatchObject({ level: 40, verdict: 'gone', http_status: 410 });
  });

  it('is a warning for the death of a node, and nothing is said about a node that stops', async () => {
    const second = await startTestService({ DATABASE_URL: service.databaseUrl, POSTHORN_ROLES: 'delivery' });
    await second.stop();
    const { rows } = await service.database.query<{ id: number }>({
      text: "insert into posthorn.nodes (alive_until) values (now() - interval '1 s') returning id",
    });
    const deaths = await log.until('a node died');
    expect(deaths.map(({ level, nodes }) => [level, nodes])).toEqual([[40, [rows[0]!.id]]]);
  });
});

describe('a database that is lost and regained', () => {
  it('is logged once each, however many requests and tasks notice', async () => {
    const readyz = () => sendRequest(`${service.publicUrl}/readyz`);
    proxy.cut();
    await log.until('the database is unreachable');
    for (let times = 0; times < 3; times += 1) expect((await readyz()).status).toBe(503);
    await sendRequest(`${service.platformUrl}/metrics`, { token: platformToken });
    proxy.heal();
    await eventually(readyz, ({ status }) => status === 200);
    await log.until('the database is reachable again');
    const said = (start: string) => log.warnings.filter((message) => message.startsWith(start));
    expect(said('the database')).toEqual([
      'the database is unreachable; requests get 503 until it is back',
      'the database is reachable again',
    ]);
  });
});
