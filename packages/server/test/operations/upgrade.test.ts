import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { Database } from '../../src/postgres/database.js';
import { afterFile } from '../support/cleanup.js';
import { event } from '../support/client.js';
import { Machine } from '../support/machine.js';
import { postgresPrograms, startPostgres } from '../support/postgres-programs.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { platformToken, type TestService } from '../support/service.js';
import { freePort } from '../support/snippets.js';
import { eventually, newTenant, Tenant } from '../support/tenant.js';

if (!postgresPrograms)
  console.warn(
    'no PostgreSQL with pg_dump is installed: the guides to upgrades and rollbacks are not followed',
  );

const isDelivered = ({ status }: { status: string }) => status === 'success';

/** Records one event as a program of the platform does in SQL, whether a node runs or not. */
async function recordInSql({ service, organization }: Tenant): Promise<void> {
  await service.database.query({
    text: 'select posthorn.record_events($1)',
    values: [JSON.stringify([event({ organization_id: organization })])],
  });
}

/** Returns how many requests for each event the receiver got. */
function counted(receiver: Receiver): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { envelope } of receiver.deliveries.all)
    counts.set(envelope.id, (counts.get(envelope.id) ?? 0) + 1);
  return counts;
}

describe.runIf(postgresPrograms)('an upgrade across a migration, as docs/operate.md describes', () => {
  let machine: Machine;
  let receiver: Receiver;
  let nodeOn: (database: 'first' | 'second') => TestService;
  let restored: { NEW_DATABASE_URL: string };
  let tenant: Tenant;
  let webhook: { id: string };
  /** The events that were settled, and those that waited for a retry, when the backup was made. */
  let settled: string[];
  let waiting: string[];

  beforeAll(async () => {
    const { url } = await startPostgres();
    restored = { NEW_DATABASE_URL: url('second') };
    const [port, platformPort] = [await freePort(), await freePort()];
    machine = await Machine.prepare(port, {
      ...{ DATABASE_URL: url('first'), POSTHORN_SECRET_KEY: randomBytes(32).toString('base64') },
      ...{ POSTHORN_PORT: String(port), POSTHORN_PLATFORM_PORT: String(platformPort) },
      ...{ POSTHORN_PLATFORM_TOKEN: platformToken, POSTHORN_EGRESS_ALLOW: '127.0.0.0/8' },
      // Longer than the test: what waits for a retry waits until the test brings it forward.
      POSTHORN_RETRY_SCHEDULE: '1h',
    });
    receiver = await startReceiver();
    nodeOn = (name) => {
      const database = new Database({ connectionString: url(name) }, 2);
      afterFile(() => database.close());
      const [publicUrl, platformUrl] = [port, platformPort].map((one) => `http://127.0.0.1:${one}`);
      return { publicUrl, platformUrl, database } as unknown as TestService;
    };
    await machine.run(
      'systemctl start posthorn; until curl -fs http://127.0.0.1:7400/readyz; do sleep 0.2; done',
    );
  });

  it('loses nothing and does not resend what was settled before, during or after it', async () => {
    tenant = await newTenant(nodeOn('first'));
    webhook = await tenant.webhook(receiver);
    settled = [(await tenant.record()).id, (await tenant.record()).id];
    await tenant.settled(webhook, 2, isDelivered);
    receiver.onDelivery = 503;
    waiting = [(await tenant.record()).id, (await tenant.record()).id];
    await tenant.settled(webhook, 4);
    receiver.onDelivery = 200;

    await machine.follow('pg_dump --format=custom --schema=posthorn --file=posthorn-0.1.0.dump');
    expect(await machine.follow('cd /opt/posthorn-0.2.0')).toContain('applied migrations/9999_next.sql');
    // The previous version still runs, on the new schema.
    await tenant.record();
    await tenant.settled(
      webhook,
      5,
      ({ status, event_id }) => isDelivered({ status }) || waiting.includes(event_id),
    );
    const replacing = machine.follow('ln -sfn /opt/posthorn-0.2.0 /opt/posthorn');
    await recordInSql(tenant);
    await replacing;
    await tenant.record();
    await tenant.bringForward(webhook);

    const deliveries = await tenant.settled(webhook, 7, isDelivered);
    const ids = (await tenant.events()).map(({ id }) => id);
    expect(ids).toHaveLength(7);
    expect(deliveries.map(({ event_id }) => event_id).sort()).toEqual([...ids].sort());
    const counts = counted(receiver);
    for (const id of ids) expect(counts.get(id), id).toBe(waiting.includes(id) ? 2 : 1);
  });

  it('is rolled back with the backup: what was settled in it is not sent again, and nothing in it is lost', async () => {
    const before = receiver.deliveries.count;
    await machine.follow('systemctl stop posthorn');
    await machine.follow(
      'pg_restore --exit-on-error --dbname="$NEW_DATABASE_URL" posthorn-0.1.0.dump',
      restored,
    );
    await machine.follow('>> /etc/posthorn.env', restored);
    const node = new Tenant(nodeOn('second'), tenant.organization, tenant.token);
    const after = await node.record();
    await node.bringForward(webhook);
    await node.settled(webhook, 5, isDelivered);
    const ids = [...settled, ...waiting, after.id].sort();
    expect((await node.events()).map(({ id }) => id).sort()).toEqual(ids);
    const sent = receiver.deliveries.all.slice(before).map(({ envelope }) => envelope.id);
    expect(sent.sort()).toEqual([...waiting, after.id].sort());
    // What was recorded since the backup is still where it was.
    const { rowCount } = await tenant.service.database.query({
      ...{ text: 'select from posthorn.events where organization_id = $1', values: [tenant.organization] },
    });
    expect(rowCount).toBe(7);
  });

  it('without a migration is rolled back by starting the previous version again', async () => {
    const node = new Tenant(nodeOn('second'), tenant.organization, tenant.token);
    const before = receiver.deliveries.count;
    const restarting = machine.follow('ln -sfn /opt/posthorn-0.1.0 /opt/posthorn\nsystemctl restart');
    await recordInSql(node);
    await restarting;
    await eventually(
      () => node.deliveries(webhook),
      (list) => list.length === 6 && list.every(isDelivered),
    );
    expect(receiver.deliveries.count).toBe(before + 1);
  });
});
