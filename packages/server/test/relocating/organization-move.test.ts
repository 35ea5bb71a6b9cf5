import { createHmac, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { Posthorn, Producer } from '../../../client/src/index.js';
import { operatorOrigin } from '../../src/audit/audit-store.js';
import { verifyChain } from '../../src/audit/chain-store.js';
import { readCell, readRelocation, writeCell } from '../../src/cells/relocation-store.js';
import type { Outcome } from '../../src/outcomes/outcome.js';
import type { Database, Statement, Transaction } from '../../src/postgres/database.js';
import { forgetOrganization, Move, type MoveOptions } from '../../src/relocating/move.js';
import type { Step } from '../../src/relocating/plan.js';
import { MoveRefused } from '../../src/relocating/state-store.js';
import { countEvents, writeDeliveryCounts } from '../../src/stats/count-store.js';
import { DeliveryTally } from '../../src/stats/delivery-tally.js';
import { SecretBox } from '../../src/values/secret-box.js';
import { countSecretsWithout, rotateSecrets } from '../../src/webhooks/secret-store.js';
import { openHeaders } from '../../src/webhooks/webhook-headers.js';
import { event, record, sendRequest } from '../support/client.js';
import { command } from '../support/command.js';
import { freshServiceDatabase } from '../support/database.js';
import { setLimits } from '../support/limits.js';
import { hasNginx, startNginx } from '../support/nginx.js';
import { Posthorn as Command, serve } from '../support/process.js';
import { hangs, startReceiver } from '../support/receiver.js';
import { platformToken, startTestService, type TestService } from '../support/service.js';
import { snippet } from '../support/snippets.js';
import { eventually, newTenant, Tenant } from '../support/tenant.js';

const key = { POSTHORN_SECRET_KEY: randomBytes(32).toString('base64') };
const retries = { POSTHORN_RETRY_SCHEDULE: '300ms,300ms,1h' };
const [east, west] = await Promise.all([
  startTestService({ POSTHORN_CELL: 'east', ...key, ...retries }),
  startTestService({ POSTHORN_CELL: 'west', ...key, ...retries }),
]);
const cells = { east: east.publicUrl, west: west.publicUrl };
const platformCells = { east: east.platformUrl, west: west.platformUrl };

if (!hasNginx)
  console.warn('nginx is not installed (Debian: nginx-light): the cells are tested without a proxy');
/** The public API: behind the proxy, no client has to know the cells. */
const publicApi = hasNginx ? { url: await startNginx(cells) } : { url: east.publicUrl, cells };

const retentionMs = 90 * 86_400_000;
const scopes = ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'] as const;

/** An organization in a cell, with a token of that cell. */
async function tenantOf(cell = east): Promise<Tenant> {
  const organization_id = `ORG-${randomBytes(6).toString('hex')}`;
  const made = await sendRequest(`${cell.platformUrl}/platform/tokens`, {
    ...{ method: 'POST', token: platformToken, body: { organization_id, scopes } },
  });
  return new Tenant(cell, organization_id, made.body.data.token);
}

function moveOf(tenant: Tenant, options: Partial<MoveOptions> = {}): Move {
  return new Move({
    organizationId: tenant.organization,
    ...{ from: east.database, to: west.database, origin: operatorOrigin() },
    ...{ onEstimate: async () => undefined, onStep: () => undefined, onRows: () => undefined },
    ...{ stopMsMax: 60_000, trustMs: 0, retentionMs },
    ...options,
  });
}

const move = (tenant: Tenant, options: Partial<MoveOptions> = {}) => moveOf(tenant, options).run();

function abort(tenant: Tenant, from = east.database, to = west.database): Promise<void> {
  return moveOf(tenant, { from, to }).abort();
}

function forget(tenant: Tenant, from = east.database, to = west.database): Promise<void> {
  return forgetOrganization({ organizationId: tenant.organization, from, to, retentionMs }, 0);
}

/** The same organization, as the other cell sees it. */
function inWest(tenant: Tenant): Tenant {
  return Object.assign(Object.create(Object.getPrototypeOf(tenant)), tenant, { service: west }) as Tenant;
}

const attemptsOf = async (service: TestService) => {
  const { text } = await sendRequest(`${service.platformUrl}/metrics`, { token: platformToken });
  const lines = text.split('\n').filter((line) => line.startsWith('posthorn_delivery_attempts_total'));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
};

describe('an organization that is moved while it works', () => {
  it('loses nothing that was acknowledged, and keeps its cursors, tokens and audit log', async () => {
    const tenant = await tenantOf();
    const organization_id = tenant.organization;
    const receiver = await startReceiver();
    const failing = await startReceiver();
    failing.onDelivery = 503;
    const webhook = await tenant.webhook(receiver);
    const broken = await tenant.webhook(failing, { event_types: ['invoice.voided'] });
    await tenant.record({ type: 'invoice.voided' });
    const producer = new Producer({ url: east.platformUrl, token: platformToken, cells: platformCells });
    const recorded: string[] = [];
    let [isRecording, hasRecordedAll] = [true, false];
    const recording = (async () => {
      while (isRecording) {
        const sent = [event({ organization_id, type: 'task.created' }), event({ organization_id })];
        const results = await Promise.all(sent.map((one) => producer.send(one as never)));
        recorded.push(...results.map(({ id }) => id));
        await delay(25);
      }
    })();
    const reader = new Posthorn({ ...publicApi, token: tenant.token });
    const read: string[] = [];
    const reading = (async () => {
      let cursor: string | undefined;
      while (!hasRecordedAll || !recorded.every((id) => read.includes(id))) {
        const query = { organization_id, order: 'asc', limit: 100, ...(cursor && { cursor }) } as const;
        const page = await reader.events.list(query).first();
        read.push(...page.data.map(({ id }) => id));
        cursor = page.cursor ?? cursor;
        await delay(50);
      }
    })();

    await eventually(
      async () => recorded.length,
      (count) => count > 20,
    );
    let attemptsAtSwitch = 0;
    const steps: string[] = [];
    let copied = 0;
    await move(tenant, {
      trustMs: 2_000,
      onRows: (rows) => {
        copied += rows;
      },
      onStep: (step) => {
        steps.push(step);
        if (step === 'leave') void attemptsOf(east).then((count) => (attemptsAtSwitch = count));
      },
    });
    expect(steps).toEqual(['stop', 'drain', 'copy', 'leave', 'activate', 'done']);
    expect(copied).toBeGreaterThan(40);
    const before = recorded.length;
    await eventually(
      async () => recorded.length,
      (count) => count > before + 20,
    );
    isRecording = false;
    await recording;
    hasRecordedAll = true;
    await reading;
    await producer.close();

    const listed = await new Posthorn({ url: west.publicUrl, token: tenant.token }).events
      .list({ organization_id, order: 'asc', limit: 100 })
      .all();
    const own = listed
      .filter(({ type }) => type === 'task.created' || type === 'invoice.paid')
      .map(({ id }) => id);
    expect(own.sort()).toEqual([...recorded].sort());
    expect(read.filter((id, index) => read.indexOf(id) !== index)).toEqual([]);
    expect(new Set(read)).toEqual(new Set(listed.map(({ id }) => id)));
    await eventually(
      async () => new Set(receiver.deliveries.all.map(({ envelope }) => envelope.id)),
      (arrived) => recorded.every((id) => arrived.has(id)),
    );
    const there = inWest(tenant);
    await eventually(
      () => there.deliveries(broken, '?limit=100'),
      (list) => list.length > 0 && list.some(({ attempts }) => attempts >= 3),
    );
    expect(await attemptsOf(east)).toBe(attemptsAtSwitch);
    const chain = await verifyChain(west.database, organization_id, () => undefined);
    expect([chain.fault, chain.position]).toEqual([undefined, chain.entries]);
    const [last] = await there.data('GET', '/v1/audit-logs?limit=1');
    expect(last).toMatchObject({
      action: 'organization.moved',
      changes: { cell: { from: 'east', to: 'west' } },
    });
    await countEvents(west.database);
    await eventually(
      () => there.data('GET', '/v1/stats?interval=hour'),
      ({ totals }) => totals.events === listed.length,
    );
    const kept = await rowsIn(east, organization_id);
    expect([kept.webhooks, Number(kept.events) > 0]).toEqual([2, true]);
    await forget(tenant);
    expect(await rowsIn(east, organization_id)).toEqual({
      events: 0,
      deliveries: 0,
      webhooks: 0,
      backlog: 0,
    });
    expect((await tenant.request('GET', '/v1/webhooks')).body).toMatchObject({
      code: 'wrong_cell',
      cell: 'west',
    });
    expect((await there.data('GET', `/v1/webhooks/${webhook.id}`)).status).toBe('active');
  });
});

describe('posthorn organization move', () => {
  it('completes a move during which the only node of the old cell is killed, and encrypts secrets again', async () => {
    const { database, url } = await freshServiceDatabase();
    const settings = {
      ...{ DATABASE_URL: url, POSTHORN_CELL: 'north', POSTHORN_PLATFORM_TOKEN: platformToken },
      ...{ POSTHORN_SECRET_KEY: randomBytes(32).toString('base64'), POSTHORN_DELIVERY_TIMEOUT: '1s' },
    };
    const node = await serve({ ...settings, POSTHORN_EGRESS_ALLOW: '127.0.0.0/8' });
    const north = { ...east, publicUrl: node.publicUrl, platformUrl: node.platformUrl };
    const tenant = await tenantOf(north);
    // The node is killed before it gets a response.
    const receiver = await startReceiver({ onDelivery: hangs });
    await tenant.webhook(receiver, { secret: 'a secret of 27 characters' });
    // After its grace period, a previous secret may have been encrypted with a key that has been removed since.
    await database.query({
      text: `update posthorn.webhooks set previous_secret = 'unreadable', previous_secret_until = now()`,
    });
    const { id } = await tenant.record();
    await receiver.deliveries.nth(1);
    const moving = new Command(['organization', 'move', tenant.organization, '--to', west.databaseUrl], {
      ...settings,
      POSTHORN_TARGET_SECRET_KEY: key.POSTHORN_SECRET_KEY,
    });
    await moving.until(/Stopping/);
    node.process.kill('SIGKILL');
    await node.process.ended;
    receiver.onDelivery = 200;
    // Its lease would otherwise end a few seconds later.
    await database.query({ text: 'update posthorn.nodes set alive_until = now()' });
    const { code, stdout } = await moving.ended;
    expect([code, stdout]).toEqual([0, expect.stringContaining('has moved from cell north to cell west.')]);
    const again = await receiver.deliveries.nth(2);
    expect(again.envelope.id).toBe(id);
    const digest = createHmac('sha256', 'a secret of 27 characters').update(again.body).digest('hex');
    expect(again.headers['x-service-signature']).toBe(`sha256=${digest}`);
    expect((await inWest(tenant).events()).map((one) => one.id)).toEqual([id]);
  });

  it.each([
    [['ORG-nobody'], 'The cell east has no data for ORG-nobody.'],
    [['acme'], "'acme' is not an organization ID."],
    [
      ['ORG-nobody', '--abort'],
      'ORG-nobody is not moving from cell east to cell west, so there is nothing to abort.',
    ],
    [['ORG-nobody', '--to', 'postgres://nobody@127.0.0.1:1/x'], 'Cannot connect to the --to database: '],
  ])('refuses %j in one line', async ([organization = '', ...more], expected) => {
    const args = ['organization', 'move', organization, '--to', west.databaseUrl, ...more];
    const { code, stderr } = await command(args, { DATABASE_URL: east.databaseUrl, ...key });
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining(expected)]);
  });

  it('refuses to merge an organization with another one of the same ID', async () => {
    const tenant = await tenantOf();
    await newTenant(west, { organization_id: tenant.organization });
    await expect(move(tenant)).rejects.toThrow(/has 1 rows of an organization with the ID/);
    expect(await readRelocation(east.database, tenant.organization)).toBeUndefined();
  });

  it('says how long the stop will take, and refuses more than --max-stop before anything has changed', async () => {
    const tenant = await tenantOf();
    await tenant.record();
    const args = ['organization', 'move', tenant.organization, '--to', west.databaseUrl];
    const settings = { DATABASE_URL: east.databaseUrl, ...key };
    const refused = await command([...args, '--max-stop', '1s'], settings);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(
        /rejected for about 1\.5 seconds\. --max-stop allows 1\.0 seconds\. .*"Split a cell"/,
      ),
    ]);
    expect(await readRelocation(east.database, tenant.organization)).toBeUndefined();
    const moved = await command(args, settings);
    expect([moved.code, moved.stdout]).toEqual([
      0,
      expect.stringMatching(
        /Writes will be rejected for about 1\.5 seconds\.\n(.*…\n)+.* has moved from cell east to cell west\./,
      ),
    ]);
    const json = await command([...args, '--json'], settings);
    expect(JSON.parse(json.stdout)).toMatchObject({ rows: 0, stopped_ms: null });
  });
});

