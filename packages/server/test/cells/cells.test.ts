import { describe, expect, it } from 'vitest';
import { Platform, Posthorn, Producer } from '../../../client/src/index.js';
import { newTokenText } from '../../src/access/token.js';
import { readCell } from '../../src/cells/relocation-store.js';
import { noRoom } from '../../src/events/recording-store.js';
import { ConfigError } from '../../src/settings/config.js';
import { settleVerification } from '../../src/webhooks/probe-store.js';
import { readWebhook } from '../../src/webhooks/webhook-store.js';
import { event, type RequestOptions, sendRequest } from '../support/client.js';
import { command } from '../support/command.js';
import { freshServiceDatabase } from '../support/database.js';
import { Log } from '../support/log.js';
import { PostgresProxy } from '../support/postgres-proxy.js';
import { startReceiver } from '../support/receiver.js';
import { makeToken, platformToken, startTestService } from '../support/service.js';
import { newTenant } from '../support/tenant.js';

const [east, west] = await Promise.all([
  startTestService({ POSTHORN_CELL: 'east' }),
  startTestService({ POSTHORN_CELL: 'west' }),
]);
type Cell = typeof east;
const cells = { east: east.publicUrl, west: west.publicUrl };
const platformCells = { east: east.platformUrl, west: west.platformUrl };
const actor = { type: 'user', id: 'USR-ada' };

const platform = (cell: Cell, method: string, path: string, body?: unknown) =>
  sendRequest(`${cell.platformUrl}/platform${path}`, {
    method,
    token: platformToken,
    ...(body ? { body } : {}),
  });
const api = (cell: Cell, path: string, more: RequestOptions) =>
  sendRequest(`${cell.publicUrl}/v1${path}`, more);

let organizations = 0;
function newOrganization(): string {
  organizations += 1;
  return `ORG-cells-${organizations}`;
}

/** Puts an organization into a state of its move to the other cell. */
async function relocate(cell: Cell, organization: string, state: string): Promise<void> {
  await cell.database.query({
    text: `
  insert into posthorn.relocations (organization_id, state, cell) values ($1, $2, 'west')
  on conflict (organization_id) do update set state = excluded.state`,
    values: [organization, state],
  });
}

const wrongCell = (cell: string) => ({
  ...{ type: '/docs#problem-wrong_cell', title: expect.any(String), status: 421, code: 'wrong_cell', cell },
  ...{ detail: expect.stringContaining(cell), instance: expect.any(String), request_id: expect.any(String) },
});

