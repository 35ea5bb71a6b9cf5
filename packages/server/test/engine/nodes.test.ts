import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { limits } from '../../src/engine/limits.js';
import { recordBatch } from '../../src/events/recording-store.js';
import { Database } from '../../src/postgres/database.js';
import { batch, event, sendRequest } from '../support/client.js';
import { bury, handoffSizes } from '../support/deliveries.js';
import { inMemory, Standstill } from '../support/hostile-receiver.js';
import { setLimits } from '../support/limits.js';
import { serve } from '../support/process.js';
import { type Received, startReceiver } from '../support/receiver.js';
import { platformToken, startTestService, type TestService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

const timeoutMs = 2_000;
const secretKey = randomBytes(32).toString('base64');
const settings = {
  POSTHORN_SECRET_KEY: secretKey,
  POSTHORN_DELIVERY_TIMEOUT: `${timeoutMs}ms`,
  POSTHORN_RETRY_SCHEDULE: '1h,1h,1h,1h',
};

const patient = { ...settings, POSTHORN_DELIVERY_TIMEOUT: '10s', POSTHORN_REQUESTS_PER_WEBHOOK: '8' };

/** Runs from the first test to the last but one. */
let one: TestService;
beforeAll(async () => {
  one = await startTestService(patient);
});

/** Another node on the database of a service, as a process of its own. */
function serveBeside(service: TestService, chosen = settings) {
  return serve({
    ...chosen,
    DATABASE_URL: service.databaseUrl,
    POSTHORN_PLATFORM_TOKEN: platformToken,
    POSTHORN_EGRESS_ALLOW: '127.0.0.0/8',
    POSTHORN_DATA_DIR: service.dataDir,
  });
}

/** Records events on a node, which are handed to it. Returns their ids. */
async function recordOn(platformUrl: string, owner: Tenant, count: number): Promise<string[]> {
  const body = Array.from({ length: count }, () => event({ organization_id: owner.organization }));
  const response = await sendRequest(`${platformUrl}/platform/events`, {
    method: 'POST',
    token: platformToken,
    body,
  });
  if (response.status !== 201) throw new Error(response.text);
  return response.body.data.map(({ id }: { id: string }) => id);
}

interface Stored {
  event_id: string;
  status: string;
  attempts: number;
  leased_by: number | null;
  attempted_at: Date;
}

async function stored(owner: Tenant): Promise<Stored[]> {
  const { rows } = await owner.service.database.query<Stored>({
    text: 'select event_id, status, attempts, leased_by, attempted_at from posthorn.deliveries where organization_id = $1 order by id',
    values: [owner.organization],
  });
  return rows;
}

/** Returns how many deliveries wait for any node to claim them. */
async function waiting(owner: Tenant): Promise<number> {
  const { rows } = await owner.service.database.query<{ count: number }>({
    text: `
  select (select count(*) from posthorn.deliveries
           where organization_id = $1 and status = 'pending' and leased_by is null)
       + (select coalesce(sum(cardinality(ordinals)), 0) from posthorn.backlog
           where organization_id = $1 and leased_by is null) as count`,
    values: [owner.organization],
  });
  return rows[0]!.count;
}

/** What is attempted for the first time has no row yet, so none that is pending is not enough. */
const succeeded = (count: number) => (all: Stored[]) =>
  all.length === count && all.every(({ status }) => status === 'success');
const idsOf = (requests: readonly Received[]) => requests.map(({ envelope }) => envelope.id as string);

describe('a running node that was declared dead', () => {
  test('starts again: its deliveries are attempted once more, and none is left behind', async () => {
    const owner = await newTenant(one);
    const standstill = new Standstill();
    const { receiver } = await owner.connect(standstill.reply);
    const ids = await recordOn(one.platformUrl, owner, 40);
    await standstill.reached(one.platformUrl, receiver);
    // Together: the node releases what the dead left, too.
    expect(await one.database.transaction((client) => bury(client, 'all'))).toBe(40);
    standstill.end(receiver, 200);
    const rows = await eventually(() => stored(owner), succeeded(40));
    expect(rows).toHaveLength(40);
    expect(new Set(idsOf(receiver.deliveries.all))).toEqual(new Set(ids));
    const later = await recordOn(one.platformUrl, owner, 1);
    await eventually(
      () => stored(owner),
      (all) => all.some(({ event_id: id, status }) => id === later[0] && status === 'success'),
    );
  });
});

describe('when a node is killed', () => {
  test('another node attempts its unfinished deliveries, each once more', async () => {
    const owner = await newTenant(one);
    const node = await serveBeside(one);
    const standstill = new Standstill();
    const acknowledged: string[] = [];
    const { receiver } = await owner.connect((response: ServerResponse, request: Received) => {
      if (acknowledged.length === 3) return standstill.reply(response);
      acknowledged.push(request.envelope.id);
      response.end();
    });
    const ids = await recordOn(node.platformUrl, owner, 40);
    const settled = await eventually(
      () => stored(owner),
      (rows) => rows.length === 3,
    );
    await receiver.deliveries.nth(4);
    const onTheWire = await standstill.reached(node.platformUrl, receiver);
    expect(onTheWire).toBeLessThan(37);
    const before = idsOf(receiver.deliveries.all);

    node.process.kill('SIGKILL');
    await node.process.ended;
    receiver.onDelivery = 200;
    await receiver.deliveries.nth(before.length + 37);
    const rows = await eventually(() => stored(owner), succeeded(40));
    expect(rows.map(({ event_id: id }) => id).sort()).toEqual([...ids].sort());
    // What never got a response counts for nothing: each needed one attempt.
    expect(rows.every(({ attempts }) => attempts === 1)).toBe(true);
    // What was settled stays as it was, although it was handed to the node together with the rest.
    expect(rows).toEqual(expect.arrayContaining(settled));
    const after = idsOf(receiver.deliveries.all.slice(before.length));
    expect([...acknowledged, ...after].sort()).toEqual([...ids].sort());
    expect(ids).toEqual(expect.arrayContaining(before));
    expect(await handoffSizes(one.database)).toEqual([]);
  });
});

test('a node that is stopped waits for the response to an attempt in flight', async () => {
  const owner = await newTenant(one);
  const node = await serveBeside(one, patient);
  const { receiver } = await owner.connect((response: ServerResponse) => {
    // Longer than a node that is still starting would wait.
    setTimeout(() => response.end(), 1_500);
  });
  const [id] = await recordOn(node.platformUrl, owner, 1);
  await receiver.deliveries.nth(1);
  node.process.kill('SIGTERM');
  expect((await node.process.ended).code).toBe(0);
  expect(await stored(owner)).toMatchObject([{ event_id: id, status: 'success', attempts: 1 }]);
  expect(receiver.deliveries.all).toHaveLength(1);
});

test('a node that stops gives its deliveries back at once, even while it verifies a webhook', async () => {
  const service = await startTestService(settings);
  const owner = await newTenant(service);
  const receiver = await startReceiver({ onVerification: 500 });
  await owner.create({ url: receiver.url });
  let verification: ServerResponse | undefined;
  receiver.onVerification = (response) => {
    verification = response;
  };
  const database = new Database({ connectionString: service.databaseUrl });
  onTestFinished(() => database.close());
  await database.query({ text: "update posthorn.webhooks set verify_at = now() - interval '1 second'" });
  await receiver.verifications.nth(2);
  const stopped = service.stop();
  await eventually(
    () => database.query({ text: 'select from posthorn.nodes where alive_until >= now()' }),
    ({ rowCount }) => rowCount === 0,
  );
  expect(verification!.destroyed).toBe(false);
  verification!.writeHead(200).end();
  await stopped;
});

describe('two nodes on one database', () => {
  let other: TestService;
  beforeAll(async () => {
    other = await startTestService({ ...patient, DATABASE_URL: one.databaseUrl });
    return async () => {
      await other.stop();
      await one.stop();
    };
  });

  test.each([
    ['deletes', 'DELETE', undefined, 'cancelled'],
    ['disables', 'PATCH', { status: 'disabled' }, 'failed'],
  ] as const)(
    'one %s a webhook: after the response, the other sends nothing more to it',
    async (_, method, body, end) => {
      const owner = await newTenant(one);
      const standstill = new Standstill();
      const { receiver, webhook } = await owner.connect(standstill.reply);
      await recordOn(other.platformUrl, owner, 60);
      const onTheWire = await standstill.reached(other.platformUrl, receiver);
      const { status } = await owner.request(method, `/v1/webhooks/${webhook.id}`, body ? { body } : {});
      expect(status).toBeLessThan(300);
      standstill.end(receiver, 200);
      const rows = await eventually(
        () => stored(owner),
        (all) => all.length === 60 && all.every((row) => row.status !== 'pending'),
      );
      expect(rows.filter((row) => row.status === 'success')).toHaveLength(onTheWire);
      expect(rows.filter((row) => row.status === end)).toHaveLength(60 - onTheWire);
      expect(receiver.deliveries.count).toBe(onTheWire);
    },
  );

  test('together have as many requests in flight to a webhook as the setting allows', async () => {
    const owner = await newTenant(one);
    const held: ServerResponse[] = [];
    const { receiver } = await owner.connect((response: ServerResponse) => void held.push(response));
    await recordOn(one.platformUrl, owner, 20);
    await recordOn(other.platformUrl, owner, 20);
    const inFlight = async () =>
      (await Promise.all([one, other].map(({ platformUrl }) => inMemory(platformUrl)))).map(
        (node) => node.inFlight,
      );
    await eventually(inFlight, (each) => each.every((count) => count === 4) && held.length === 8);
    receiver.onDelivery = 200;
    for (const response of held) response.writeHead(200).end();
    await eventually(() => stored(owner), succeeded(40));
  });

  test('share what neither recorded itself, and never attempt the same delivery', async () => {
    setLimits({ laneQueuedNew: 100 });
    const owner = await newTenant(one);
    const { receiver } = await owner.connect(200);
    // More than one node takes at once for a new webhook.
    const count = limits.laneQueuedNew + 40;
    const events = Array.from({ length: count }, () => event({ organization_id: owner.organization }));
    await recordBatch(one.database, batch(events));
    await eventually(() => stored(owner), succeeded(count));
    expect(receiver.deliveries.count).toBe(count);
    expect(new Set(idsOf(receiver.deliveries.all)).size).toBe(count);
  });
});

describe('SIGTERM', () => {
  test('lets attempts in flight finish, writes their outcomes, gives the rest back, and exits with 0', async () => {
    // It takes no part in delivering: what the node gives back can be seen.
    const service = await startTestService({ ...settings, POSTHORN_ROLES: 'api' });
    const owner = await newTenant(service);
    const node = await serveBeside(service);
    const standstill = new Standstill();
    const { receiver, webhook } = await owner.connect(standstill.reply);
    await recordOn(node.platformUrl, owner, 40);
    const onTheWire = await standstill.reached(node.platformUrl, receiver);

    node.process.kill('SIGTERM');
    await node.process.until(/"stopping"/);
    // Given back means that somebody else could have them now, before the attempts have ended.
    await eventually(
      () => waiting(owner),
      (count) => count === 40 - onTheWire,
    );
    standstill.end(receiver, 200);
    expect((await node.process.ended).code).toBe(0);
    const rows = await stored(owner);
    expect(rows.filter(({ status }) => status === 'success')).toHaveLength(onTheWire);
    expect(rows.every(({ status, attempts }) => status === 'success' || attempts === 0)).toBe(true);
    expect(await waiting(owner)).toBe(40 - onTheWire);
    expect(receiver.deliveries.count).toBe(onTheWire);
    const { rows: nodes } = await service.database.query({ text: 'select id from posthorn.nodes' });
    expect(nodes).toEqual([]);
    expect(await owner.data('GET', `/v1/webhooks/${webhook.id}`)).toMatchObject({
      last_delivery_status: 'success',
    });
  });
});