it('a move is refused if the nodes of the other cell could not decrypt the webhook secrets', async () => {
  const tenant = await tenantOf();
  await tenant.webhook(await startReceiver());
  const secrets = new SecretBox([randomBytes(32)]);
  await expect(move(tenant, { secrets })).rejects.toThrow('Set POSTHORN_TARGET_SECRET_KEY');
  expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([true, false]);
  expect(await readRelocation(east.database, tenant.organization)).toBeUndefined();
});

it('the secrets of an interrupted move are encrypted again by a node of the new cell that gets another key', async () => {
  const [own, fresh] = [Buffer.from(key.POSTHORN_SECRET_KEY, 'base64'), randomBytes(32)];
  const [ownBox, freshBox] = [new SecretBox([own]), new SecretBox([fresh])];
  const tenant = await tenantOf();
  const headers = { Authorization: 'Bearer 1' };
  const webhook = await tenant.webhook(await startReceiver(), {
    secret: 'a secret of 27 characters',
    headers,
  });
  const north = await cellWithoutNodes('north', ownBox.prefixes);
  await expect(moveUntil(tenant, 'activate', north)).rejects.toThrow('killed');
  await rotateSecrets(north, new SecretBox([fresh, own]), pino({ level: 'silent' }));
  expect(await countSecretsWithout(north, freshBox.prefixes)).toBe(0);
  await move(tenant, { to: north });
  const { rows } = await north.query<{ secret: Buffer; headers: Buffer }>({
    text: 'select secret, headers from posthorn.webhooks where organization_id = $1',
    values: [tenant.organization],
  });
  expect([
    freshBox.open(rows[0]!.secret, webhook.id),
    openHeaders(rows[0]!.headers, webhook.id, freshBox),
  ]).toEqual(['a secret of 27 characters', headers]);
});

