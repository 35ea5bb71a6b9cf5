import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { AuditWatch } from '../../src/audit/chain-store.js';
import { readOverview } from '../../src/operations/overview-store.js';
import { allowPauses } from '../../src/postgres/database.js';
import { sendRequest } from '../support/client.js';
import { freshDatabase } from '../support/database.js';
import { recordFor, subscribe } from '../support/deliveries.js';
import { hangs } from '../support/receiver.js';
import { platformToken, startTestService, type TestService } from '../support/service.js';
import { eventually, newTenant } from '../support/tenant.js';

/** Returns the value of a series, as `name{label="value"}`. */
async function readMetric(url: string, series: string): Promise<number> {
  const { text } = await sendRequest(`${url}/metrics`, { token: platformToken });
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1));
}

describe('metrics', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  const metric = (series: string) => readMetric(service.platformUrl, series);

  it('count recordings, attempts, failures, latencies and settlements', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect((response, { envelope }) =>
      response.writeHead(envelope.type === 'invoice.paid' ? 200 : 404).end(),
    );
    await tenant.record({ type: 'invoice.paid' });
    await tenant.record({ type: 'invoice.voided' });
    await tenant.settled(webhook, 2);
    expect(await metric('posthorn_events_recorded_total')).toBe(2);
    expect(await metric('posthorn_delivery_attempts_total{verdict="delivered"}')).toBe(1);
    expect(await metric('posthorn_delivery_attempts_total{verdict="retry"}')).toBe(1);
    expect(await metric('posthorn_delivery_attempt_failures_total{reason="4xx"}')).toBe(1);
    expect(await metric('posthorn_delivery_latency_seconds_count')).toBe(2);
    expect(await metric('posthorn_delivery_latency_seconds_bucket{le="300"}')).toBe(2);
    await eventually(
      () => metric('posthorn_settlement_batch_size_sum'),
      (settled) => settled === 2,
    );
  });

  it('show requests in flight by the condition of the webhook', async () => {
    const tenant = await newTenant(service);
    const { receiver } = await tenant.connect(hangs);
    await tenant.record();
    await receiver.deliveries.nth(1);
    const inFlight = (condition: string) => metric(`posthorn_attempts_in_flight{condition="${condition}"}`);
    await eventually(
      () => Promise.all([inFlight('new'), inFlight('stalled')]),
      ([fresh = 0, stalled = 0]) => fresh + stalled === 1,
    );
    await eventually(
      () => inFlight('stalled'),
      (stalled) => stalled === 1,
    );
    expect(await metric('posthorn_deliveries_in_memory{state="in_flight"}')).toBe(1);
  });

  it.each([
    ['that reads', 'set transaction isolation level repeatable read; select'],
    ['that has written', 'create temporary table written ()'],
  ])('show how long a transaction %s has kept dead rows from being removed', async (_which, text) => {
    await service.database.transaction(async (client) => {
      await allowPauses(client);
      await client.query({ text });
      await eventually(
        () => metric('posthorn_oldest_transaction_age_seconds'),
        (seconds) => seconds > 1,
      );
    });
  });

  it('show connections, nodes and partitions', async () => {
    expect(await metric('posthorn_database_up')).toBe(1);
    expect(await metric('posthorn_nodes')).toBe(1);
    for (const pool of ['requests', 'engine']) {
      expect(await metric(`posthorn_database_connections_max{pool="${pool}"}`)).toBeGreaterThan(1);
      expect(await metric(`posthorn_database_connections_in_use{pool="${pool}"}`)).toBeLessThanOrEqual(10);
      expect(await metric(`posthorn_database_connection_waits{pool="${pool}"}`)).toBeGreaterThanOrEqual(0);
    }
    // A scrape does not count itself.
    expect(await metric('posthorn_database_connection_waits{pool="requests"}')).toBe(0);
    for (const table of ['events', 'deliveries', 'audit_log']) {
      expect(await metric(`posthorn_partitions{table="${table}"}`)).toBeGreaterThanOrEqual(1);
      // Partitions exist at least a week before they are needed.
      expect(await metric(`posthorn_partitions_ahead_seconds{table="${table}"}`)).toBeGreaterThan(7 * 86_400);
    }
  });
});

describe('waiting deliveries', () => {
  it('are counted up to a limit, so that a scrape costs the same however much waits', async () => {
    const { database, url } = await freshDatabase();
    await subscribe(database);
    await recordFor(database, null, 3);
    await database.query({
      text: `
  insert into posthorn.backlog
  select organization_id, webhook_id, created_at, head || n, first, null, event_base, base, ordinals, bytes
    from posthorn.backlog
   cross join generate_series(1, 6000) as n`,
    });
    const { platformUrl } = await startTestService({ DATABASE_URL: url, POSTHORN_ROLES: 'platform' });
    expect(await readMetric(platformUrl, 'posthorn_waiting_deliveries{kind="first"}')).toBe(15_000);
    expect(await readMetric(platformUrl, 'posthorn_waiting_deliveries{kind="retry"}')).toBe(0);
    expect(await readMetric(platformUrl, 'posthorn_waiting_webhooks')).toBe(1);
  });
});

