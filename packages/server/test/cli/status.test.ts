import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { adviceFor } from '../../src/cli/status.js';
import { readOverview } from '../../src/operations/overview-store.js';
import { SecretBox } from '../../src/values/secret-box.js';
import { event, sendRequest } from '../support/client.js';
import { command } from '../support/command.js';
import { dataDirectory } from '../support/data-directory.js';
import { changeSettings, freshDatabase, freshDatabaseIn } from '../support/database.js';
import { claimFor, failedOnce, recordFor, settleFor, succeeded, withNode } from '../support/deliveries.js';
import { platformToken, startTestService } from '../support/service.js';
import { eventually, newTenant } from '../support/tenant.js';

const linesOf = (text: string) => text.split('\n').slice(0, -1);

describe('status', () => {
  test('shows the nodes, the waiting deliveries, the failing webhooks with their latest result and without their query, and the partitions', async () => {
    const service = await startTestService({ POSTHORN_RETRY_SCHEDULE: '1h,1h' });
    const tenant = await newTenant(service);
    const { webhook, receiver } = await tenant.connect(500);
    await tenant.request('PATCH', `/v1/webhooks/${webhook.id}`, {
      body: { url: `${receiver.url}?key=hidden` },
    });
    await tenant.record();
    const [failed] = await tenant.settled(webhook);
    // A newer delivery succeeds before the webhook fails again.
    receiver.onDelivery = 200;
    await tenant.record();
    await tenant.settled(webhook, 2);
    receiver.onDelivery = 500;
    await tenant.data('POST', `/v1/webhooks/${webhook.id}/deliveries/${failed.id}/redeliver`);
    await receiver.deliveries.nth(3);
    const env = { DATABASE_URL: service.databaseUrl };
    await eventually(
      () => command(['status', '--json'], env),
      (one) => JSON.parse(one.stdout).failing_webhooks.length === 1,
    );
    const { code, stdout, stderr } = await command(['status', '--json'], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const status = JSON.parse(stdout);
    expect(status).toMatchObject({
      nodes: [{ alive: true }],
      deliveries: { backlog: 0, retrying: 1, in_memory: 0, held: 0 },
      webhooks: { active: 1, failing: 1, unverified: 0, paused: 0, disabled: 0 },
      failing_webhooks: [
        {
          ...{ organization_id: tenant.organization, webhook_id: webhook.id, url: `${receiver.url}?…` },
          ...{ http_status: 500, error: null },
        },
      ],
    });
    expect(status.partitions.map(({ table }: { table: string }) => table)).toContain('events');
    const plain = await command(['status'], env);
    expect(plain.stdout).toContain('Nodes\t1 alive\n');
    expect(plain.stdout).toContain(webhook.id);
    expect(plain.stdout).not.toContain('hidden');
    const { stdout: wide } = await command(['status'], { ...env, NO_COLOR: '1' }, 80);
    expect(wide).toMatch(/^webhook +failing since \(UTC\) +result/m);
    expect(wide).toMatch(new RegExp(`^${webhook.id}.* 500 `, 'm'));
    expect(wide).toMatch(/ until \(UTC\)$/m);
  });

  test('counts what waits while no node is alive, and says so', async () => {
    const { database, url } = await freshDatabase();
    await database.query({
      text: `
  insert into posthorn.webhooks (organization_id, id, url, status, event_types, created_at, secret)
  values ('ORG-acme', 'WHK-1', 'https://example.com', 'active', '{*}', now(), '')`,
    });
    await database.query({
      text: 'select posthorn.record_events($1)',
      values: [JSON.stringify([event(), event(), event()])],
    });
    const { stdout } = await command(['status'], { DATABASE_URL: url });
    expect(stdout).toContain('Backlog\t3 waiting for the first attempt\n');
    expect(stdout).toContain('Attention: no node is attempting deliveries. Run posthorn serve');
  });

  test('shows the newest failures first, and how many there are if --limit cuts them off', async () => {
    const { database, url } = await freshDatabase();
    await database.query({
      text: `
  with w as (
    insert into posthorn.webhooks (organization_id, id, url, status, event_types, created_at, secret)
    select 'ORG-acme', 'WHK-' || n, 'https://example.com', 'active', '{*}', now(), '' from generate_series(1, 12) n
    returning organization_id, id
  )
  insert into posthorn.webhook_health (organization_id, webhook_id, failing_since)
  select organization_id, id, now() - substr(id, 5)::int * interval '1 hour' from w`,
    });
    const env = { DATABASE_URL: url };
    const { webhooks, failing_webhooks } = JSON.parse((await command(['status', '--json'], env)).stdout);
    expect(webhooks).toMatchObject({ active: 12, failing: 12 });
    expect(failing_webhooks.map((one: { webhook_id: string }) => one.webhook_id)).toEqual(
      Array.from({ length: 10 }, (_, index) => `WHK-${index + 1}`),
    );
    const { stdout, stderr } = await command(['status', '--limit', '2'], env);
    expect(stdout).toContain('12 active (12 failing), ');
    expect(stderr).toBe('Only the newest 2 of 12 failing webhooks are shown. Raise --limit to see more.\n');
    expect((await command(['status', '--limit', '12'], env)).stderr).toBe('');
    expect(await command(['status', '--limit', '0'], env)).toMatchObject({ code: 2, stdout: '' });
  });

  test('counts each delivery once: in memory until it is settled, then as its outcome says', async () => {
    const { database, node } = await withNode();
    const inHandoff = await recordFor(database, node, 6);
    await recordFor(database, null, 5);
    const { deliveries: claimed } = await claimFor(database, node);
    await recordFor(database, null, 4);
    for (const [first, second] of [inHandoff.leased, claimed])
      await settleFor(database, node, [succeeded(first!), failedOnce(second!, 60_000)]);
    const { deliveries } = await readOverview(database, 1, undefined);
    expect(deliveries).toEqual({ backlog: 4, retrying: 2, in_memory: 6 + 5 - 4, held: 0 });
  });

  test('and a metric report webhooks whose secret the key does not decrypt; their deliveries wait for the first attempt', async () => {
    const key = (byte: number) => ({ POSTHORN_SECRET_KEY: Buffer.alloc(32, byte).toString('base64') });
    const first = await startTestService(key(1));
    const tenant = await newTenant(first);
    await tenant.connect();
    await first.stop();
    const env = { ...key(2), DATABASE_URL: first.databaseUrl };
    const second = await startTestService(env);
    await (await newTenant(second, { organization_id: tenant.organization })).record();
    const status = await eventually(
      async () => JSON.parse((await command(['status', '--json'], env)).stdout),
      ({ deliveries }) => deliveries.in_memory === 0,
    );
    expect(status).toMatchObject({ deliveries: { backlog: 1, retrying: 0 }, undecryptable_webhooks: 1 });
    const { text } = await sendRequest(`${second.platformUrl}/metrics`, { token: platformToken });
    expect(text).toMatch(/^posthorn_undecryptable_webhooks 1$/m);
    const { stdout } = await command(['status'], env);
    expect(stdout).toContain('Secret key\tdoes not decrypt the secrets of 1 webhook\n');
    expect(stdout).toMatch(
      /Attention: .* cannot sign requests to 1 webhook, .* Restore the missing key and add it/,
    );
    const { stdout: decrypted } = await command(['status'], { ...env, ...key(1) });
    expect(decrypted).toContain('Secret key\tdecrypts the secrets of all webhooks\n');
    expect(decrypted).not.toContain('cannot sign');
    const { stdout: unchecked } = await command(['status'], { DATABASE_URL: first.databaseUrl });
    expect(unchecked).toContain('Secret key\tnot checked, because POSTHORN_SECRET_KEY is not set here\n');
  });

  test('advises to run maintenance before the partitions end', () => {
    const overview = {
      nodes: [{ id: 1, alive: true, alive_until: new Date() }],
      oldest_due_seconds: 0,
      undecryptable_webhooks: 0,
      partitions: [{ table: 'events', partitions: 3, bytes: 0, until: new Date('2026-12-07') }],
    };
    expect(adviceFor(overview, Date.parse('2026-11-16'))).toEqual([]);
    expect(adviceFor(overview, Date.parse('2026-12-02'))).toEqual([
      expect.stringContaining('maintenance role'),
    ]);
    expect(adviceFor({ ...overview, oldest_due_seconds: 90 }, Date.parse('2026-11-16'))).toEqual([
      expect.stringContaining('waiting for a node'),
    ]);
  });
});

describe('doctor', () => {
  let env: Record<string, string>;
  let service: Awaited<ReturnType<typeof startTestService>>;
  beforeAll(async () => {
    service = await startTestService();
    const [publicUrl, platformUrl] = [new URL(service.publicUrl), new URL(service.platformUrl)];
    env = {
      DATABASE_URL: service.databaseUrl,
      POSTHORN_DATA_DIR: service.dataDir,
      POSTHORN_SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
      POSTHORN_PORT: publicUrl.port,
      POSTHORN_PLATFORM_PORT: platformUrl.port,
    };
  });

  /** Returns the findings by the name of the check. */
  async function findings(more: Record<string, string> = {}) {
    const { code, stdout, stderr } = await command(['doctor', '--json'], { ...env, ...more });
    const found = linesOf(stdout).map((line) => JSON.parse(line));
    return { code, stderr, of: Object.fromEntries(found.map((finding) => [finding.check, finding])) };
  }

  test('finds nothing wrong with a service that runs, and every check is named', async () => {
    const { of } = await findings();
    // The cluster of the tests syncs nothing to the disk, but your own PostgreSQL may.
    const { durability, ...others } = of;
    const { rows } = await service.database.query<{ fsync: string }>({ text: 'show fsync' });
    expect(durability).toMatchObject(
      rows[0]!.fsync === 'on'
        ? { state: 'ok' }
        : { state: 'problem', remedy: expect.stringContaining('alter system set fsync = on') },
    );
    for (const finding of Object.values(others)) expect(finding).toMatchObject({ state: 'ok', remedy: null });
    expect(Object.keys(others)).toEqual([
      ...['settings', 'database', 'clock', 'schema', 'permissions', 'secret key', 'data directory'],
      ...['files', 'address guard'],
    ]);
  });

  test('reports the files that the service could not use: the catalogue, the logo and certificates', async () => {
    const { code, of } = await findings({
      POSTHORN_CATALOGUE: '/nowhere/types.json',
      POSTHORN_PORTAL_LOGO: '/',
    });
    expect(code).toBe(1);
    expect(of.files).toMatchObject({
      state: 'problem',
      detail: expect.stringMatching(
        /^POSTHORN_CATALOGUE: .*ENOENT.* POSTHORN_PORTAL_LOGO: .*"\/" cannot be used/,
      ),
    });
    const { stderr } = await findings({ DATABASE_URL: 'postgres://a:b@db/x?sslrootcert=/nowhere/ca.pem' });
    expect(stderr).toContain('certificate files must exist');
  });

  test('creates no database and no key before the first start, and says where it looked', async () => {
    const place = await dataDirectory('data');
    const { code, of } = await findings({
      ...{ DATABASE_URL: '', POSTHORN_SECRET_KEY: '', POSTHORN_DATA_DIR: place },
    });
    expect(code).toBe(0);
    expect(of.database).toMatchObject({
      state: 'warning',
      detail: `there is none in ${place} yet; posthorn serve creates it`,
      remedy: expect.stringContaining('POSTHORN_DATA_DIR or DATABASE_URL'),
    });
    expect(of['data directory']).toMatchObject({ state: 'ok' });
    expect(of['secret key']).toBeUndefined();
    expect(existsSync(place)).toBe(false);
  });

  test('reports an embedded database that is missing, and goes on', async () => {
    const place = await dataDirectory('data');
    await mkdir(place);
    await writeFile(join(place, 'database-directory'), `${place}/lost\n`);
    const { code, of } = await findings({ DATABASE_URL: '', POSTHORN_DATA_DIR: place });
    expect(code).toBe(1);
    expect(of.database).toMatchObject({
      state: 'problem',
      detail: 'the embedded database cannot be opened',
      remedy: expect.stringContaining(
        `says that the database is in ${place}/lost, but that directory does not`,
      ),
    });
    expect(of['data directory']).toBeDefined();
  });

  test('reports a user who does not own the tables; other commands say in one line that a permission is missing', async () => {
    const { url, database: other, drop } = await freshDatabase();
    const role = `app_${randomBytes(6).toString('hex')}`;
    await other.query({ text: `create role ${role} login password 'of-the-app'` });
    onTestFinished(async () => {
      await drop();
      await service.database.query({ text: `drop role ${role}` });
    });
    const asApp = `${url}${url.includes('?') ? '&' : '?'}user=${role}&password=of-the-app`;
    const owner = (await other.query<{ name: string }>({ text: 'select current_user::text as name' }))
      .rows[0]!.name;
    const { of } = await findings({ DATABASE_URL: asApp });
    expect(of.permissions).toEqual({
      ...{ check: 'permissions', state: 'problem', remedy: `Use ${owner} as the user in DATABASE_URL.` },
      detail: `the tables belong to ${owner}, so ${role} cannot create or drop partitions`,
    });
    const listed = await command(['token', 'list'], { ...env, DATABASE_URL: asApp });
    expect(listed).toEqual({
      ...{ code: 1, stdout: '' },
      stderr:
        'The user in DATABASE_URL lacks a permission: permission denied for schema posthorn. ' +
        'Run posthorn doctor to see what to do.\n',
    });
  });

  test('says only what the settings here allow about a service that may have been started with others', async () => {
    const { of } = await findings();
    expect(of['address guard'].detail).toMatch(
      /^with these settings, .* a service started with --allow-loopback/,
    );
  });

  test('every problem has a remedy, and the exit code is 1', async () => {
    await writeFile(join(env.POSTHORN_DATA_DIR!, 'secret-key'), 'key');
    await chmod(join(env.POSTHORN_DATA_DIR!, 'secret-key'), 0o644);
    const { code, stderr, of } = await findings({
      POSTHORN_SECRET_KEY: '',
      POSTHORN_SECRT_KEY: 'a typo',
    });
    expect(code).toBe(1);
    expect(stderr).toContain('then run posthorn doctor again.');
    expect(of.settings).toMatchObject({
      state: 'warning',
      detail: expect.stringContaining('POSTHORN_SECRT_KEY'),
    });
    expect(of['secret key']).toMatchObject({
      state: 'problem',
      remedy: expect.stringContaining('openssl rand'),
    });
    expect(of['data directory']).toMatchObject({
      state: 'problem',
      remedy: expect.stringContaining('chmod 600'),
    });
  });

  test('reports settings of the database that Posthorn cannot work with', async () => {
    const { url, database: other } = await freshDatabase();
    await changeSettings(other, {
      default_transaction_isolation: 'serializable',
      default_transaction_read_only: 'on',
    });
    const { of } = await findings({ DATABASE_URL: url });
    expect(of.isolation).toMatchObject({
      state: 'problem',
      detail: "default_transaction_isolation is 'serializable', not 'read committed'",
      remedy: expect.stringMatching(
        /^In psql: alter role \S+ in database \S+ set default_transaction_isolation = 'read committed';$/,
      ),
    });
    expect(of['database role']).toMatchObject({ state: 'problem', remedy: expect.stringContaining('off') });
  });

  test('reports a wrong POSTHORN_DIRECT_DATABASE_URL and a wrong POSTHORN_READ_DATABASE_URL', async () => {
    const other = (await freshDatabase()).url;
    const wrong = await findings({ POSTHORN_DIRECT_DATABASE_URL: other, POSTHORN_READ_DATABASE_URL: other });
    expect(wrong.of['direct database']).toMatchObject({
      ...{ state: 'problem', detail: 'not the database of DATABASE_URL' },
      remedy: 'Correct POSTHORN_DIRECT_DATABASE_URL.',
    });
    expect(wrong.of['read database']).toMatchObject({ state: 'problem', detail: 'not a streaming replica' });
    const unreachable = await findings({
      POSTHORN_DIRECT_DATABASE_URL: service.databaseUrl,
      POSTHORN_READ_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing',
    });
    expect(unreachable.of['direct database']).toMatchObject({ state: 'ok' });
    expect(unreachable.of['read database']).toMatchObject({
      ...{ state: 'problem', detail: expect.stringContaining('cannot connect: ') },
      remedy: 'Start PostgreSQL, or correct POSTHORN_READ_DATABASE_URL.',
    });
  });

  test('tries the key on every webhook, not only on the newest', async () => {
    const { url, database: other } = await freshDatabase();
    const insert = (id: string, keyByte: number) =>
      other.query({
        text: `
  insert into posthorn.webhooks (organization_id, id, url, status, event_types, created_at, secret)
  values ('ORG-acme', $1, 'https://example.com', 'active', '{*}', clock_timestamp(), $2)`,
        values: [id, new SecretBox([Buffer.alloc(32, keyByte)]).seal('a secret', id)],
      });
    await insert('WHK-1', 2);
    await insert('WHK-2', 1);
    expect((await findings({ DATABASE_URL: url })).of['secret key']).toMatchObject({
      ...{ state: 'problem', detail: 'does not decrypt the secrets of 1 webhook' },
      remedy: expect.stringContaining('Restore the missing key'),
    });
    const keys = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64')).join(',');
    expect((await findings({ DATABASE_URL: url, POSTHORN_SECRET_KEY: keys })).of['secret key']).toMatchObject(
      {
        ...{ state: 'ok', detail: 'decrypts the secrets of all webhooks' },
      },
    );
  });

  test('reports a database that is not in UTF-8, and does not suggest to migrate it', async () => {
    const { code, of } = await findings({ DATABASE_URL: (await freshDatabaseIn('LATIN1')).url });
    expect(code).toBe(1);
    expect(of.encoding).toMatchObject({
      ...{ state: 'problem', detail: 'the database uses LATIN1' },
      remedy: "Create a database with ENCODING 'UTF8'.",
    });
    expect(of.schema).toBeUndefined();
  });

  test('tries the key on a previous secret only during its grace period', async () => {
    const { url, database: other } = await freshDatabase();
    const [lost, own] = [2, 1].map((byte) =>
      new SecretBox([Buffer.alloc(32, byte)]).seal('a secret', 'WHK-1'),
    );
    await other.query({
      text: `
  insert into posthorn.webhooks (organization_id, id, url, status, event_types, created_at, secret, previous_secret,
                                 previous_secret_until)
  values ('ORG-acme', 'WHK-1', 'https://example.com', 'active', '{*}', now(), $1, $2, now() + interval '1 hour')`,
      values: [own, lost],
    });
    const detailOf = async () => (await findings({ DATABASE_URL: url })).of['secret key'].detail;
    expect(await detailOf()).toBe('does not decrypt the secrets of 1 webhook');
    await other.query({ text: 'update posthorn.webhooks set previous_secret_until = now()' });
    expect(await detailOf()).toBe('decrypts the secrets of all webhooks');
  });

  test('reports a key that does not decrypt, a database that is not migrated, too new, read-only or unreachable', async () => {
    const { url, database: other } = await freshDatabase();
    await other.query({
      text: `
  insert into posthorn.webhooks (organization_id, id, url, status, event_types, created_at, secret)
  values ('ORG-acme', 'WHK-1', 'https://example.com', 'active', '{*}', now(), '\\x0102030405')`,
    });
    expect((await findings({ DATABASE_URL: url })).of['secret key']).toMatchObject({
      ...{ state: 'problem', detail: 'does not decrypt the secrets of 1 webhook' },
    });
    await other.query({
      text: "insert into posthorn.schema_files (name, checksum, revision) values ('migrations/9001_x.sql', '', 9001)",
    });
    expect((await findings({ DATABASE_URL: url })).of.schema).toMatchObject({
      state: 'problem',
      remedy: 'Start the newer version.',
    });
    const { url: empty } = await freshDatabase(true);
    expect((await findings({ DATABASE_URL: empty })).of.schema).toMatchObject({
      remedy: 'Run posthorn migrate.',
    });
    const readOnly = await findings({
      DATABASE_URL: `${url}${url.includes('?') ? '&' : '?'}options=-c%20default_transaction_read_only%3Don`,
    });
    expect(readOnly.of['database role']).toMatchObject({
      ...{ state: 'problem', detail: expect.stringContaining('default_transaction_read_only') },
    });
    const unreachable = await findings({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' });
    expect(unreachable.of.database).toMatchObject({
      state: 'problem',
      remedy: expect.stringContaining('DATABASE_URL'),
    });
    expect(unreachable.code).toBe(1);
  });
});
