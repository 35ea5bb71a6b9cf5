import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { scopes } from '../../src/access/token.js';
import { Database, databaseLimits } from '../../src/postgres/database.js';
import { migrateWhenReachable } from '../../src/postgres/startup.js';
import { afterFile } from '../support/cleanup.js';
import { type ApiResponse, event, sendRequest } from '../support/client.js';
import { freshDatabase, type TestDatabase } from '../support/database.js';
import { Log } from '../support/log.js';
import { exampleOf, readOperations, urlOf } from '../support/operations.js';
import { PostgresProxy } from '../support/postgres-proxy.js';
import { Posthorn } from '../support/process.js';
import { makeToken, platformToken, startTestService, type TestService } from '../support/service.js';
import { Tail } from '../support/tail.js';
import { eventually } from '../support/tenant.js';

let real: TestDatabase;
let proxy: PostgresProxy;
let service: TestService;
let token: string;
const log = new Log();

const usual = { ...databaseLimits };
/** A statement that the database executes ends, however busy the machine is. */
const patient = { ...usual, queryMs: 60_000 };
/** For statements that cannot end. */
const hurried = { ...usual, queryMs: 1_000 };

beforeAll(async () => {
  Object.assign(databaseLimits, patient);
  afterFile(() => Object.assign(databaseLimits, usual));
  real = await freshDatabase();
  proxy = await PostgresProxy.open(real.url);
  service = await startTestService({ DATABASE_URL: proxy.url }, log);
  token = await makeToken(real.database);
});

afterEach(async () => {
  Object.assign(databaseLimits, patient);
  proxy.heal();
  await untilReady();
});

const list = () => sendRequest(`${service.publicUrl}/v1/events?organization_id=ORG-acme`, { token });
const post = (body: unknown = event()) =>
  sendRequest(`${service.platformUrl}/platform/events`, { method: 'POST', token: platformToken, body });
const readyz = (url = service.publicUrl) => sendRequest(`${url}/readyz`);

/** Makes the network silent, for statements that have been sent and for those that follow. */
function silence(): void {
  Object.assign(databaseLimits, hurried);
  proxy.silence();
}

async function untilReady(url = service.publicUrl): Promise<void> {
  await eventually(
    () => readyz(url),
    ({ status }) => status === 200,
  );
}

function expectUnavailable(response: ApiResponse): void {
  expect([response.status, response.body?.code], response.text).toEqual([503, 'unavailable']);
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(response.text).not.toMatch(/select |insert |\bECONN|\.js:|\.ts:|127\.0\.0\.1|posthorn\./i);
}

/**
 * Expects that a request waits for the database once, for a connection and for a statement. A second round would not be
 * over before a few requests that do not need the database, one after the other, the first of which starts halfway
 * through that round. Load delays them as well, and the first round starts when the service gets to the request.
 */
async function inTime(request: Promise<ApiResponse>): Promise<ApiResponse> {
  const { connectMs, queryMs } = hurried;
  const respond = () => sendRequest(`${service.publicUrl}/healthz`);
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const started = respond().then(() => {
    timer = setTimeout(
      async () => {
        for (let turn = 0; turn < 20; turn += 1) await respond();
        isOver = true;
      },
      1.5 * (connectMs + queryMs),
    );
  });
  const response = await request;
  await started;
  clearTimeout(timer);
  expect(isOver, 'the request waited for the database again').toBe(false);
  return response;
}

it('the time that a request waits for the database leaves half a second of the 5 s that it may take', () => {
  expect(usual.connectMs + usual.queryMs).toBeLessThanOrEqual(4_500);
});

/** Holds the table that both reading and recording need, until the test lets go. */
async function holdingEvents<T>(
  work: (untilWaiting: (count: number) => Promise<void>) => Promise<T>,
): Promise<T> {
  const holder = new pg.Client({ connectionString: real.url });
  await holder.connect();
  try {
    await holder.query('begin; lock table posthorn.events in access exclusive mode');
    return await work(async (count) => {
      await eventually(
        () =>
          real.database.query<{ waiting: number }>({
            text: `select count(*) as waiting from pg_stat_activity
                    where datname = current_database() and wait_event_type = 'Lock'`,
          }),
        ({ rows }) => rows[0]!.waiting >= count,
      );
    });
  } finally {
    await holder.end();
  }
}