describe('everything that belongs to an organization', () => {
  it('is copied, even if it is in a table that nobody has told the move about', async () => {
    const tenant = await tenantOf();
    const { database: north } = await freshServiceDatabase();
    await writeCell(north, { name: 'north', keys: [] });
    const { database: south } = await freshServiceDatabase();
    await writeCell(south, { name: 'south', keys: [] });
    for (const database of [north, south])
      await database.query({
        text: `
  create table posthorn.a_new_table (organization_id text collate "C" not null, id text, note text, primary key (organization_id, id));
  create table posthorn.a_newer_table (organization_id text collate "C" not null, id text,
    foreign key (organization_id, id) references posthorn.a_new_table)`,
      });
    await north.query({
      text: `
  insert into posthorn.a_new_table values ('${tenant.organization}', '1', 'its own'), ('ORG-other', '1', 'not its own');
  insert into posthorn.a_newer_table values ('${tenant.organization}', '1')`,
    });
    await move(tenant, { from: north, to: south });
    const { rows } = await south.query({
      text: 'select note from posthorn.a_new_table join posthorn.a_newer_table using (organization_id, id)',
    });
    expect(rows).toEqual([{ note: 'its own' }]);
    await forget(tenant, north, south);
    const left = await north.query({ text: 'select note from posthorn.a_new_table' });
    expect(left.rows).toEqual([{ note: 'not its own' }]);
  });

  it('is compared, and nothing is copied if the new cell has not stored all of it', async () => {
    const tenant = await tenantOf();
    await tenant.record({ idempotency_key: 'a key' });
    const north = await cellWithoutNodes('north');
    await north.query({
      text: `
  create function posthorn.lose() returns trigger language plpgsql as 'begin return null; end';
  create trigger lose before insert on posthorn.event_keys for each row execute function posthorn.lose()`,
    });
    await expect(move(tenant, { to: north })).rejects.toThrow(
      'has 0 instead of 1 rows in event_keys. Nothing was copied.',
    );
    expect(await actsFor(east, tenant)).toBe(true);
    expect(await readRelocation(north, tenant.organization)).toBeUndefined();
    const { rows } = await north.query({ text: 'select id from posthorn.events' });
    expect(rows).toEqual([]);
  });
});