describe("a cell's name", () => {
  it('is stored by its first node, and while that runs, a node with another name does not start', async () => {
    const DATABASE_URL = east.databaseUrl;
    const failure = await startTestService({ DATABASE_URL, POSTHORN_CELL: 'west' }).catch((error) => error);
    expect(failure).toBeInstanceOf(ConfigError);
    expect(failure.message).toMatch(
      /^POSTHORN_CELL: "west" is not the name of this cell\. Nodes of the cell "east" are using this database\. /,
    );
    expect((await readCell(east.database))?.name).toBe('east');
    const { stdout } = await command(['doctor', '--json'], { DATABASE_URL, POSTHORN_CELL: 'west' });
    expect(stdout).toContain(
      '"check":"cell","state":"problem","detail":"the database belongs to the cell east"',
    );
  });

  it('is in the tokens that operators create, even if POSTHORN_CELL is not set, but not if it has another name', async () => {
    const creation = ['token', 'create', '--organization', newOrganization()];
    const settings = { DATABASE_URL: east.databaseUrl };
    expect((await command(creation, settings)).stdout).toMatch(/^pht_east\./);
    expect(await command(creation, { ...settings, POSTHORN_CELL: 'west' })).toEqual({
      ...{ code: 1, stdout: '' },
      stderr: 'The database belongs to the cell east, not to west. Correct POSTHORN_CELL or DATABASE_URL.\n',
    });
  });

  it('is checked when the database becomes reachable, before a node with another name serves any request', async () => {
    const proxy = await PostgresProxy.open(east.databaseUrl);
    proxy.cut();
    const log = new Log();
    const late = await startTestService({ DATABASE_URL: proxy.url, POSTHORN_CELL: 'west' }, log);
    const organization_id = newOrganization();
    proxy.heal();
    const refusal = await late.refused;
    expect(refusal).toBeInstanceOf(ConfigError);
    expect(refusal.message).toMatch(/^POSTHORN_CELL: "west" is not the name of this cell\. /);
    for (const refused of [
      await platform(late, 'POST', '/tokens', { organization_id }),
      await platform(late, 'POST', '/events', event({ organization_id })),
      await api(late, '/event-types', { token: await makeToken(east.database) }),
    ]) {
      expect([refused.status, refused.body.code], refused.text).toEqual([503, 'unavailable']);
      expect(refused.headers.get('retry-after')).toBe('2');
    }
    for (const path of ['/healthz', '/docs', '/openapi.json', '/metrics'])
      expect((await sendRequest(late.platformUrl + path, { token: platformToken })).status, path).toBe(200);
    expect(log.lines.filter(({ level }) => level === 50).at(-1)).toMatchObject({
      msg: 'this node cannot use the database, so it is stopping',
      reason: refusal.message,
    });
  });

  it('can be changed if all its nodes are stopped', async () => {
    const { url: DATABASE_URL } = await freshServiceDatabase();
    const named = await startTestService({ DATABASE_URL, POSTHORN_CELL: 'north' });
    const organization_id = newOrganization();
    const made = await platform(named, 'POST', '/tokens', { organization_id });
    await named.stop();
    const renamed = await startTestService({ DATABASE_URL, POSTHORN_CELL: 'south' });
    expect((await readCell(renamed.database))?.name).toBe('south');
    expect((await api(renamed, '/token', { token: made.body.data.token })).status).toBe(200);
  });
});

describe("a cell's tokens", () => {
  it('name the cell, so that a proxy can route by them', async () => {
    const organization_id = newOrganization();
    const token = await platform(east, 'POST', '/tokens', { organization_id });
    expect(token.body.data.token).toMatch(/^pht_east\.[\w-]{43}$/);
    const session = await platform(east, 'POST', '/portal-sessions', { organization_id });
    expect(session.body.data.token).toMatch(/^pht_east\.[\w-]{43}$/);
    expect((await api(east, '/token', { token: session.body.data.token })).status).toBe(200);
  });

  it('stay valid if they were made before the cell had a name', async () => {
    const token = await makeToken(east.database);
    expect(token).toMatch(/^pht_[\w-]{43}$/);
    expect((await api(east, '/token', { token })).status).toBe(200);
  });

  it('are refused by another cell, which names the right one', async () => {
    const organization_id = newOrganization();
    const made = await platform(west, 'POST', '/tokens', { organization_id });
    const { status, body, headers } = await api(east, '/token', { token: made.body.data.token });
    expect(status).toBe(421);
    expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(headers.get('posthorn-cell')).toBe('west');
    expect(body).toEqual(wrongCell('west'));
  });

  it('are 401 if this cell should know them but does not', async () => {
    for (const token of [newTokenText(), newTokenText('east')])
      expect((await api(east, '/token', { token })).status).toBe(401);
  });
});

