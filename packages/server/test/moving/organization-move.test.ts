import { createHmac, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { Posthorn, Producer } from '../../../client/src/index.js';
import { operatorOrigin } from '../../src/audit/audit-store.js';
import { verifyChain } from '../../src/audit/chain-store.js';
import { readRelocation, writeCell } from '../../src/cells/relocation-store.js';
import { batchOf, noRoom, recordBatch } from '../../src/events/recording-store.js';
import type { Reencrypt } from '../../src/moving/arrival-store.js';
import {
  moveOrganization,
  type RelocationOptions,
  type RelocationStep,
} from '../../src/moving/relocation.js';
import { abortMove } from '../../src/moving/relocation-abort.js';
import { RelocationRefused } from '../../src/moving/relocation-refused.js';
import type { Outcome } from '../../src/outcomes/outcome.js';
import { allowPauses, type Database, type Statement, type Transaction } from '../../src/postgres/database.js';
import { DeliveryTally } from '../../src/stats/delivery-tally.js';
import { countEvents } from '../../src/stats/event-count-store.js';
import { SecretBox } from '../../src/values/secret-box.js';
import { countSecretsWithout, readSecretsOf, rotateSecrets } from '../../src/webhooks/secret-store.js';
import { webhookDisabled } from '../../src/webhooks/webhook.js';
import { openHeaders, reencryptHeaders } from '../../src/webhooks/webhook-headers.js';
import { event, record, sendRequest } from '../support/client.js';
import { command } from '../support/command.js';
import { freshServiceDatabase } from '../support/database.js';
import { setLimits } from '../support/limits.js';
import { hasNginx, startNginx } from '../support/nginx.js';
import { Posthorn as Command, serve } from '../support/process.js';
import { Held, hangs, startReceiver } from '../support/receiver.js';
import { platformToken, startTestService, type TestService } from '../support/service.js';
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

const scopes = ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'] as const;

/** An organization in a cell, with a token of that cell. */
async function tenantOf(cell = east): Promise<Tenant> {
  const organization_id = `ORG-${randomBytes(6).toString('hex')}`;
  const made = await sendRequest(`${cell.platformUrl}/platform/tokens`, {
    ...{ method: 'POST', token: platformToken, body: { organization_id, scopes } },
  });
  return new Tenant(cell, organization_id, made.body.data.token);
}

function move(tenant: Tenant, options: Partial<RelocationOptions> = {}) {
  return moveOrganization({
    organizationId: tenant.organization,
    ...{ from: east.database, to: west.database, origin: operatorOrigin() },
    ...{
      reencrypt: (sealed) => sealed,
      onStep: () => undefined,
      onPage: () => undefined,
      countsMs: 0,
      trustMs: 0,
    },
    ...options,
  });
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
    const steps: RelocationStep[] = [];
    const { stoppedMs } = await move(tenant, {
      trustMs: 1_000,
      onStep: (step) => {
        steps.push(step);
        if (step === 'switching') void attemptsOf(east).then((count) => (attemptsAtSwitch = count));
      },
    });
    expect(steps).toEqual(['copying', 'stopping', 'copying the rest', 'switching', 'cleaning up']);
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
    expect(await rowsIn(east, organization_id)).toEqual({
      events: 0,
      deliveries: 0,
      webhooks: 0,
      backlog: 0,
    });
    expect((await there.data('GET', `/v1/webhooks/${webhook.id}`)).status).toBe('active');
    expect(stoppedMs).toBeGreaterThan(0);
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
    await expect(move(tenant)).rejects.toThrow('already has an organization');
    expect(await readRelocation(east.database, tenant.organization)).toBeUndefined();
  });

  it.each([
    'the move goes on',
    'the move is interrupted and aborted',
    'the move is interrupted and repeated',
  ])(
    'keeps an event that the new cell recorded by mistake just before the move began, if %s',
    async (then) => {
      const tenant = await tenantOf();
      await tenant.record();
      const { organization } = tenant;
      let refused: Promise<unknown> | undefined;
      await west.database.transaction(async (client) => {
        const mistaken = JSON.stringify([event({ organization_id: organization })]);
        await client.query({ text: 'select posthorn.record_events($1)', values: [mistaken] });
        const life = { changesLeft: then === 'the move goes on' ? 10 : 2 };
        refused = move(tenant, { to: mortal(west.database, life), from: mortal(east.database, life) });
        refused.catch(() => undefined);
        await eventually(
          () => readRelocation(west.database, organization),
          (relocation) => relocation?.state === 'arriving',
        );
      });
      if (then === 'the move is interrupted and aborted') {
        await expect(refused).rejects.toThrow('killed');
        await abortMove(east.database, west.database, organization);
      } else if (then === 'the move is interrupted and repeated') {
        await expect(refused).rejects.toThrow('killed');
        await expect(move(tenant)).rejects.toThrow('already has an organization');
      } else await expect(refused).rejects.toThrow('already has an organization');
      expect([await rowsIn(east, organization), await rowsIn(west, organization)]).toMatchObject([
        { events: 1 },
        { events: 1 },
      ]);
      for (const cell of [east, west])
        expect(await readRelocation(cell.database, organization)).toBeUndefined();
    },
  );
});