describe('a move that is interrupted', () => {
  it('leaves the organization in exactly one cell or stopped, whichever change was the last, and can be completed or aborted', async () => {
    const fates = new Set<string>();
    const south = await cellWithoutNodes('south');
    const namesake = await cellWithoutNodes('west');
    for (const ending of ['completed', 'aborted'] as const) {
      for (let changes = 0; ; changes += 1) {
        const tenant = await tenantOf();
        await tenant.record();
        const life = { changesLeft: changes };
        const dying = { from: mortal(east.database, life), to: mortal(west.database, life) };
        const isDone = await move(tenant, dying).then(
          () => true,
          () => false,
        );
        const acting = [await actsFor(east, tenant), await actsFor(west, tenant)];
        fates.add(String(acting));
        expect(acting).not.toEqual([true, true]);
        for (const [from, to] of [
          [south, west.database],
          [south, east.database],
          [east.database, south],
          [east.database, namesake],
          [west.database, south],
          [west.database, east.database],
        ] as const)
          await expect(abort(tenant, from, to)).rejects.toThrow(MoveRefused);
        if (ending === 'completed' || acting[1] || acting[0]) {
          if (ending === 'aborted') await abort(tenant).catch(() => undefined);
          await move(tenant);
          expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([false, true]);
          expect(await inWest(tenant).events()).toHaveLength(1);
        } else {
          await abort(tenant);
          expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([true, false]);
          expect(await rowsIn(west, tenant.organization)).toMatchObject({ events: 0, webhooks: 0 });
          await tenant.record();
          await move(tenant);
          expect(await inWest(tenant).events()).toHaveLength(2);
        }
        expect(await rowsIn(east, tenant.organization)).toMatchObject({
          events: acting[0] || isDone || ending === 'completed' || acting[1] ? 1 : 2,
        });
        if (isDone) break;
      }
    }
    // Interrupted before the stop, during the stop, and after the new cell has taken over.
    expect([...fates].sort()).toEqual(['false,false', 'false,true', 'true,false']);
  });

  it('loses nothing if the abort is interrupted as well, and the organization is then moved', async () => {
    for (let changes = 0; ; changes += 1) {
      const tenant = await tenantOf();
      const webhook = await tenant.webhook(await startReceiver());
      await tenant.record();
      await tenant.settled(webhook, 1, ({ status }) => status === 'success');
      await expect(moveUntil(tenant, 'activate')).rejects.toThrow('killed');
      const life = { changesLeft: changes };
      const isDone = await abort(tenant, mortal(east.database, life), mortal(west.database, life)).then(
        () => true,
        () => false,
      );
      expect(await actsFor(east, tenant)).toBe(isDone);
      await move(tenant);
      expect(await rowsIn(west, tenant.organization)).toMatchObject({
        events: 1,
        deliveries: 1,
        webhooks: 1,
      });
      if (isDone) break;
    }
  });

  it('goes on in the old cell if the command fails, with what was waiting, and cannot be aborted once it is over', async () => {
    const tenant = await tenantOf();
    const receiver = await startReceiver({ onDelivery: 503 });
    const webhook = await tenant.webhook(receiver);
    await tenant.record();
    await tenant.settled(webhook, 1, ({ attempts }) => attempts === 3);
    receiver.onDelivery = 200;
    const onStep = (step: string) => {
      if (step === 'activate') throw new Error('a test');
    };
    await expect(move(tenant, { onStep })).rejects.toThrow('a test');
    expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([true, false]);
    await tenant.bringForward(webhook);
    await tenant.settled(webhook, 1, ({ status }) => status === 'success');
    await move(tenant);
    await expect(abort(tenant)).rejects.toThrow('already works in the cell west');
    expect(await inWest(tenant).events()).toHaveLength(1);
  });
});