describe('an organization that has moved to another cell', () => {
  it('is refused by the public API, reads and writes alike', async () => {
    const organization_id = newOrganization();
    const made = await platform(east, 'POST', '/tokens', { organization_id });
    await relocate(east, organization_id, 'moved');
    const { token } = made.body.data;
    for (const request of [
      api(east, `/events?organization_id=${organization_id}`, { token }),
      api(east, '/webhooks', { token }),
      api(east, '/webhooks', { token, method: 'POST', body: { organization_id } }),
      api(east, '/events/tail', { token }),
    ]) {
      const { status, body } = await request;
      expect([status, body]).toEqual([421, wrongCell('west')]);
    }
  });

  it('is refused by the platform listener: events, tokens and resources', async () => {
    const organization_id = newOrganization();
    const token = await platform(east, 'POST', '/tokens', { organization_id });
    const invoice = await platform(east, 'POST', '/invoices', { organization_id, actor });
    await relocate(east, organization_id, 'moved');
    const own = `/invoices/${invoice.body.data.id}`;
    for (const request of [
      platform(east, 'POST', '/events', event({ organization_id })),
      platform(east, 'POST', '/tokens', { organization_id }),
      platform(east, 'GET', `/tokens?organization_id=${organization_id}`),
      platform(east, 'DELETE', `/tokens/${token.body.data.id}`),
      platform(east, 'POST', '/portal-sessions', { organization_id }),
      platform(east, 'POST', '/invoices', { organization_id, actor }),
      platform(east, 'GET', own),
      platform(east, 'POST', `${own}/finalize`, { actor }),
      platform(east, 'POST', `${own}/pay`, { actor }),
    ]) {
      const { status, body } = await request;
      expect([status, body]).toEqual([421, wrongCell('west')]);
    }
  });

  it('makes a batch with one of its events fail as a whole', async () => {
    const [gone, here] = [newOrganization(), newOrganization()];
    const { token } = (await platform(east, 'POST', '/tokens', { organization_id: here })).body.data;
    await relocate(east, gone, 'moved');
    const batch = [event({ organization_id: here }), event({ organization_id: gone })];
    const { status, body } = await platform(east, 'POST', '/events', batch);
    expect([status, body]).toEqual([421, wrongCell('west')]);
    const listed = await api(east, `/events?organization_id=${here}`, { token });
    expect(listed.body.data).toEqual([]);
  });

  it.each([
    ['moved', /is in the cell west\. Run the command with the DATABASE_URL of that cell\.\n$/],
    ['arriving', /is moving to the cell west\. Run the command again when the move has ended\.\n$/],
  ])('is refused on the command line in one line that names the cell (%s)', async (state, reason) => {
    const organization_id = newOrganization();
    const { id } = (await platform(east, 'POST', '/tokens', { organization_id })).body.data;
    await relocate(east, organization_id, state);
    const of = `--organization ${organization_id}`;
    for (const [line, whose] of [
      [`token create ${of}`, organization_id],
      [`token list ${of}`, organization_id],
      [`token revoke ${id}`, `The organization of ${id}`],
      [`events list ${of}`, organization_id],
      [`events get EVT-01JAB3C4D5E6F7G8H9J0K1M2N3 ${of}`, organization_id],
      [`events tail ${of}`, organization_id],
    ] as const) {
      const ended = await command(line.split(' '), { DATABASE_URL: east.databaseUrl });
      expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(reason) });
      expect(ended.stderr.startsWith(`${whose} is `)).toBe(true);
      expect(ended.stderr.match(/\n/g)).toHaveLength(1);
    }
  });

  it('is refused for SQL callers, with a code of its own', async () => {
    const organization_id = newOrganization();
    await relocate(east, organization_id, 'moved');
    const recorded = east.database.query({
      text: 'select posthorn.record_events($1)',
      values: [JSON.stringify([event({ organization_id })])],
    });
    await expect(recorded).rejects.toMatchObject({ code: 'PH421', detail: 'west', hint: organization_id });
  });
});