describe('while the database refuses connections', () => {
  it('reading is 503 with Retry-After', async () => {
    proxy.cut();
    expectUnavailable(await inTime(list()));
    expectUnavailable(
      await inTime(sendRequest(`${service.publicUrl}/v1/events/EVT-01JAB3C4D5E6F7G8H9J0K1M2N3`, { token })),
    );
    expectUnavailable(
      await inTime(sendRequest(`${service.publicUrl}/v1/events/tail?organization_id=ORG-acme`, { token })),
    );
  });

  it('recording is 503 with Retry-After', async () => {
    proxy.cut();
    expectUnavailable(await inTime(post()));
  });

  it('every token is 503 and not 401, because it cannot be checked', async () => {
    proxy.cut();
    expectUnavailable(
      await inTime(sendRequest(`${service.publicUrl}/v1/event-types`, { token: `pht_${'x'.repeat(43)}` })),
    );
  });

  it('everything that needs no database keeps working', async () => {
    proxy.cut();
    for (const url of [service.publicUrl, service.platformUrl]) {
      expect((await sendRequest(`${url}/healthz`)).status).toBe(200);
      expect((await sendRequest(`${url}/openapi.json`)).status).toBe(200);
    }
    expect((await sendRequest(`${service.publicUrl}/v1/events`)).status).toBe(401);
    expect((await post({})).status).toBe(422);
    expect((await sendRequest(`${service.platformUrl}/metrics`, { token: platformToken })).status).toBe(200);
  });

  it('/readyz is 503 on both listeners, and 200 again afterwards', async () => {
    expect((await readyz()).status).toBe(200);
    proxy.cut();
    for (const url of [service.publicUrl, service.platformUrl]) expectUnavailable(await inTime(readyz(url)));
    proxy.heal();
    await untilReady();
    expect((await readyz(service.platformUrl)).status).toBe(200);
  });

  it('nothing is recorded, and everything works again afterwards', async () => {
    const before = (await list()).body.data.length;
    proxy.cut();
    expectUnavailable(await post());
    proxy.heal();
    await untilReady();
    expect((await list()).body.data).toHaveLength(before);
    expect((await post()).status).toBe(201);
    expect((await list()).body.data).toHaveLength(before + 1);
  });
});

describe('a request whose database connection is cut', () => {
  it('is 503 with Retry-After, reading or recording', async () => {
    const responses = await holdingEvents(async (untilWaiting) => {
      const requests = [inTime(list()), inTime(post())];
      await untilWaiting(2);
      proxy.cut();
      return Promise.all(requests);
    });
    for (const response of responses) expectUnavailable(response);
  });

  it('is 503 if the server closes the connection itself', async () => {
    const responses = await holdingEvents(async (untilWaiting) => {
      const requests = [inTime(list()), inTime(post())];
      await untilWaiting(2);
      await real.database.query({
        text: `select pg_terminate_backend(pid) from pg_stat_activity
                where datname = current_database() and wait_event_type = 'Lock'`,
      });
      return Promise.all(requests);
    });
    for (const response of responses) expectUnavailable(response);
  });

  it('is 503 if the network goes silent', async () => {
    await list();
    Object.assign(databaseLimits, usual);
    const responses = await holdingEvents(async (untilWaiting) => {
      const requests = [inTime(list()), inTime(post())];
      await untilWaiting(2);
      silence();
      return Promise.all(requests);
    });
    for (const response of responses) expectUnavailable(response);
  });
});