describe('a cell that fails over or is restored', () => {
  /** Puts back the state of a move in a database, as a standby or a backup has it that lacks the last commits. */
  async function stateOf(database: Database, { organization }: Tenant) {
    const { rows } = await database.query<object>({
      text: 'select to_jsonb(r) as row from posthorn.relocations r where organization_id = $1',
      values: [organization],
    });
    return async () => {
      await database.query({
        text: 'delete from posthorn.relocations where organization_id = $1',
        values: [organization],
      });
      await database.query({
        text: 'insert into posthorn.relocations select (jsonb_populate_record(null::posthorn.relocations, r)).* from unnest($1::jsonb[]) r',
        values: [rows.map((found) => (found as { row: object }).row)],
      });
    };
  }
  /** Deletes all that a database has of an organization, as a backup from before the move. */
  async function lose(database: Database, { organization }: Tenant): Promise<void> {
    await database.transaction(async (client) => {
      await client.query({ text: 'set local session_replication_role = replica' });
      for (const table of [
        'relocations',
        'webhook_health',
        'webhooks',
        'tokens',
        'resources',
        'events',
        'deliveries',
        'event_keys',
        'event_counts',
        'delivery_counts',
        'audit_log',
        'audit_chains',
      ])
        await client.query({
          text: `delete from posthorn.${table} where organization_id = $1`,
          values: [organization],
        });
    });
  }

  it.each(['completed', 'aborted'])('a move whose takeover the new cell has lost can be %s', async (then) => {
    const tenant = await tenantOf();
    await tenant.record();
    await expect(moveUntil(tenant, 'activate')).rejects.toThrow('killed');
    const restore = await stateOf(west.database, tenant);
    await move(tenant);
    await restore();
    expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([false, false]);
    if (then === 'completed') await move(tenant);
    else await abort(tenant);
    expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([
      then === 'aborted',
      then === 'completed',
    ]);
  });

  it('is noticed before the command ends: a takeover that was lost in the meantime is repeated', async () => {
    const tenant = await tenantOf();
    await tenant.record();
    let restore: (() => Promise<void>) | undefined;
    const steps: string[] = [];
    const to = {
      query: async (statement: Statement) => {
        if (steps.at(-1) === 'done') await restore?.();
        restore = steps.at(-1) === 'done' ? undefined : restore;
        return west.database.query(statement);
      },
      transaction: west.database.transaction.bind(west.database),
    } as unknown as Database;
    await move(tenant, {
      to,
      onStep: (step) => steps.push(step),
      from: {
        query: async (statement: Statement) => {
          if (statement.values?.includes('moved')) restore = await stateOf(west.database, tenant);
          return east.database.query(statement);
        },
        transaction: east.database.transaction.bind(east.database),
      } as unknown as Database,
    });
    expect(steps.slice(-4)).toEqual(['activate', 'done', 'activate', 'done']);
    expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([false, true]);
  });

  it('and no longer has the organization gets it again from the old copy', async () => {
    const tenant = await tenantOf();
    const webhook = await tenant.webhook(await startReceiver());
    await tenant.record();
    await tenant.settled(webhook, 1, ({ status }) => status === 'success');
    await move(tenant);
    await lose(west.database, tenant);
    await move(tenant);
    expect(await inWest(tenant).events()).toHaveLength(1);
    expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([false, true]);
  });

  it('and has recorded something without having the organization makes the command refuse with the count', async () => {
    const tenant = await tenantOf();
    await tenant.record();
    await move(tenant);
    await lose(west.database, tenant);
    await record(west, event({ organization_id: tenant.organization }));
    for (const command of [move, abort])
      await expect(command(tenant)).rejects.toThrow(
        /has 1 rows of .* did not come from the cell east\. .* See "Restored cells" in docs\/operate\.md\./,
      );
    expect(await rowsIn(west, tenant.organization)).toMatchObject({ events: 1 });
    // As the guide says.
    const sql = snippet('docs/operate.md', 'sql', 'disable trigger audit_log_stays');
    await west.database.query({ text: sql.replaceAll('ORG-acme', tenant.organization) });
    await move(tenant);
    expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([false, true]);
    const { rows } = await west.database.query({
      text: "select from pg_trigger where tgname = 'audit_log_stays' and tgenabled = 'D'",
    });
    expect(rows).toEqual([]);
  });

  it('and has the organization as before the move: running the move again marks it as moved', async () => {
    const tenant = await tenantOf();
    await tenant.record();
    await move(tenant);
    await east.database.query({
      text: 'delete from posthorn.relocations where organization_id = $1',
      values: [tenant.organization],
    });
    expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([true, true]);
    await move(tenant);
    expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([false, true]);
  });

  it('and has the organization as before the move, and has recorded since: running it again refuses with the count', async () => {
    const tenant = await tenantOf();
    await move(tenant);
    await east.database.query({
      text: 'delete from posthorn.relocations where organization_id = $1',
      values: [tenant.organization],
    });
    await tenant.record();
    await expect(move(tenant)).rejects.toThrow('The cell west lacks 1 events and audit log entries');
    await expect(abort(tenant)).rejects.toThrow('already works in the cell west');
    expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([false, true]);
    // As the guide says.
    const sql = snippet('docs/operate.md', 'sql', "'moved', 'west'");
    const id = (await readCell(west.database))!.id;
    await east.database.query({
      text: sql.replace('ORG-acme', tenant.organization).replace('00000000-0000-0000-0000-000000000000', id),
    });
    expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([false, true]);
    await expect(forget(tenant)).rejects.toThrow('lacks 1 events');
  });

  it('in the middle of the move, so that only the copy has the latest events: running the move again continues with it', async () => {
    const tenant = await tenantOf();
    const { id } = await tenant.record();
    await expect(moveUntil(tenant, 'leave')).rejects.toThrow('killed');
    await east.database.query({
      text: 'delete from posthorn.relocations where organization_id = $1',
      values: [tenant.organization],
    });
    await east.database.query({
      text: 'delete from posthorn.events where organization_id = $1',
      values: [tenant.organization],
    });
    await move(tenant);
    expect((await inWest(tenant).events()).map((one) => one.id)).toEqual([id]);
    expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([false, true]);
  });

  it('in the middle of the move: an abort keeps the copy if it has what the old cell has lost', async () => {
    const tenant = await tenantOf();
    await tenant.record();
    await expect(moveUntil(tenant, 'leave')).rejects.toThrow('killed');
    await east.database.query({
      text: 'delete from posthorn.events where organization_id = $1',
      values: [tenant.organization],
    });
    await abort(tenant);
    expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([true, false]);
    expect(await rowsIn(west, tenant.organization)).toMatchObject({ events: 1 });
    await expect(forget(tenant, west.database, east.database)).rejects.toThrow('lacks 1 events');
  });

  it('has an identity: a move is bound to it, and another database with the same name is refused', async () => {
    const tenant = await tenantOf();
    await tenant.record();
    const namesake = await cellWithoutNodes('west');
    await expect(moveUntil(tenant, 'activate')).rejects.toThrow('killed');
    for (const command of [
      () => move(tenant, { to: namesake }),
      () => abort(tenant, east.database, namesake),
    ])
      await expect(command()).rejects.toThrow(MoveRefused);
    await move(tenant);
    await expect(move(tenant, { to: namesake })).rejects.toThrow(`${tenant.organization} is in cell west.`);
  });
});