it('a move is refused if the nodes of the other cell could not decrypt the webhook secrets', async () => {
  const tenant = await tenantOf();
  await tenant.webhook(await startReceiver());
  const foreign = new SecretBox([randomBytes(32)]);
  const reencrypt: Reencrypt = ({ id, ...rest }) => ({ ...rest, secret: foreign.seal('a secret', id) });
  await expect(move(tenant, { reencrypt })).rejects.toThrow('Set POSTHORN_TARGET_SECRET_KEY');
  expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([true, false]);
  expect(await readRelocation(east.database, tenant.organization)).toBeUndefined();
});

describe('if the new cell gets another secret key during a move', () => {
  const [own, fresh] = [Buffer.from(key.POSTHORN_SECRET_KEY, 'base64'), randomBytes(32)];
  const [ownBox, freshBox] = [new SecretBox([own]), new SecretBox([fresh])];
  /** What the command does if POSTHORN_TARGET_SECRET_KEY is the new key. */
  const reencrypt: Reencrypt = ({ id, secret, previous_secret, headers }) => ({
    secret: freshBox.seal(ownBox.open(secret, id), id),
    previous_secret: previous_secret && freshBox.seal(ownBox.open(previous_secret, id), id),
    headers: headers && reencryptHeaders(headers, id, ownBox, freshBox),
  });
  const tenantWithSecrets = async () => {
    const tenant = await tenantOf();
    const receiver = await startReceiver();
    const headers = { Authorization: 'Bearer 1' };
    await tenant.webhook(receiver, { secret: 'a secret of 27 characters', headers });
    await tenant.webhook(receiver, { secret: 'another of 24 characters' });
    return tenant;
  };
  const replaceKey = (to: Database) => writeCell(to, { name: 'north', keys: freshBox.prefixes });
  const openedIn = async (to: Database, { organization }: Tenant) => {
    const webhooks = await readSecretsOf(to, 'webhooks', organization);
    const secrets = webhooks.map(({ id, secret, headers }) => [
      freshBox.open(secret, id),
      openHeaders(headers, id, freshBox),
    ]);
    return new Map(secrets as [string, object][]);
  };
  const opened = new Map([
    ['a secret of 27 characters', { Authorization: 'Bearer 1' }],
    ['another of 24 characters', {}],
  ]);

  it('a node there encrypts the secrets of an interrupted move again, so that the old key can be removed', async () => {
    const tenant = await tenantWithSecrets();
    const { database: north, url } = await freshServiceDatabase();
    await writeCell(north, { name: 'north', keys: ownBox.prefixes });
    await expect(moveUntil(tenant, 'switching', north)).rejects.toThrow('killed');
    expect(await countSecretsWithout(north, freshBox.prefixes)).toBe(2);
    const POSTHORN_SECRET_KEY = [fresh, own].map((one) => one.toString('base64')).join();
    await startTestService({ DATABASE_URL: url, POSTHORN_CELL: 'north', POSTHORN_SECRET_KEY });
    expect(await countSecretsWithout(north, freshBox.prefixes)).toBe(0);
    await replaceKey(north);
    await move(tenant, { to: north });
    expect(await openedIn(north, tenant)).toEqual(opened);
  });

  it('a node there misses no secret if the move is completed in the meantime', async () => {
    const tenant = await tenantWithSecrets();
    const both = new SecretBox([fresh, own]);
    const north = await cellWithoutNodes('north', both.prefixes);
    await expect(moveUntil(tenant, 'switching', north)).rejects.toThrow('killed');
    let completed: Promise<unknown> | undefined;
    const query = async (statement: Statement) => {
      if (/update posthorn\.arrivals/.test(statement.text)) completed ??= move(tenant, { to: north });
      await completed;
      return north.query(statement);
    };
    await rotateSecrets({ query } as unknown as Database, both, pino({ level: 'silent' }));
    expect(completed).toBeDefined();
    expect(await openedIn(north, tenant)).toEqual(opened);
  });

  it('a node without the old key says so, and an interrupted move is completed only with the new key', async () => {
    const tenant = await tenantWithSecrets();
    const north = await cellWithoutNodes('north', ownBox.prefixes);
    await expect(moveUntil(tenant, 'switching', north)).rejects.toThrow('killed');
    await replaceKey(north);
    const lines: object[] = [];
    const logger = pino({}, { write: (line) => lines.push(JSON.parse(line)) });
    await rotateSecrets(north, new SecretBox([fresh, randomBytes(32)]), logger);
    expect(lines).toMatchObject([{ level: 50, webhooks: 2, msg: expect.stringContaining('moving here') }]);

    await expect(move(tenant, { to: north })).rejects.toThrow(
      /Set POSTHORN_TARGET_SECRET_KEY .* Until then, no cell serves the organization\.$/,
    );
    expect(await readRelocation(east.database, tenant.organization)).toMatchObject({ state: 'left' });
    await move(tenant, { to: north, reencrypt });
    expect(await openedIn(north, tenant)).toEqual(opened);
    expect(await rowsIn(east, tenant.organization)).toMatchObject({ webhooks: 0 });
  });

  it.each(['continued with the new key', 'aborted'])(
    'the organization works on in the old cell, and the move can be %s',
    async (then) => {
      const tenant = await tenantWithSecrets();
      const north = await cellWithoutNodes('north', ownBox.prefixes);
      const staging = /insert into posthorn\.arrivals/;
      const to = afterStatement(north, staging, () => replaceKey(north));
      await expect(move(tenant, { to })).rejects.toThrow('Set POSTHORN_TARGET_SECRET_KEY');
      expect(await actsFor(east, tenant)).toBe(true);
      if (then === 'aborted') await abortMove(east.database, north, tenant.organization);
      else await move(tenant, { to: north, reencrypt });
      expect(await countSecretsWithout(north, freshBox.prefixes)).toBe(0);
      expect(await actsFor(east, tenant)).toBe(then === 'aborted');
      if (then !== 'aborted') expect(await openedIn(north, tenant)).toEqual(opened);
    },
  );
});