describe('while the network to the database is silent', () => {
  // Ten connections lie open and dead in the pool; whoever waits behind the first must not wait for each.
  beforeAll(async () => {
    await Promise.all(Array.from({ length: 40 }, list));
  });

  it('each of many recording requests is 503 in time, including queued ones', async () => {
    silence();
    const started = Array.from({ length: 20 }, (_, index) => index);
    const responses = await Promise.all(started.map(() => inTime(post())));
    for (const response of responses) expectUnavailable(response);
  });

  it('each of many reading requests is 503 in time', async () => {
    silence();
    for (const response of await Promise.all(Array.from({ length: 20 }, () => inTime(list()))))
      expectUnavailable(response);
    expectUnavailable(await inTime(readyz()));
  });
});

describe('every endpoint, with a cached token', async () => {
  it.each([
    ['refuses connections', () => proxy.cut()],
    ['is silent', () => silence()],
  ])('responds as documented in time while the database %s', async (_how, part) => {
    const known = await makeToken(real.database, { organization_id: 'ORG-demo', scopes: [...scopes] });
    service.clock.stoppedAtMs = Date.now();
    await sendRequest(`${service.publicUrl}/v1/event-types`, { token: known });
    const listeners = [
      { url: service.publicUrl, token: known },
      { url: service.platformUrl, token: platformToken },
    ];
    const requests = await Promise.all(
      listeners.map(async ({ url, token: bearer }) =>
        (await readOperations(url)).map((operation) => ({ url, bearer, operation })),
      ),
    );
    part();
    await Promise.all(
      requests.flat().map(async ({ url, bearer, operation }) => {
        const example = exampleOf(operation);
        const response = await inTime(
          sendRequest(urlOf(url, operation, example), {
            ...{ method: operation.method, token: bearer, body: example.body },
          }),
        );
        const withoutDatabase = ['/healthz', '/v1/event-types', '/v1/token', '/metrics'];
        const needsDatabase = !withoutDatabase.includes(operation.path);
        if (needsDatabase) expectUnavailable(response);
        else expect(response.status, operation.name).toBe(200);
      }),
    );
  });

  afterEach(() => {
    service.clock.stoppedAtMs = undefined;
  });
});

describe('while the database refuses logins', () => {
  it('requests are 503, and the log says once that it is unreachable, and once that it is back', async () => {
    const { database: elsewhere } = await freshDatabase(true);
    const { rows } = await real.database.query<{ name: string }>({
      text: 'select current_database()::text as name',
    });
    const [{ name }] = rows as [{ name: string }];
    log.lines.length = 0;
    await elsewhere.query({ text: `alter database ${name} allow_connections false` });
    try {
      await elsewhere.query({
        text: 'select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1',
        values: [name],
      });
      for (let times = 0; times < 3; times += 1) {
        for (const request of [list(), post(), readyz()]) expectUnavailable(await inTime(request));
      }
    } finally {
      await elsewhere.query({ text: `alter database ${name} allow_connections true` });
    }
    await untilReady();
    await log.until('the database is reachable again');
    const errors = log.lines.filter(({ level }) => level >= 50).map(({ msg }) => msg);
    expect(errors).toEqual(['the database is unreachable; requests get 503 until it is back']);
  });
});

describe('while the database is read-only', () => {
  /** Makes the database read-only, or not, for connections from now on, and closes the others. */
  async function setReadOnly(isReadOnly: boolean): Promise<void> {
    const client = new pg.Client({ connectionString: real.url });
    await client.connect();
    await client.query('set default_transaction_read_only = off');
    const { rows } = await client.query('select current_database() as name');
    await client.query(`alter database ${rows[0].name} set default_transaction_read_only = ${isReadOnly}`);
    await client.query(`
      select pg_terminate_backend(pid, 5000) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`);
    await client.end();
  }
  const isUp = async () => {
    const { text } = await sendRequest(`${service.platformUrl}/metrics`, { token: platformToken });
    return /^posthorn_database_up (.*)$/m.exec(text)?.[1];
  };

  it('/readyz and recording are 503, reading works, and the log and the metric say so until it is over', async () => {
    log.lines.length = 0;
    const doubts = () => log.warnings.filter((message) => message.includes('may have leases')).length;
    await setReadOnly(true);
    await log.until('the database is read-only');
    // A claim may have been running when its connection was closed. A write that is refused leaves no doubt.
    const doubtsBefore = doubts();
    for (let times = 0; times < 3; times += 1) {
      expectUnavailable(await post());
      expect((await list()).status).toBe(200);
      expectUnavailable(await readyz());
      expect(await isUp()).toBe('0');
    }
    expect(doubts()).toBe(doubtsBefore);
    await setReadOnly(false);
    await untilReady();
    expect((await post()).status).toBe(201);
    expect(await isUp()).toBe('1');
    const said = log.warnings.filter((message) => /read-only|writable/.test(message));
    expect(said).toEqual([expect.stringMatching(/^the database is read-only; .*disk is full.*DATABASE_URL/)]);
    expect(log.lines.filter(({ reason, level }) => level >= 40 && /read-only/.test(reason))).toHaveLength(1);
  });
});