describe('the old copy of an organization', () => {
  it('is kept for 3 days, and deleted only if the new cell has everything', async () => {
    const tenant = await tenantOf();
    await tenant.record();
    const args = ['organization', 'forget', tenant.organization, '--to', west.databaseUrl];
    const settings = { DATABASE_URL: east.databaseUrl, ...key };
    await move(tenant);
    expect((await command(args, settings)).stderr).toContain('add --yes to confirm');
    expect((await command([...args, '--yes'], settings)).stderr).toContain(
      'Try again in 72 hours, or add --now',
    );
    const { rows } = await west.database.query<{ id: string }>({
      text: 'delete from posthorn.events where organization_id = $1 returning *',
      values: [tenant.organization],
    });
    const refused = await command([...args, '--yes', '--now'], settings);
    expect(refused.stderr).toContain('The cell west lacks 1 events and audit log entries');
    await west.database.query({
      text: 'insert into posthorn.events select (jsonb_populate_record(null::posthorn.events, $1)).*',
      values: [JSON.stringify(rows[0])],
    });
    const doctor = await command(['doctor', '--json'], settings);
    expect(doctor.stdout).toMatch(
      new RegExp(
        `"organization","state":"ok","detail":"${tenant.organization} moved to the cell west.*organization forget ${tenant.organization} --yes`,
      ),
    );
    expect(await command([...args, '--yes', '--now'], settings)).toMatchObject({
      code: 0,
      stdout: `The old copy of ${tenant.organization} was deleted.\n`,
    });
    expect(await rowsIn(east, tenant.organization)).toMatchObject({ events: 0 });
    expect((await command([...args, '--yes'], settings)).code).toBe(0);
  });

  it('must be deleted before the organization can move back', async () => {
    const tenant = await tenantOf();
    const webhook = await tenant.webhook(await startReceiver());
    await tenant.record();
    await tenant.settled(webhook, 1, ({ status }) => status === 'success');
    await move(tenant);
    await inWest(tenant).record();
    const back = { from: west.database, to: east.database };
    await expect(move(tenant, back)).rejects.toThrow(
      `The cell east keeps an old copy of ${tenant.organization}. Delete it first: run posthorn organization forget ${tenant.organization} there.`,
    );
    expect(await actsFor(west, tenant)).toBe(true);
    await forget(tenant);
    // A node of the old cell still had counts in its memory.
    const counts = { delivered: 1, failed_attempts: 0, given_up: 0, latencies: [] };
    const late = {
      organization_id: tenant.organization,
      scope: '',
      step: 1,
      atMs: Date.now(),
      part: 1,
    } as const;
    await writeDeliveryCounts(east.database, [{ ...late, ...counts }]);
    await move(tenant, back);
    expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([true, false]);
    expect(await tenant.events()).toHaveLength(2);
    const chain = await verifyChain(east.database, tenant.organization, () => undefined);
    expect([chain.fault, chain.entries]).toEqual([undefined, 4]);
  });

  it('is not deleted where the organization lives', async () => {
    const tenant = await tenantOf();
    await tenant.record();
    await expect(forget(tenant)).rejects.toThrow(`${tenant.organization} is in cell east.`);
    await expect(moveUntil(tenant, 'activate')).rejects.toThrow('killed');
    await expect(forget(tenant)).rejects.toThrow(MoveRefused);
    expect(await rowsIn(east, tenant.organization)).toMatchObject({ events: 1 });
  });
});