it('a move is refused while more retries are waiting than can be moved in seconds, and the organization works on', async () => {
  const tenant = await tenantOf();
  const { webhook } = await tenant.connect(500);
  await Promise.all([tenant.record(), tenant.record(), tenant.record()]);
  await eventually(
    () => tenant.deliveries(webhook),
    (deliveries) => deliveries.filter(({ attempts }) => attempts === 3).length === 3,
  );
  await expect(move(tenant, { retriesMax: 2 })).rejects.toThrow(
    `More than 2 deliveries of ${tenant.organization} are waiting for a retry. ${webhook.id} has the most.`,
  );
  expect(await readRelocation(east.database, tenant.organization)).toBeUndefined();
  await move(tenant, { retriesMax: 3 });
});

describe('a move that is interrupted', () => {
  it('leaves the organization in exactly one cell, whichever change was the last and wherever it is aborted from, and can be completed', async () => {
    const fates = new Set<string>();
    const south = await cellWithoutNodes('south');
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
      if (isDone) break;
      const { state } = (await readRelocation(east.database, tenant.organization)) ?? {};
      for (const [from, to] of [
        [south, west.database],
        [south, east.database],
        [east.database, south],
        [west.database, south],
        [west.database, east.database],
        ...(state === 'left' || state === 'moved' ? [[east.database, west.database] as const] : []),
      ] as const)
        await expect(abortMove(from, to, tenant.organization)).rejects.toThrow(RelocationRefused);
      await move(tenant);
      expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([false, true]);
      expect(await inWest(tenant).events()).toHaveLength(1);
    }
    // Interrupted before the switch, during the switch, and after it.
    expect([...fates].sort()).toEqual(['false,false', 'false,true', 'true,false']);
  });

  it('can be aborted before the switch, and the organization works on', async () => {
    const tenant = await tenantOf();
    const receiver = await startReceiver();
    await tenant.webhook(receiver);
    const stopped = move(tenant, {
      onStep: (step) => {
        if (step === 'copying the rest') throw new Error('a test');
      },
    });
    await expect(stopped).rejects.toThrow('a test');
    await abortMove(east.database, west.database, tenant.organization);
    expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([true, false]);
    expect(await readRelocation(east.database, tenant.organization)).toBeUndefined();
    await tenant.record();
    await receiver.deliveries.nth(1);
    await move(tenant);
    await expect(abortMove(east.database, west.database, tenant.organization)).rejects.toThrow(
      'already left',
    );
    expect(await inWest(tenant).events()).toHaveLength(1);
  });

  it('loses nothing if the abort is interrupted as well, and the organization is then moved', async () => {
    for (let changes = 0; ; changes += 1) {
      const tenant = await tenantOf();
      const receiver = await startReceiver();
      const webhook = await tenant.webhook(receiver);
      await tenant.record();
      await tenant.settled(webhook, 1, ({ status }) => status === 'success');
      await expect(moveUntil(tenant, 'copying the rest')).rejects.toThrow('killed');
      const life = { changesLeft: changes };
      const isDone = await abortMove(
        mortal(east.database, life),
        mortal(west.database, life),
        tenant.organization,
      ).then(
        () => true,
        () => false,
      );
      await move(tenant);
      expect(await rowsIn(west, tenant.organization)).toMatchObject({
        events: 1,
        deliveries: 1,
        webhooks: 1,
      });
      if (isDone) break;
    }
  });

  it('deletes nothing if the new cell has lost the copy, and can then be aborted', async () => {
    const tenant = await tenantOf();
    const receiver = await startReceiver();
    await tenant.webhook(receiver);
    await tenant.record();
    await receiver.deliveries.nth(1);
    await expect(moveUntil(tenant, 'switching')).rejects.toThrow('killed');
    // As if the database had been restored from a backup.
    for (const table of ['relocations', 'arrivals', 'events', 'deliveries', 'audit_chains', 'resources'])
      await west.database.query({
        text: `delete from posthorn.${table} where organization_id = $1`,
        values: [tenant.organization],
      });
    await expect(move(tenant)).rejects.toThrow('The cell west has not taken over');
    expect(await rowsIn(east, tenant.organization)).toMatchObject({ events: 1, deliveries: 1, webhooks: 1 });
    await abortMove(east.database, west.database, tenant.organization);
    await tenant.record();
    await receiver.deliveries.nth(2);
  });

  it('can lead back to the old cell', async () => {
    const tenant = await tenantOf();
    await tenant.record();
    await move(tenant);
    await inWest(tenant).record();
    await move(tenant, { from: west.database, to: east.database });
    expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([true, false]);
    expect(await tenant.events()).toHaveLength(2);
    const chain = await verifyChain(east.database, tenant.organization, () => undefined);
    expect([chain.fault, chain.entries]).toEqual([undefined, 3]);
  });
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
    const { stoppedMs } = await move(tenant);
    expect(stoppedMs).toBeLessThan(5_000);
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

describe('an event that the service records when the last attempt has ended and the organization is about to stop', () => {
  /** Moves an organization with such an event, whose receiver responds so after a while. */
  async function moveWithLateEvent(httpStatus: number) {
    const tenant = await tenantOf();
    const held = new Held();
    const { receiver, webhook } = await tenant.connect(200);
    // The node that claims it has just read the webhook, so it makes the attempt.
    setLimits({ trustMs: 3_600_000, refreshMs: 3_600_000 });
    await tenant.record();
    await tenant.settled(webhook, 1, ({ status }) => status === 'success');
    receiver.onDelivery = held.reply;
    const about = { id: 'WHK-other', organization_id: tenant.organization, workspace_id: null };
    const recording = {
      query: async (statement: Statement) => {
        const [, , before, after] = statement.values ?? [];
        const change = `${before} to ${after}`;
        if (change === 'stopping to stopped' && receiver.deliveries.count === 1) {
          await recordBatch(east.database, batchOf([webhookDisabled(about, 'failing')]), noRoom);
          await receiver.deliveries.nth(2);
        }
        const result = await east.database.query(statement);
        if (change === 'stopped to stopping') held.release(httpStatus);
        return result;
      },
      transaction: east.database.transaction.bind(east.database),
    } as unknown as Database;
    await move(tenant, { from: recording });
    return { there: inWest(tenant), receiver, webhook };
  }

  it('moves with its deliveries', async () => {
    const { there, receiver, webhook } = await moveWithLateEvent(200);
    await there.settled(webhook, 2, ({ status }) => status === 'success');
    expect(receiver.deliveries.count).toBe(2);
  });

  it('moves with its consequences: if its receiver responds with 410, the webhook is disabled', async () => {
    const { there, webhook } = await moveWithLateEvent(410);
    const { status, disabled_reason } = await there.data('GET', `/v1/webhooks/${webhook.id}`);
    expect([status, disabled_reason]).toEqual(['disabled', 'gone']);
    const disabled = await there.events({ type: 'webhook.disabled' });
    expect(disabled.map(({ subject }) => subject.id)).toEqual([webhook.id, 'WHK-other']);
  });
});

it('a webhook whose verification is in flight during the switch is verified again by the new cell, at once', async () => {
  const tenant = await tenantOf();
  const held = new Held();
  const receiver = await startReceiver({ onVerification: 500 });
  const webhook = (await tenant.create({ url: receiver.url })).body.data;
  receiver.onVerification = held.reply;
  // The last automatic verification.
  await east.database.query({
    text: 'update posthorn.webhooks set verify_at = now(), verifications = 4 where id = $1',
    values: [webhook.id],
  });
  await receiver.verifications.nth(2);
  await move(tenant, {
    onStep: (step) => {
      if (step !== 'switching') return;
      receiver.onVerification = 200;
      held.release(200);
    },
  });
  await eventually(
    () => inWest(tenant).data('GET', `/v1/webhooks/${webhook.id}`),
    ({ status }) => status === 'active',
  );
});

it('an unverified webhook is verified again by the old cell when a move fails and when it is aborted', async () => {
  const tenant = await tenantOf();
  const receiver = await startReceiver({ onVerification: 500 });
  await tenant.create({ url: receiver.url });
  // All automatic verifications are used up.
  await east.database.query({
    text: 'update posthorn.webhooks set verify_at = null, verifications = 5 where organization_id = $1',
    values: [tenant.organization],
  });
  await expect(moveUntil(tenant, 'copying the rest')).rejects.toThrow('killed');
  await receiver.verifications.nth(2);
  await abortMove(east.database, west.database, tenant.organization);
  await receiver.verifications.nth(3);
});

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
  const tally = new DeliveryTally({
    ...{ database: east.database, logger: pino({ level: 'silent' }), now: () => nowMs },
    ...{ everyMs: 5, webhooksMax: 100 },
  });
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
  await move(tenant, { from: west.database, to: east.database });
  nowMs += 60_000;
  await deliver(2, 3);
  await tally.stop();
  expect(await countsIn(east, tenant)).toEqual({ 1: counts(3), 60: counts(3) });
});