describe('an organization that is about to move', () => {
  it('accepts reads, and refuses writes for a moment', async () => {
    const organization_id = newOrganization();
    const { token } = (await platform(east, 'POST', '/tokens', { organization_id })).body.data;
    for (const state of ['stopping', 'stopped']) {
      await relocate(east, organization_id, state);
      expect((await api(east, `/events?organization_id=${organization_id}`, { token })).status).toBe(200);
      for (const request of [
        platform(east, 'POST', '/events', event({ organization_id })),
        platform(east, 'POST', '/tokens', { organization_id }),
        platform(east, 'POST', '/invoices', { organization_id, actor }),
      ]) {
        const { status, body, headers } = await request;
        expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'unavailable', '1']);
      }
    }
  });

  it('refuses reads and writes for a moment in the cell to which it is moving', async () => {
    const organization_id = newOrganization();
    const { token } = (await platform(east, 'POST', '/tokens', { organization_id })).body.data;
    await relocate(east, organization_id, 'arriving');
    for (const request of [
      api(east, `/events?organization_id=${organization_id}`, { token }),
      platform(east, 'POST', '/events', event({ organization_id })),
    ]) {
      const { status, headers } = await request;
      expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    }
  });

  it('accepts the success of a verification until it is stopped, and refuses it after that', async () => {
    const tenant = await newTenant(east);
    const receiver = await startReceiver({ onVerification: 500 });
    const { id } = (await tenant.create({ url: receiver.url })).body.data;
    const webhook = (await readWebhook(east.database, { organization_id: tenant.organization, id }))!;
    const settle = () =>
      east.database.transaction((client) =>
        settleVerification(client, webhook, undefined, new Date(), noRoom, { automatic: true }),
      );
    for (const state of ['stopped', 'moved']) {
      await relocate(east, tenant.organization, state);
      await expect(settle(), state).rejects.toMatchObject({ code: state === 'stopped' ? 'PH503' : 'PH421' });
    }
    await relocate(east, tenant.organization, 'stopping');
    expect((await settle())?.webhook.status).toBe('active');
  });

  it('works as usual after it has moved here', async () => {
    const organization_id = newOrganization();
    await relocate(east, organization_id, 'here');
    expect((await platform(east, 'POST', '/events', event({ organization_id }))).status).toBe(201);
    expect((await platform(east, 'POST', '/tokens', { organization_id })).status).toBe(201);
  });
});

describe('a client that knows the cells', () => {
  it('follows an organization to its cell, with a token made before the move', async () => {
    const organization_id = newOrganization();
    const { token } = (await platform(east, 'POST', '/tokens', { organization_id })).body.data;
    const { rows } = await east.database.query<{ hash: Buffer }>({
      text: 'select * from posthorn.tokens where organization_id = $1',
      values: [organization_id],
    });
    await copyToken(rows[0]);
    await platform(west, 'POST', '/events', event({ organization_id }));
    await relocate(east, organization_id, 'moved');
    const posthorn = new Posthorn({ url: east.publicUrl, token, cells });
    expect(await posthorn.events.list({ organization_id }).all()).toHaveLength(1);
    const stubborn = new Posthorn({ url: east.publicUrl, token });
    await expect(stubborn.token()).rejects.toMatchObject({ code: 'wrong_cell', cell: 'west' });
  });

  it('creates tokens and moves resources in the right cell', async () => {
    const organization_id = newOrganization();
    await relocate(east, organization_id, 'moved');
    const client = new Platform({ url: east.platformUrl, token: platformToken, cells: platformCells });
    expect((await client.tokens.create({ organization_id })).token).toMatch(/^pht_west\./);
  });

  it('records each event of a producer in the cell of its organization', async () => {
    const [gone, here] = [newOrganization(), newOrganization()];
    await relocate(east, gone, 'moved');
    const producer = new Producer({ url: east.platformUrl, token: platformToken, cells: platformCells });
    const sent = [gone, here, gone, here].map((organization_id) =>
      producer.send(event({ organization_id }) as never),
    );
    await Promise.all(sent);
    await producer.send(event({ organization_id: gone }) as never);
    await producer.close();
    expect([await eventsIn(east, gone), await eventsIn(west, gone)]).toEqual([0, 3]);
    expect([await eventsIn(east, here), await eventsIn(west, here)]).toEqual([2, 0]);
  });
});

async function copyToken(row: unknown): Promise<void> {
  const fields = row as Record<string, unknown>;
  const names = Object.keys(fields);
  await west.database.query({
    text: `insert into posthorn.tokens (${names}) values (${names.map((_, index) => `$${index + 1}`)})`,
    values: Object.values(fields),
  });
}

async function eventsIn(cell: Cell, organization: string): Promise<number> {
  const { rows } = await cell.database.query<{ count: number }>({
    text: 'select count(*) from posthorn.events where organization_id = $1',
    values: [organization],
  });
  return rows[0]!.count;
}