it('posthorn doctor reports organizations that are stopped or arriving, and the command that ends it', async () => {
  const tenant = await tenantOf();
  await expect(moveUntil(tenant, 'leave')).rejects.toThrow('killed');
  const reported = async ({ databaseUrl }: TestService) =>
    (await command(['doctor', '--json'], { DATABASE_URL: databaseUrl, ...key })).stdout
      .split('\n')
      .filter((line) => line.includes(tenant.organization))
      .map((line) => JSON.parse(line));
  expect(await reported(east)).toMatchObject([
    {
      state: 'warning',
      detail: expect.stringContaining('is stopped since'),
      remedy: expect.stringContaining('--abort'),
    },
  ]);
  expect(await reported(west)).toMatchObject([
    { state: 'warning', detail: expect.stringContaining('is arriving from the cell east since') },
  ]);
});

describe('an organization that shares the old cell with others', () => {
  it('is moved while the receiver of another one hangs, although one request recorded events of both', async () => {
    const [tenant, other] = [await tenantOf(), await tenantOf()];
    const webhook = await tenant.webhook(await startReceiver());
    const hanging = await startReceiver();
    await other.webhook(hanging);
    hanging.onDelivery = hangs;
    await record(
      east,
      event({ organization_id: tenant.organization }),
      event({ organization_id: other.organization }),
    );
    await tenant.settled(webhook, 1, ({ status }) => status === 'success');
    await hanging.deliveries.nth(1);
    await move(tenant);
    expect(await inWest(tenant).deliveries(webhook)).toHaveLength(1);
    hanging.onDelivery = 200;
  });
});

it.each([-3_600_000, 600_000])(
  'a redelivery moves and is attempted, although the clock of its node differs by %d ms',
  async (offsetMs) => {
    const tenant = await tenantOf();
    const receiver = await startReceiver();
    const webhook = await tenant.webhook(receiver);
    await tenant.record();
    const [first] = await tenant.settled(webhook, 1, ({ status }) => status === 'success');
    let again: { id: string } | undefined;
    const redelivering = {
      query: async (statement: Statement) => {
        if (!again && statement.values?.includes('stopping')) {
          receiver.onDelivery = 503;
          east.clock.offsetMs = offsetMs;
          const path = `/v1/webhooks/${webhook.id}/deliveries/${first.id}/redeliver`;
          again = await tenant.data('POST', path).finally(() => {
            east.clock.offsetMs = 0;
          });
          receiver.onDelivery = 200;
        }
        return east.database.query(statement);
      },
      transaction: east.database.transaction.bind(east.database),
    } as unknown as Database;
    await move(tenant, { from: redelivering });
    const moved = await inWest(tenant).settled(webhook, 2, ({ status }) => status === 'success');
    expect(moved.map(({ id }) => id)).toContain(again!.id);
  },
);

it('an organization whose audit log has been dropped by retention keeps the position in its chain', async () => {
  const tenant = await newTenant(east);
  await east.database.query({
    text: `
  insert into posthorn.audit_chains (organization_id, length, hash, last_at, dropped, dropped_hash)
  values ($1, 7, 'a hash', now() - interval '400 days', 7, 'a hash')`,
    values: [tenant.organization],
  });
  await move(tenant);
  const chain = await verifyChain(west.database, tenant.organization, () => undefined);
  expect([chain.fault, chain.position, chain.entries]).toEqual([undefined, 8, 1]);
});