it('a move waits for a node of the new cell that is counting the events that were copied', async () => {
  const tenant = await tenantOf();
  const count = {
    text: `
  insert into posthorn.event_counts (organization_id, scope, step, at, type, events)
  values ($1, '', 1, date_trunc('minute', clock_timestamp() - interval '1 hour'), 'invoice.paid', 1)`,
    values: [tenant.organization],
  };
  await east.database.query(count);
  let counted: Promise<void> | undefined;
  const startCounting = () =>
    new Promise<void>((resolve) => {
      counted = west.database.transaction(async (node) => {
        await allowPauses(node);
        await node.query({ text: 'select from posthorn.event_count_progress for update' });
        await node.query(count);
        resolve();
        await eventually(
          () => locksAwaited(west),
          (locks) => locks > 0,
        );
      });
    });
  const activation = /delete from posthorn\.relocations/;
  await move(tenant, { to: afterStatement(west.database, activation, startCounting) });
  await counted;
  expect([await actsFor(east, tenant), await actsFor(west, tenant)]).toEqual([false, true]);
});

async function locksAwaited({ database }: TestService): Promise<number> {
  const { rows } = await database.query<{ count: number }>({
    text: `
  select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  });
  return rows[0]!.count;
}

/** A database that does `work` in a transaction after a statement with this text. */
function afterStatement(database: Database, text: RegExp, work: () => Promise<unknown>): Database {
  return {
    query: (statement: Statement) => database.query(statement),
    transaction: (change: (client: Transaction) => Promise<unknown>, hasNoTimeLimit?: boolean) =>
      database.transaction(async (client) => {
        const query = async (statement: Statement) => {
          const result = await client.query(statement);
          if (text.test(statement.text)) await work();
          return result as never;
        };
        return change({ query, stream: (copy) => client.stream(copy) });
      }, hasNoTimeLimit),
  } as unknown as Database;
}

/** Moves an organization with a process that is killed at the start of this step. */
function moveUntil(tenant: Tenant, last: RelocationStep, to = west.database) {
  return move(tenant, {
    to,
    onStep: (step) => {
      if (step === last) throw new Error('killed');
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
     and not exists (select from posthorn.relocations where organization_id = $1 and state <> 'copying') as acts`,
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