it('metrics and the overview do not count the old copy of an organization that has moved to another cell', async () => {
  const { database, url } = await freshDatabase();
  await subscribe(database);
  await recordFor(database, null, 3);
  await database.query({
    text: `
  insert into posthorn.webhook_health (organization_id, webhook_id, failing_since)
  select organization_id, id, now() from posthorn.webhooks where id = 'WHK-1'
  on conflict (organization_id, webhook_id) do update set failing_since = now()`,
  });
  const { platformUrl } = await startTestService({ DATABASE_URL: url, POSTHORN_ROLES: 'platform' });
  const counted = async () => {
    const { deliveries, webhooks, failing_webhooks, oldest_due_seconds } = await readOverview(
      database,
      9,
      undefined,
    );
    const series = [
      'posthorn_webhooks{status="failing"}',
      'posthorn_waiting_webhooks',
      'posthorn_waiting_deliveries{kind="first"}',
      'posthorn_oldest_due_delivery_age_seconds{condition="failing"}',
    ].map((each) => readMetric(platformUrl, each));
    const figures = [
      ...Object.values(deliveries),
      ...Object.values(webhooks),
      ...(await Promise.all(series)),
    ];
    return [...figures, failing_webhooks.length, oldest_due_seconds].filter((figure) => figure > 0).length;
  };
  expect(await counted()).toBe(9);
  const move = (state: string) =>
    database.query({
      text: `
  insert into posthorn.relocations (organization_id, state, cell) values ('ORG-acme', $1, 'west')
  on conflict (organization_id) do update set state = excluded.state`,
      values: [state],
    });
  await move('stopped');
  expect(await counted()).toBe(9);
  await move('moved');
  expect(await counted()).toBe(0);
});

describe('a node without the role platform', () => {
  let node: TestService;
  beforeAll(async () => {
    node = await startTestService({ POSTHORN_ROLES: 'delivery' });
  });

  it('serves health checks and metrics on the platform address, and nothing else', async () => {
    const { monitoringUrl = '', platformUrl } = node;
    expect(platformUrl).toBe('');
    expect((await sendRequest(`${monitoringUrl}/healthz`)).body).toEqual({ status: 'ok' });
    expect((await sendRequest(`${monitoringUrl}/readyz`)).body).toEqual({ status: 'ready' });
    expect((await sendRequest(`${monitoringUrl}/metrics`)).status).toBe(401);
    expect(await readMetric(monitoringUrl, 'posthorn_nodes')).toBe(1);
    const body = [{}];
    const recording = await sendRequest(`${monitoringUrl}/platform/events`, {
      method: 'POST',
      token: platformToken,
      body,
    });
    expect(recording.status).toBe(404);
  });

  it('serves only health checks if it knows no platform token', async () => {
    const settings = { POSTHORN_ROLES: 'delivery,maintenance', POSTHORN_PLATFORM_TOKEN: '' };
    const { monitoringUrl = '' } = await startTestService(settings);
    expect((await sendRequest(`${monitoringUrl}/readyz`)).status).toBe(200);
    expect((await sendRequest(`${monitoringUrl}/metrics`)).status).toBe(404);
  });

  it('works without them if another program uses the address, and says so', async () => {
    const { port } = new URL(node.monitoringUrl ?? '');
    const lines: string[] = [];
    const log = { write: (line: string) => lines.push(line) };
    const second = await startTestService(
      { POSTHORN_ROLES: 'api', POSTHORN_PLATFORM_PORT: port, DATABASE_URL: node.databaseUrl },
      log,
    );
    expect(second.monitoringUrl).toBeUndefined();
    expect((await sendRequest(`${second.publicUrl}/readyz`)).status).toBe(200);
    const said = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 40);
    expect(said.map(({ msg }) => msg)).toEqual([
      expect.stringMatching(
        /^this node serves no health checks and no metrics: POSTHORN_PLATFORM_HOST.*POSTHORN_PORT/,
      ),
    ]);
  });
});

describe('the watch over the audit log', () => {
  it('verifies one organization after another, and reports a changed entry once', async () => {
    const service = await startTestService();
    for (const organization_id of ['ORG-a', 'ORG-b']) {
      const body = { organization_id };
      await sendRequest(`${service.platformUrl}/platform/tokens`, {
        method: 'POST',
        token: platformToken,
        body,
      });
    }
    /** Does what the owner of the tables can do despite their triggers. */
    const tamper = (change: string) =>
      service.database.query({
        text: `
  do $$ begin
    execute format('grant update on posthorn.audit_log to %I', current_user);
    set local session_replication_role = replica;
    update posthorn.audit_log ${change};
  end $$`,
      });
    const lines: string[] = [];
    const watch = new AuditWatch(service.database, pino({}, { write: (line) => lines.push(line) }));
    for (let turn = 0; turn < 3; turn += 1) await watch.verifyNext();
    expect([watch.figures, lines]).toEqual([{ broken: 0, verified: 2 }, []]);
    await tamper("set actor_id = 'USR-mallory' where organization_id = 'ORG-b'");
    for (let turn = 0; turn < 6; turn += 1) await watch.verifyNext();
    expect(watch.figures.broken).toBe(1);
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ level: 50, organization_id: 'ORG-b', fault: 'altered', position: 1 }),
    ]);
    await tamper("set actor_id = 'platform'");
    for (let turn = 0; turn < 3; turn += 1) await watch.verifyNext();
    expect(watch.figures.broken).toBe(0);
  });
});