it('the hourly counts are complete after a move, whenever the nodes write them, and after a move back', async () => {
  const tenant = await tenantOf();
  const webhook = { id: 'WHK-1', organization_id: tenant.organization, workspace_id: null };
  const hourMs = Date.now() - (Date.now() % 3_600_000);
  let nowMs = hourMs;
  setLimits({ tallyEveryMs: 5 });
  const logger = pino({ level: 'silent' });
  const tally = new DeliveryTally({ database: east.database, logger, now: () => nowMs });
  const deliver = async (durationMs: number, count: number) => {
    const outcome = { kind: 'response', httpStatus: 200, durationMs } as Outcome;
    tally.note(webhook, outcome, { kind: 'delivered' });
    await eventually(
      () => countsIn(east, tenant),
      (counts) => counts[1]?.delivered === count,
    );
  };
  await deliver(1, 1);
  nowMs += 60_000;
  await deliver(2, 2);
  await move(tenant);
  const counts = (delivered: number) => ({ delivered, timed: delivered });
  expect(await countsIn(west, tenant)).toEqual({ 1: counts(2), 60: counts(2) });
  await forget(tenant);
  await move(tenant, { from: west.database, to: east.database });
  nowMs += 60_000;
  await deliver(2, 3);
  await tally.stop();
  expect(await countsIn(east, tenant)).toEqual({ 1: counts(3), 60: counts(3) });
});

it.each(['old', 'new', 'neither'])(
  'every event is counted once after a move, if the %s cell has counted the latest events',
  async (counted) => {
    const tenant = await tenantOf();
    await tenant.record({ workspace_id: 'WS-own' });
    await countEvents(east.database);
    await countEvents(west.database);
    await tenant.record();
    await tenant.record({ workspace_id: 'WS-own' });
    if (counted === 'old') await countEvents(east.database);
    if (counted === 'new') await countEvents(west.database);
    await move(tenant);
    const there = inWest(tenant);
    await there.record();
    await countEvents(west.database);
    for (const interval of ['minute', 'hour', 'day']) {
      const range = `from=${new Date(Date.now() - 3_600_000).toISOString()}`;
      const { totals } = await there.data('GET', `/v1/stats?interval=${interval}&${range}`);
      expect([interval, totals.events]).toEqual([interval, 4]);
    }
    const { rows } = await west.database.query<{ count: number }>({
      text: `select sum(events) as count from posthorn.event_counts where organization_id = $1 and scope = 'WS-own' and step = 1`,
      values: [tenant.organization],
    });
    expect(rows[0]!.count).toBe(2);
  },
);

/** Moves an organization with a process that is killed at the start of this step. */
function moveUntil(tenant: Tenant, last: Step, to = west.database) {
  const life = { changesLeft: 1_000 };
  return move(tenant, {
    ...{ from: mortal(east.database, life), to: mortal(to, life) },
    onStep: (step) => {
      if (step !== last) return;
      life.changesLeft = -1;
      throw new Error('killed');
    },
  });
}

async function cellWithoutNodes(name: string, keys: readonly Buffer[] = []): Promise<Database> {
  const { database } = await freshServiceDatabase();
  await writeCell(database, { name, keys });
  return database;
}

/** The sums of the counts, by the length of the period in minutes. */
async function countsIn({ database }: TestService, { organization }: Tenant) {
  const { rows } = await database.query<{ step: number; delivered: number; timed: number }>({
    text: `
  select step, sum(delivered)::int as delivered,
         sum((select sum(n) from unnest(latencies) n))::int as timed
    from posthorn.delivery_counts
   where organization_id = $1 and scope = ''
   group by step`,
    values: [organization],
  });
  return Object.fromEntries(rows.map(({ step, ...counts }) => [step, counts]));
}

/**
 * A database for a process that dies when it is about to commit one change too many. Wherever else it dies, what it
 * leaves behind is the same: statements that only read leave nothing, and PostgreSQL rolls back a transaction.
 */
function mortal(database: Database, life: { changesLeft: number }): Database {
  const live = () => {
    if (life.changesLeft < 0) throw new Error('killed');
  };
  const change = () => {
    life.changesLeft -= 1;
    live();
  };
  return {
    query: (statement: Statement) => {
      live();
      if (!isRead(statement)) change();
      return database.query(statement);
    },
    transaction: (work: (client: Transaction) => Promise<unknown>, hasNoTimeLimit?: boolean) =>
      database.transaction(async (client) => {
        live();
        let hasChanged = false;
        const result = await work({
          query: async (statement) => {
            live();
            const result = await client.query(statement);
            hasChanged ||= !isRead(statement) && Number(result.rowCount) > 0;
            return result as never;
          },
          stream: (copy) => client.stream(copy),
        });
        if (hasChanged) change();
        return result;
      }, hasNoTimeLimit),
  } as unknown as Database;
}

const isRead = ({ text }: Statement) => /^\s*select\b/.test(text);

/** Whether a cell accepts events of an organization that exists there. */
async function actsFor(service: TestService, { organization }: Tenant): Promise<boolean> {
  const { rows } = await service.database.query<{ acts: boolean }>({
    text: `
  select exists (select from posthorn.tokens where organization_id = $1)
     and not exists (select from posthorn.relocations where organization_id = $1 and state <> 'here') as acts`,
    values: [organization],
  });
  return rows[0]!.acts;
}

async function rowsIn(service: TestService, organization: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of ['events', 'deliveries', 'webhooks', 'backlog']) {
    const { rows } = await service.database.query<{ count: number }>({
      text: `select count(*) from posthorn.${table} where organization_id = $1`,
      values: [organization],
    });
    counts[table] = rows[0]!.count;
  }
  return counts;
}