describe('a tail that loses its database', () => {
  it('ends, and misses nothing when it resumes after the last id', async () => {
    const tail = await Tail.open(service, token);
    const first = (await post()).body.data[0].id;
    expect((await tail.next()).id).toBe(first);
    proxy.cut();
    await tail.ended().catch(() => undefined);
    proxy.heal();
    await untilReady();
    const missed = (await post()).body.data[0].id;
    const again = await Tail.open(service, token, { lastEventId: first });
    expect((await again.next()).id).toBe(missed);
    again.close();
  });
});

describe('a service that starts while the database is unreachable', () => {
  let late: TestService;
  let lateProxy: PostgresProxy;

  beforeAll(async () => {
    const empty = await freshDatabase(true);
    lateProxy = await PostgresProxy.open(empty.url);
    lateProxy.cut();
    late = await startTestService({ DATABASE_URL: lateProxy.url });
  });
  afterAll(() => late.stop());

  it('responds with 503 until the database is there, then migrates it and is ready', async () => {
    expect((await sendRequest(`${late.publicUrl}/healthz`)).status).toBe(200);
    expectUnavailable(await readyz(late.publicUrl));
    lateProxy.heal();
    await untilReady(late.publicUrl);
    const recorded = await sendRequest(`${late.platformUrl}/platform/events`, {
      ...{ method: 'POST', token: platformToken, body: event() },
    });
    expect(recorded.status).toBe(201);
  });

  it('ends with the same line as any other start if the database turns out to be too new', async () => {
    const newer = await freshDatabase();
    await newer.database.query({ text: 'update posthorn.schema_files set revision = 9001' });
    const outage = await PostgresProxy.open(newer.url);
    outage.cut();
    const node = new Posthorn(['serve'], {
      DATABASE_URL: outage.url,
      POSTHORN_SECRET_KEY: randomBytes(32).toString('base64'),
      POSTHORN_PLATFORM_TOKEN: platformToken,
      ...{ POSTHORN_PORT: '0', POSTHORN_PLATFORM_PORT: '0' },
    });
    await node.until(/platform listener listening/);
    outage.heal();
    const { code, stderr } = await node.ended;
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The database has schema revision 9001; [^\n]*\n$/),
    ]);
  });

  it('is not ready until all that needs the database has started, even if the database fails again meanwhile', async () => {
    const empty = await freshDatabase(true);
    const outage = await PostgresProxy.open(empty.url);
    outage.cut();
    const database = new Database({ connectionString: outage.url }, 1);
    afterFile(() => database.close());
    const startup = await migrateWhenReachable(database, pino({ level: 'silent' }), () => undefined);
    afterFile(() => startup.stop());
    const started: string[] = [];
    const failed = new Promise<void>((resolve) => {
      void startup.whenReady(async () => {
        if (started.push('first') === 1) {
          outage.cut();
          resolve();
        }
        await database.query({ text: 'select 1' });
      });
    });
    const done = new Promise<void>((resolve) => {
      void startup.whenReady(async () => {
        started.push('second');
        resolve();
      });
    });
    outage.heal();
    await failed;
    outage.heal();
    expect(await startup.isReady()).toBe(false);
    await done;
    expect(started).toEqual(['first', 'first', 'second']);
    await expect.poll(() => startup.isReady()).toBe(true);
  });
});
