import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { verify } from '@posthorn/receiver';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { durationText } from '../../server/src/values/time.js';
import { reverifyAfterMs } from '../../server/src/webhooks/webhook.js';
import { afterFile } from '../../server/test/support/cleanup.js';
import { event, record } from '../../server/test/support/client.js';
import { posthorn, posthornOnFullDisk, program } from '../../server/test/support/process.js';
import { hideDelivery } from '../../server/test/support/rare-delivery.js';
import { startReceiver } from '../../server/test/support/receiver.js';
import { recordText } from '../../server/test/support/recording.js';
import { sharedService } from '../../server/test/support/service.js';
import { eventually, newTenant, type Tenant } from '../../server/test/support/tenant.js';
import { main } from '../src/main.js';
import { linesOf, Pipe, printing, run } from './support/cli.js';

const service = await sharedService();

let tenant: Tenant;
let env: Record<string, string>;
let printed: ReturnType<typeof printing>;
beforeAll(async () => {
  tenant = await newTenant(service);
  env = { POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: tenant.token };
  printed = printing(env);
});
const json = async (...args: string[]) => JSON.parse(await printed(...args, '--json'));

/**
 * Starts a proxy that calls `lose` instead of passing on the responses to some requests, by default to the first POST.
 * Returns its URL.
 */
async function proxyLosing(
  lose: (response: ServerResponse) => void,
  isLost: (request: IncomingMessage, lost: number) => boolean = ({ method }, lost) =>
    method === 'POST' && lost === 0,
): Promise<string> {
  let lost = 0;
  const proxy = createServer((inside, response) => {
    const { method, headers, url = '/' } = inside;
    const outside = request(new URL(url, service.publicUrl), { method, headers }, (received) => {
      if (isLost(inside, lost)) {
        lost += 1;
        received.resume().on('end', () => lose(response));
        return;
      }
      response.writeHead(received.statusCode ?? 500, received.headers);
      received.pipe(response);
    });
    inside.pipe(outside);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  afterFile(() => void proxy.close());
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

describe('webhooks', () => {
  test('create, get, update, disable, activate, rotate, test, verify and delete, each by a short ending', async () => {
    const receiver = await startReceiver();
    const created = await json(
      'webhooks',
      'create',
      receiver.url,
      '--events',
      'invoice.*',
      '--header',
      'X-Team: billing',
    );
    expect(created).toMatchObject({
      status: 'active',
      event_types: ['invoice.*'],
      headers: { 'X-Team': null },
    });
    const ending = created.id.slice(-8);
    expect(await json('webhooks', 'get', ending)).toMatchObject({ id: created.id, status: 'active' });
    expect(linesOf(await printed('webhooks', 'list'))[0]).toBe(
      [created.id, '-', 'active', receiver.url, '-', 'invoice.*', '-'].join('\t'),
    );
    const change = ['--events', '*', '--rate-limit', '5', '--description', 'all', '--no-headers'];
    expect(await json('webhooks', 'update', ending, ...change)).toMatchObject({
      ...{ event_types: ['*'], rate_limit: 5, description: 'all', headers: {} },
    });
    const filter = '{"subject_id":["none"]}';
    const template = ['--format', 'template', '--template', '{"event":"{{id}}"}'];
    expect(await json('webhooks', 'update', ending, '--filter', filter, ...template)).toMatchObject({
      ...{ filter: JSON.parse(filter), format: 'template', template: { event: '{{id}}' } },
    });
    const reset = ['--filter', 'none', '--format', 'envelope', '--template', 'none'];
    expect(await json('webhooks', 'update', ending, ...reset)).toMatchObject({
      filter: null,
      template: null,
    });
    expect(await json('webhooks', 'preview', '--filter', filter)).toMatchObject({ matched: 0, events: [] });
    expect(await printed('webhooks', 'preview', '--filter', filter)).toMatch(/^0 of all \d+ events from /);
    const unreadable = await run(['webhooks', 'preview', '--filter', 'missing.json'], env);
    expect(unreadable).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Expected JSON, or a file'),
    });
    expect(await json('webhooks', 'disable', ending)).toMatchObject({ status: 'disabled' });
    expect(await json('webhooks', 'activate', ending)).toMatchObject({ status: 'active' });
    expect(await json('webhooks', 'verify', ending)).toMatchObject({ status: 'active' });
    expect(await json('webhooks', 'rotate', ending, '--grace', '1h')).toMatchObject({
      secret: expect.stringMatching(/^whsec_/),
    });
    expect(await printed('webhooks', 'get', ending)).toMatch(/^Old secret\tvalid until /m);
    const again = await printed('webhooks', 'rotate', ending);
    expect(again).toMatch(/^Older secret\tno longer valid\nOld secret\tvalid until /m);
    expect(await json('webhooks', 'test', ending, '--type', 'task.created')).toMatchObject({
      http_status: 200,
    });
    const refused = await run(['webhooks', 'delete', ending], env);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes to confirm.') });
    expect(await printed('webhooks', 'delete', ending, '--yes')).toBe(`Deleted ${created.id}.\n`);
    expect((await run(['webhooks', 'get', created.id], env)).stderr).toContain('Run posthorn webhooks list');
  });

  test('a test that the receiver does not accept fails with what happened and the next command', async () => {
    const { receiver, webhook } = await tenant.connect();
    receiver.onDelivery = { status: 418, body: 'short and stout' };
    const { code, stdout, stderr } = await run(['webhooks', 'test', webhook.id], env);
    expect(code).toBe(1);
    expect(stdout).toContain('short and stout');
    expect(stderr).toContain(`Then run posthorn webhooks test ${webhook.id} again.`);
  });

  test('create succeeds if the URL cannot be verified; verify and activate fail', async () => {
    const receiver = await startReceiver({ onVerification: 500 });
    const { id, status } = await json('webhooks', 'create', receiver.url);
    expect(status).toBe('unverified');
    const verified = await run(['webhooks', 'verify', id], env);
    expect(verified).toMatchObject({ code: 1, stdout: expect.stringContaining('Verification failed: ') });
    expect(verified.stderr).toMatch(
      /^The webhook is unverified\. .* run posthorn webhooks verify WHK-\w+\.\n$/,
    );
    await printed('webhooks', 'disable', id);
    expect((await run(['webhooks', 'activate', id], env)).code).toBe(1);
    receiver.onVerification = 200;
    expect((await run(['webhooks', 'verify', id], env)).code).toBe(0);
  });

  test('create and verify say when the service verifies an unverified webhook again, and how to do it now', async () => {
    const receiver = await startReceiver({ onVerification: 500 });
    const created = await printed('webhooks', 'create', receiver.url);
    const [id = ''] = /WHK-\w+/.exec(created) ?? [];
    const [first, ...later] = reverifyAfterMs.map(durationText);
    const waits = `in ${first}, then after ${later.slice(0, -1).join(', ')} and ${later.at(-1)}`;
    const text = `The service verifies it again ${waits}. To verify it now, run posthorn webhooks verify ${id}.\n`;
    expect(created.endsWith(text), created).toBe(true);
    expect((await run(['webhooks', 'verify', id], env)).stderr).toBe(`The webhook is unverified. ${text}`);
  });

  test('create, verify and activate of an unverified webhook name the command that verifies it only once', async () => {
    const receiver = await startReceiver({ onVerification: 500 });
    const shown = async (...args: string[]) => {
      const { stdout, stderr } = await run(['webhooks', ...args], { ...env, NO_COLOR: '1' }, '', true);
      return stdout + stderr;
    };
    const created = await shown('create', receiver.url);
    const [id = ''] = /WHK-\w+/.exec(created) ?? [];
    const command = `posthorn webhooks verify ${id}`;
    for (const text of [created, await shown('verify', id), await shown('get', id)])
      expect(text.split(command), text).toHaveLength(2);
    await printed('webhooks', 'disable', id);
    expect((await shown('activate', id)).split(command)).toHaveLength(2);
  });

  test('a description that only one webhook has can be used instead of its ID', async () => {
    const own = await newTenant(service);
    const ownEnv = { POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: own.token };
    const receiver = await startReceiver();
    const names = ['orders-eu', 'billing', 'billing'];
    const made = [];
    for (const description of names) made.push(await own.webhook(receiver, { description }));
    const [orders, ...others] = made;
    expect(await printing(ownEnv)('webhooks', 'get', 'orders-eu')).toContain(`Webhook\t${orders.id}\n`);
    const { code, stderr } = await run(['webhooks', 'get', 'billing'], ownEnv);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^2 webhooks have the description 'billing': .*\. Use the ID of one of them\.\n$/);
    for (const { id } of others) expect(stderr).toContain(`${id} (${receiver.url})`);
    expect((await run(['webhooks', 'get', 'no-such-name'], ownEnv)).stderr).toMatch(
      /^No webhook has the description 'no-such-name' or an ID that ends with/,
    );
    await own.record();
    for (const webhook of made) await own.settled(webhook);
    const terminal = { ...ownEnv, NO_COLOR: '1' };
    const { stdout } = await run(['deliveries', 'list'], terminal, '', true, 110);
    for (const name of ['orders-eu', ...others.map(({ id }) => `…${id.slice(-6)}`)])
      expect(stdout).toContain(`  ${name} `);
    expect(await printing(ownEnv)('deliveries', 'list', '--webhook', 'orders-eu')).toContain(orders.id);
  });

  test('list and get say that an active webhook fails or waits, and get says why', async () => {
    const own = await newTenant(service);
    const ownEnv = { POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: own.token };
    const shown = async (columns: number, ...args: string[]) =>
      (await run(['webhooks', ...args], { ...ownEnv, NO_COLOR: '1' }, '', true, columns)).stdout;
    const failing = await own.connect({ status: 500, body: 'database is locked' });
    const busy = await own.connect({ status: 429, headers: { 'Retry-After': '3600' } });
    const fine = await own.connect();
    await own.data('PATCH', `/v1/webhooks/${failing.webhook.id}`, { description: 'orders-eu' });
    await own.data('PATCH', `/v1/webhooks/${fine.webhook.id}`, {
      url: `${fine.receiver.url}/${'x'.repeat(240)}`,
    });
    await own.record();
    for (const { webhook } of [failing, busy, fine]) await own.settled(webhook);

    // A long URL takes no room from the names. If the width of the terminal is unknown, it does not widen the table.
    for (const [columns, most] of [
      [80, 80],
      [110, 110],
      [0, 220],
    ] as const) {
      const lines = linesOf(await shown(columns, 'list'));
      expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(most);
      const rowOf = ({ id }: { id: string }) => lines.find((line) => line.startsWith(id));
      expect(rowOf(failing.webhook)).toMatch(/^\S+ {2}orders-eu +active \(last failed\)/);
      expect(rowOf(busy.webhook)).toContain('active (last failed)');
      expect(rowOf(fine.webhook)).not.toContain('failed');
    }

    const failed = await shown(200, 'get', 'orders-eu');
    expect(failed).toMatch(/^Status +active, but its latest attempt failed$/m);
    expect(failed).toMatch(/^Latest failure: .*500.*database is locked/m);
    const [delivery] = await own.deliveries(failing.webhook);
    expect(failed).toContain(`run posthorn deliveries get ${delivery.id}.\n`);
    // Retries are not pending: that word means that there was no attempt yet.
    expect(failed).toMatch(/^Last 48 hours +0 delivered, 0 given up, 1 waiting$/m);
    const waiting = await shown(200, 'get', busy.webhook.id);
    expect(waiting).toMatch(
      /^Status +active, waiting until \d{4}-.* UTC because its receiver asked for it$/m,
    );
    expect(waiting).toMatch(/^Latest failure: .*429/m);
    const healthy = await shown(200, 'get', fine.webhook.id);
    expect(healthy).toMatch(/^Status +active$/m);
    expect(healthy).not.toContain('failure');
    for (const { webhook } of [failing, busy])
      expect(JSON.parse(await printing(ownEnv)('webhooks', 'get', webhook.id, '--json'))).toEqual(
        await own.data('GET', `/v1/webhooks/${webhook.id}`),
      );
  });

  test.each([
    ['create', []],
    ['create', ['--json']],
    ['rotate', []],
    ['rotate', ['--json']],
  ])('%s %j prints the generated secret even if the first response is lost', async (what, flags) => {
    const own = await newTenant(service);
    const receiver = await startReceiver();
    const argument = what === 'create' ? receiver.url : (await own.webhook(receiver)).id;
    const url = await proxyLosing((response) => response.destroy());
    const printed = printing({ POSTHORN_URL: url, POSTHORN_TOKEN: own.token });
    const [secret = ''] = /whsec_[\w+/=]+/.exec(await printed('webhooks', what, argument, ...flags)) ?? [];
    await own.record();
    const { body, headers } = await receiver.deliveries.nth(1);
    expect(verify(body, headers, secret)).toMatchObject({ ok: true });
  });

  test.each([
    ['create', 503, 'unavailable', 'posthorn webhooks list'],
    ['rotate', 503, 'unavailable', 'posthorn webhooks get'],
    // The first response was lost, and the service was still verifying the receiver at the last repetition.
    ['create', 409, 'idempotency_in_progress', 'posthorn webhooks list'],
  ])('%s that fails with an unknown outcome (%i) prints the secret, and how to check', async (...given) => {
    const [what, status, problem, next] = given;
    const own = await newTenant(service);
    const receiver = await startReceiver();
    const argument = what === 'create' ? receiver.url : (await own.webhook(receiver)).id;
    const url = await proxyLosing((response) => {
      const detail = { code: problem, detail: 'No result.' };
      response.writeHead(status, { 'Retry-After': '60' }).end(JSON.stringify(detail));
    });
    const ownEnv = { POSTHORN_URL: url, POSTHORN_TOKEN: own.token };
    const { code, stderr } = await run(['webhooks', what, argument], ownEnv);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(next) });
    if (status === 409) expect(stderr).not.toContain('Wait');
    const [secret = ''] = /whsec_[\w+/=]+/.exec(stderr) ?? [];
    await own.record();
    const { body, headers } = await receiver.deliveries.nth(1);
    expect(verify(body, headers, secret)).toMatchObject({ ok: true });
  });

  test.each([['create'], ['rotate']])(
    '%s writes the generated secret to standard error if the output cannot be written',
    async (what) => {
      const own = await newTenant(service);
      const receiver = await startReceiver();
      const argument = what === 'create' ? receiver.url : (await own.webhook(receiver)).id;
      const ownEnv = { POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: own.token };
      const { code, stderr } = await posthornOnFullDisk(['webhooks', what, argument], ownEnv);
      const [, secret = ''] =
        /^Cannot write the output: ENOSPC.* The secret of WHK-\w+ is (whsec_\S+)\n$/.exec(stderr) ?? [];
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(secret) });
      await own.record();
      const { body, headers } = await receiver.deliveries.nth(1);
      expect(verify(body, headers, secret)).toMatchObject({ ok: true });
    },
  );

  test('POSTHORN_WEBHOOK_SECRET replaces --secret, except for the new secret of a rotation', async () => {
    const { webhook, receiver } = await tenant.connect();
    const own = { ...env, POSTHORN_WEBHOOK_SECRET: 'a-secret-of-the-receiver' };
    const saved = `content-type: application/json\r\n\r\n{}`;
    expect((await run(['verify'], own, saved)).stderr).toMatch(/^Not verified \(missing_signature\)/);
    expect(await run(['verify'], env, saved)).toMatchObject({
      code: 2,
      stderr: 'posthorn verify requires --secret. You can also set POSTHORN_WEBHOOK_SECRET.\n',
    });
    const { code } = await run(['trigger', 'invoice.paid', '--to', receiver.url], own);
    expect(code).toBe(0);
    const { body, headers } = await receiver.deliveries.nth(1);
    expect(verify(body, headers, own.POSTHORN_WEBHOOK_SECRET)).toMatchObject({ ok: true });
    const created = await run(['webhooks', 'create', receiver.url, '--json'], own);
    expect(JSON.parse(created.stdout)).not.toHaveProperty('secret');
    const rotated = await run(['webhooks', 'rotate', webhook.id, '--json'], own);
    expect(JSON.parse(rotated.stdout)).toHaveProperty('secret');
  });

  test('update asks for the values of the headers if the URL moves to another server, and says why', async () => {
    const [first, second] = [await startReceiver(), await startReceiver()];
    const webhook = await tenant.webhook(first, { headers: { Authorization: 'Bearer old' } });
    const args = ['webhooks', 'update', webhook.id, '--receiver-url', second.url];
    expect(await run(args, env)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--header: Authorization'),
    });
    const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
    const [stdout, stderr] = [new Pipe(), new Pipe()];
    Object.assign(stdout, { isTTY: true, columns: 80 });
    const ended = main(args, env, { stdin, stdout, stderr }, async () => undefined);
    await vi.waitFor(() => expect(stdout.text).toContain('Value of Authorization'), { timeout: 30_000 });
    stdin.write('Bearer new\r');
    expect(await ended, stderr.text).toBe(0);
    expect(stderr.text).toMatch(/^The new URL is on another server\. Stored header values are sent only to /);
    expect(stdout.text + stderr.text).not.toContain('Bearer new');
    const sent = await second.verifications.nth(1);
    expect(sent.headers.authorization).toBe('Bearer new');
  });

  test('a secret that was given is not printed', async () => {
    const { receiver, webhook } = await tenant.connect();
    const given = ['--secret', 'a-secret-of-the-receiver'];
    expect(await json('webhooks', 'create', receiver.url, ...given)).not.toHaveProperty('secret');
    expect(await printed('webhooks', 'rotate', webhook.id, ...given)).not.toMatch(/^Secret|a-secret/m);
  });

  test('if the service asks for a long wait, a command fails and says how long, instead of waiting silently', async () => {
    const busy = createServer((_request, response) => {
      response.writeHead(503, { 'Retry-After': '60' });
      response.end(JSON.stringify({ code: 'unavailable', detail: 'The database is not available.' }));
    });
    busy.listen(0, '127.0.0.1');
    await once(busy, 'listening');
    const { port } = busy.address() as AddressInfo;
    const of = { ...env, POSTHORN_URL: `http://127.0.0.1:${port}` };
    const ended = await run(['webhooks', 'verify', 'WHK-01M7HM5222A0DX2E41ECE8A480'], of);
    busy.close();
    expect(ended).toMatchObject({
      code: 1,
      stderr: 'The database is not available. Wait 60 s, then run the command again.\n',
    });
  });

  test('everything that is wrong with the input is listed by the name of its option, argument or header', async () => {
    const { code, stderr } = await run(
      [
        ...['webhooks', 'create', 'ftp://a', '--rate-limit', '0', '--events', 'invoce.paid'],
        ...['--header', 'X-Team: billing', '--header', 'Host: a.test'],
      ],
      env,
    );
    expect(code).toBe(2);
    expect(linesOf(stderr).map((line) => line.split(':')[0])).toEqual(
      expect.arrayContaining(['<receiver-url>', '--rate-limit', '--events']),
    );
    expect(stderr).toContain(
      '--header: Host is set by the service or the connection and cannot be changed.\n',
    );
    expect(linesOf(stderr).at(-1)).toBe('Run posthorn webhooks create --help to see the options.');
  });
});

test.each([
  ['webhooks get', 'WHK', 'webhooks list'],
  ['events get', 'EVT', 'events list'],
  ['trigger --to http://127.0.0.1:1', 'EVT', 'events list'],
])('%s of an ID that does not exist names the command that lists the IDs', async (command, prefix, list) => {
  const { code, stderr } = await run([...command.split(' '), `${prefix}-01M7HM5222A0DX2E41ECE8A480`], env);
  expect(code).toBe(1);
  expect(stderr).toContain(` Run posthorn ${list} to see what exists.\n`);
});

test.each([
  ['payload.amount_minor=many', 'payload.amount_minor must be integer'],
  ['payload.currency=5', 'payload.currency must be string'],
])('trigger --set refuses %s, which the schema refuses', async (change, fault) => {
  const { receiver } = await tenant.connect();
  const sent = await run(['trigger', 'invoice.paid', '--to', receiver.url, '--set', change], env);
  expect(sent).toEqual({
    ...{ code: 2, stdout: '' },
    stderr: `--set: the schema refuses it: ${fault}. Run posthorn types invoice.paid to see the schema.\n`,
  });
  expect(receiver.deliveries.all).toEqual([]);
});

describe('deliveries', () => {
  test('get says why a delivery failed, with the attempts, the request and the response', async () => {
    const { webhook } = await tenant.connect({ status: 500, body: 'database is locked' });
    const recorded = await tenant.record();
    const [delivery] = await tenant.settled(webhook);
    const text = await printed('deliveries', 'get', delivery.id.slice(-10));
    expect(text).toContain(`Event\tinvoice.paid ${recorded.id}`);
    expect(text).toMatch(/Status\tretrying, 1 attempt so far, next attempt at /);
    expect(text).toMatch(/Diagnosis\n.*500.*database is locked/);
    expect(text).toContain(`webhook-id: ${recorded.id}`);
    expect(text).toContain('HTTP status 500');
    expect((await json('deliveries', 'get', delivery.id)).attempt_log).toHaveLength(1);
    const listed = await printed(
      'deliveries',
      'list',
      '--webhook',
      webhook.id.slice(-9),
      '--status',
      'failed',
    );
    expect(listed.split('\t').slice(1, 4)).toEqual(['retrying', '500', 'invoice.paid']);
  });

  test('list and get use the same words for the status, and list filters by each of them', async () => {
    const { webhook } = await tenant.connect(500);
    await tenant.record();
    await tenant.settled(webhook);
    const list = ['deliveries', 'list', '--webhook', webhook.id];
    const idsWith = async (...status: string[]) =>
      linesOf(await printed(...list, ...status)).map((line) => line.split('\t').at(-1));
    const [id = ''] = await idsWith('--status', 'retrying');
    expect(await printed('deliveries', 'get', id)).toMatch(/^Status\tretrying, 1 attempt so far, next/m);
    expect(await idsWith('--status', 'given_up')).toEqual([]);
    await printed('webhooks', 'disable', webhook.id);
    expect(await idsWith('--status', 'given_up')).toEqual([id]);
    expect(await idsWith('--status', 'failed')).toEqual([id]);
    expect(await idsWith('--status', 'retrying')).toEqual([]);
    expect((await printed(...list)).split('\t')[1]).toBe('given_up');
    expect((await printed(...list)).split('\t')[2]).toBe('disabled');
    const report = await printed('deliveries', 'get', id);
    expect(report).toMatch(/^Status\tgiven_up, 1 attempt$/m);
    expect(report).toContain('The webhook was disabled, so there will be no further attempts.');
    expect((await run(['deliveries', 'redeliver', id], env)).stderr).toContain(
      'Run posthorn webhooks activate',
    );
  });

  test('a response that was cut after 1 KiB does not look complete', async () => {
    const cut = '… (only the first 1 KiB is shown)';
    const { receiver, webhook } = await tenant.connect({ status: 500, body: 'orders_extreme '.repeat(100) });
    await tenant.record();
    const [{ id }] = await tenant.settled(webhook);
    expect(await printed('deliveries', 'get', id)).toContain(cut);
    expect((await run(['webhooks', 'test', webhook.id], env)).stdout).toContain(cut);
    expect((await run(['trigger', 'invoice.paid', '--to', receiver.url], env)).stderr).toContain(cut);
    const exact = await json('deliveries', 'get', id);
    expect(exact.attempt_log[0].response).toHaveLength(1_024);
    receiver.onDelivery = { status: 500, body: 'é'.repeat(500) };
    expect((await run(['webhooks', 'test', webhook.id], env)).stdout).not.toContain(cut);
    // The second half of the last character did not fit, so one byte less is kept.
    receiver.onDelivery = { status: 500, body: `x${'é'.repeat(512)}` };
    expect((await run(['webhooks', 'test', webhook.id], env)).stdout).toContain(cut);
  });

  test('get names the delivery that repeated one that was given up', async () => {
    const { receiver, webhook } = await tenant.connect(500, { event_types: ['invoice.paid'] });
    await tenant.record();
    const [{ id }] = await tenant.settled(webhook);
    await printed('webhooks', 'disable', webhook.id);
    expect(await printed('deliveries', 'get', id)).not.toContain('Sent again');
    receiver.onDelivery = 200;
    await printed('webhooks', 'activate', webhook.id);
    await printed('deliveries', 'redeliver', id);
    const [again] = await tenant.settled(webhook, 2);
    expect(await printed('deliveries', 'get', id)).toContain(`\nSent again\t${again.id}, success\n`);
    expect(await printed('deliveries', 'get', again.id)).not.toContain('Sent again');
  });

  test('get and list say that a delivery waits until its webhook is verified or resumed, and where to look', async () => {
    const own = await newTenant(service);
    const ownEnv = { POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: own.token, NO_COLOR: '1' };
    const { receiver, webhook } = await own.connect(500);
    await own.record();
    const [{ id }] = await own.settled(webhook);
    const shown = async (...args: string[]) => (await run(args, ownEnv, '', true)).stdout;
    expect(await shown('deliveries', 'list')).not.toContain('verified');
    receiver.onVerification = 500;
    await own.data('POST', `/v1/webhooks/${webhook.id}/verify`);
    const report = await shown('deliveries', 'get', id);
    expect(report).toMatch(
      /^Status +retrying, 1 attempt so far, waiting until the webhook is verified or resumed$/m,
    );
    expect(report).toMatch(
      new RegExp(`^To verify it again, run posthorn webhooks verify ${webhook.id};`, 'm'),
    );
    expect(report.endsWith(`Next: posthorn webhooks get ${webhook.id}\n`)).toBe(true);
    expect(await shown('deliveries', 'list')).toContain(
      `Deliveries to …${webhook.id.slice(-6)} are waiting until the webhook is verified or resumed. Next: posthorn webhooks get ${webhook.id}\n`,
    );
  });

  test('get and redeliver find a delivery whose first attempt has no response yet', async () => {
    const own = await newTenant(service);
    const printed = printing({ POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: own.token });
    const held: ServerResponse[] = [];
    const { receiver } = await own.connect((response) => held.push(response));
    await own.connect();
    const recorded = await own.record();
    await receiver.deliveries.nth(1);
    const lines = linesOf(await printed('deliveries', 'list', '--event', recorded.id, '--json'));
    const pending = lines.map((line) => JSON.parse(line)).find(({ attempts }) => attempts === 0);
    expect(await printed('deliveries', 'get', pending.id)).toContain(`Event\tinvoice.paid ${recorded.id}`);
    expect(await printed('deliveries', 'redeliver', pending.id.toLowerCase(), '--no-wait')).toContain(
      `Redelivering invoice.paid ${recorded.id} as `,
    );
    for (const response of held) response.end();
  });

  test('list continues past an empty page, and shows in a terminal how far back it searched', async () => {
    const busy = await newTenant(service);
    const hidden = await hideDelivery(service, busy, 250);
    const of = { POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: busy.token };
    const command = ['deliveries', 'list', '--type', 'task.created'];
    expect(linesOf((await run(command, of)).stdout).map((line) => line.split('\t').at(-1))).toEqual([
      hidden.id,
    ]);
    const { stdout } = await run(command, of, '', true);
    expect(stdout).toMatch(/No other deliveries found since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/);
    expect(stdout).toContain(hidden.id);
  });

  test.each([80, 100, 120])(
    'list tells webhooks apart by an ending that commands accept, at %i columns',
    async (columns) => {
      const own = await newTenant(service);
      const ownEnv = { POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: own.token, NO_COLOR: '1' };
      const webhooks = [(await own.connect(500)).webhook, (await own.connect(500)).webhook];
      await own.record({ type: 'capacity.utilisation_warning', payload: {} });
      for (const webhook of webhooks) await own.settled(webhook);
      const { stdout } = await run(['deliveries', 'list'], ownEnv, '', true, columns);
      const endings = webhooks.map(({ id }) => `…${id.slice(-6)}`);
      expect(stdout.match(/…\w{6}(?= )/g)?.sort()).toEqual(endings.sort());
      expect(stdout.match(/WDLV-\w{26}$/gm)).toHaveLength(2);
      expect(Math.max(...linesOf(stdout).map((line) => line.length))).toBeLessThanOrEqual(columns);
      expect((await run(['webhooks', 'get', endings[0]!], ownEnv)).code).toBe(0);
    },
  );

  test('every time in a terminal says that it is in UTC, and so does the help of --from and --to', async () => {
    const own = await newTenant(service);
    const ownEnv = { POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: own.token, NO_COLOR: '1' };
    const { webhook } = await own.connect(500);
    await own.record();
    const [{ id }] = await own.settled(webhook);
    await own.data('POST', `/v1/webhooks/${webhook.id}/rotate-secret`);
    for (const command of [
      ['deliveries', 'list'],
      ['deliveries', 'get', id],
      ['events', 'list'],
      ['webhooks', 'get', webhook.id],
      ['whoami'],
    ]) {
      const { stdout } = await run(command, ownEnv, '', true);
      // A time with a T also has a Z.
      const dated = linesOf(stdout).filter((line) => /\d{4}-\d\d-\d\d(?!T)/.test(line));
      expect(dated.length, stdout).toBeGreaterThan(0);
      // A field has its name first. A row of a table starts with a number.
      for (const line of dated) {
        if (/^[A-Z]/.test(line)) expect(line).toMatch(/\bUTC\b/);
        else expect(stdout).toMatch(/\btime \(UTC\)/);
      }
    }
    expect((await run(['stats'], ownEnv, '', true)).stdout).toMatch(/^time \(UTC\) /);
    const { stdout: help } = await run(['stats', '--help'], env);
    expect(help.match(/a date \(a day in UTC\)/g)).toHaveLength(2);
  });

  test('list --event says which webhooks did not get the event, why, and how to send it', async () => {
    const own = await newTenant(service);
    const recorded = await own.record();
    const { webhook, receiver } = await own.connect();
    const other = await own.webhook(receiver, { event_types: ['task.*'] });
    const ownEnv = { ...env, POSTHORN_TOKEN: own.token };
    const { code, stdout, stderr } = await run(['deliveries', 'list', '--event', recorded.id], ownEnv);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(
      new RegExp(`^Not delivered to ${other.id} \\(not_subscribed\\): .*invoice\\.paid`, 'm'),
    );
    const [, missed = '', command = ''] =
      /^Not delivered to (\S+) \(created_later\): .*\n {2}To send it: posthorn (.*)$/m.exec(stderr) ?? [];
    expect(missed).toBe(webhook.id);
    expect((await run([...command.split(' '), '--wait'], ownEnv)).code).toBe(0);
    expect((await receiver.deliveries.nth(1)).headers['webhook-id']).toBe(recorded.id);
  });

  test('redeliver waits for the attempt, and fails if the receiver does', async () => {
    const { receiver, webhook } = await tenant.connect(503, { event_types: ['invoice.paid'] });
    await tenant.record();
    const [delivery] = await tenant.settled(webhook);
    const failed = await run(['deliveries', 'redeliver', delivery.id], env);
    expect(failed).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`posthorn deliveries get ${delivery.id}`),
    });
    receiver.onDelivery = 200;
    expect(await printed('deliveries', 'redeliver', failed.stdout.match(/as (WDLV-\w+)/)![1]!)).toMatch(
      /^Redelivering .*\nsuccess: 200 in \d+ ms, attempt 3\n$/,
    );
  });

  test('redeliver of a waiting delivery says which attempt it was, and when the next one follows', async () => {
    const { webhook } = await tenant.connect(503, { event_types: ['invoice.paid'] });
    await tenant.record();
    const [delivery] = await tenant.settled(webhook);
    const { stderr } = await run(['deliveries', 'redeliver', delivery.id], env);
    expect(stderr).toMatch(
      /^The receiver did not accept attempt 2 \(503\)\. The next attempt is at \d{4}-.* UTC\. Run posthorn/,
    );
  });

  test.each([[[]], [['--only-failed']]])(
    'replay --wait %j exits with 1 if an event was not delivered, and with 0 once all of them are',
    async (more: string[]) => {
      const own = await newTenant(service);
      const { receiver, webhook } = await own.connect(503);
      await own.record();
      await own.record();
      await own.settled(webhook, 2);
      const ownEnv = { ...env, POSTHORN_TOKEN: own.token };
      const replay = () =>
        run(['deliveries', 'replay', '--webhook', webhook.id, '--from', '1h', '--wait', ...more], ownEnv);
      expect(await replay()).toMatchObject({
        code: 1,
        stderr: `Not everything was delivered: 2 failed since the replay began. Run posthorn deliveries list --webhook ${webhook.id} --status failed to see why.\n`,
      });
      receiver.onDelivery = 200;
      expect(await replay()).toMatchObject({ code: 0, stderr: '' });
      const events = new Set(receiver.deliveries.all.slice(-2).map(({ headers }) => headers['webhook-id']));
      expect(events.size).toBe(2);
    },
  );

  test('replay of a range without events does not print that it handled 0 of 0', async () => {
    const { webhook } = await tenant.connect();
    const args = [
      'deliveries',
      'replay',
      '--webhook',
      webhook.id,
      '--from',
      '2001-01-01',
      '--to',
      '2001-01-02',
    ];
    const { code, stdout } = await run(args, env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^RPL-\w+ is running\. It continues .*\nRPL-\w+: 0 events are queued\.\n$/);
    expect(await run([...args, '--wait', '--no-wait'], env)).toMatchObject({ code: 2 });
  });

  test('replay delivers the events of a time range and of some types again, and ends when they are queued', async () => {
    const { receiver, webhook } = await tenant.connect(200, { event_types: ['invoice.paid'] });
    const from = new Date().toISOString();
    const recorded = [await tenant.record(), await tenant.record()];
    await tenant.settled(webhook, 2);
    const command = ['deliveries', 'replay', '--webhook', webhook.id, '--from', from, '--json'];
    const ofTypes = ['--events', 'invoice.paid, task.*'];
    const { code, stdout, stderr } = await run([...command, ...ofTypes], env);
    const replay = JSON.parse(stdout);
    expect({ code, replay }).toMatchObject({ code: 0, replay: { status: 'done', done: 2 } });
    const look = `posthorn replays get ${replay.id} --webhook ${webhook.id}`;
    expect(stderr).toBe(
      `${replay.id} is running: 0 of 2 events. It continues even if this command ends: run ${look} to see its progress.\n`,
    );
    await eventually(
      async () => receiver.deliveries.all.length,
      (count) => count === 4,
    );
    expect(recorded).toHaveLength(2);
  });

  test('replay without --to includes the newest events even if the clock of this machine is behind', async () => {
    const { webhook } = await tenant.connect(200, { event_types: ['invoice.paid'] });
    const from = new Date().toISOString();
    await tenant.record();
    await tenant.settled(webhook);
    const behind = `const real = Date, lag = 3_600_000;
      globalThis.Date = class extends real {
        constructor(...given) { super(...(given.length > 0 ? given : [real.now() - lag])); }
        static now() { return real.now() - lag; }
      };`;
    const lagging = [
      process.execPath,
      '--import',
      `data:text/javascript,${encodeURIComponent(behind)}`,
      program,
    ];
    const command = ['deliveries', 'replay', '--webhook', webhook.id, '--from', from];
    const { code, stdout, stderr } = await posthorn(command, env, lagging);
    expect({ code, stdout, stderr }).toEqual({
      ...{ code: 0, stdout: expect.stringMatching(/: 1 event is queued\.\n$/), stderr: '' },
    });
  });

  test('replays get shows the progress of a replay that was started earlier', async () => {
    const { webhook } = await tenant.connect();
    const from = new Date().toISOString();
    await tenant.record();
    await tenant.settled(webhook);
    const started = await json('deliveries', 'replay', '--webhook', webhook.id, '--from', from, '--no-wait');
    const ofWebhook = ['--webhook', webhook.id.slice(-10)];
    const done = await eventually(
      () => json('replays', 'get', started.id.toLowerCase(), ...ofWebhook),
      ({ status }) => status === 'done',
    );
    expect(done).toEqual({ ...started, status: 'done', done: 1, total: 1 });
    expect(await printed('replays', 'get', started.id, ...ofWebhook)).toContain(
      `Replay\t${started.id}\nWebhook\t${webhook.id}\nStatus\tdone\nEvents\t1 of 1 queued\nStarted\t`,
    );
  });

  describe.concurrent.each([
    ['replay', /^(RPL-\w+) is running: /],
    ['redeliver', /^Redelivering invoice\.paid EVT-\w+ as (WDLV-\w+)\.\n/],
  ])('%s', (what, started) => {
    /** Runs the command through a proxy that loses some responses. */
    async function runLosing(flags: readonly string[], ...losing: Parameters<typeof proxyLosing>) {
      const own = await newTenant(service);
      const { webhook } = await own.connect();
      await own.record();
      const [{ id }] = await own.settled(webhook);
      const ownEnv = { POSTHORN_URL: await proxyLosing(...losing), POSTHORN_TOKEN: own.token };
      const given = what === 'replay' ? ['--webhook', webhook.id, '--from', '2026-01-01'] : [id];
      return run(['deliveries', what, ...given, ...flags], ownEnv);
    }
    const isPoll = ({ method, url = '' }: IncomingMessage) =>
      method === 'GET' && /\/(replays|deliveries)\/\w/.test(url);

    test.each([[[]], [['--json']]])(
      '%j says what was started before it waits, and that it continues if the progress cannot be read',
      async (flags) => {
        const refuse = (response: ServerResponse) =>
          response.writeHead(403).end(JSON.stringify({ code: 'forbidden', detail: 'Not allowed.' }));
        const { code, stdout, stderr } = await runLosing(flags, refuse, isPoll);
        expect(code).toBe(1);
        const [line, id] = started.exec(flags.length > 0 ? stderr : stdout) ?? [];
        expect(line, stdout + stderr).toBeDefined();
        expect(stderr).toContain('Not allowed.\n');
        expect(stderr).toContain(`${id} has started and will continue.`);
        expect(stderr).toMatch(
          / Run posthorn (replays get RPL-\w+ --webhook WHK|deliveries get WDLV)-\w+ to see /,
        );
      },
    );

    test('continues even if the service does not respond for longer than a request is retried', async () => {
      const lose = (response: ServerResponse) => response.writeHead(502).end();
      const { code } = await runLosing([], lose, (request, lost) => isPoll(request) && lost < 4);
      expect(code).toBe(0);
    });

    test('whose request fails with an unknown outcome says that it may have been started', async () => {
      const { code, stdout, stderr } = await runLosing([], (response) =>
        response
          .writeHead(503, { 'Retry-After': '60' })
          .end(JSON.stringify({ code: 'unavailable', detail: 'No result.' })),
      );
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(
        /\nThe (replay may have been started|event may be on its way again)\. .* twice\. /,
      );
      expect(stderr).toMatch(/ Run posthorn deliveries list --(webhook WHK|event EVT)-\w+ to see /);
    });
  });
});

describe('events, types, stats and the audit log', () => {
  test.each(['events', 'deliveries'])(
    '%s list with an unknown type says so, and which one may be meant',
    async (what) => {
      const { code, stdout, stderr } = await run([what, 'list', '--type', 'invoice.piad'], env);
      expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
      expect(stderr).toMatch(/^There is no event type 'invoice\.piad'\..*invoice\.paid.*\n$/);
    },
  );

  test('a list that cannot be filtered by a pattern says how to see the types that match it', async () => {
    for (const list of ['events', 'deliveries'])
      expect(await run([list, 'list', '--type', 'invoice.*'], env)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(
          / Expected one event type: .* Run posthorn types 'invoice\.\*' to see /,
        ),
      });
  });

  test('--from and --to accept how long ago', async () => {
    const own = await newTenant(service);
    const printed = printing({ POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: own.token });
    const { webhook } = await own.connect();
    await own.record();
    await own.settled(webhook);
    for (const list of ['events', 'deliveries']) {
      expect(linesOf(await printed(list, 'list', '--from', '1h'))).toHaveLength(1);
      expect(linesOf(await printed(list, 'list', '--from', '7d', '--to', '60s'))).toEqual([]);
    }
    const { from, to } = JSON.parse(await printed('stats', '--from', '2h', '--to', '30m', '--json'));
    expect(Date.parse(to) - Date.parse(from)).toBeCloseTo(90 * 60_000, -2);
    const replay = ['deliveries', 'replay', '--webhook', webhook.id, '--no-wait', '--json', '--from'];
    expect(JSON.parse(await printed(...replay, '1h')).total).toBe(1);
    expect(JSON.parse(await printed(...replay, '999999999d', '--to', '1m')).total).toBe(0);
  });

  const payload = '{"z":1.10,"a":12345678901234567890}';

  test('events are printed with their payload as recorded', async () => {
    const own = await newTenant(service);
    const printed = printing({ POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: own.token });
    const body = JSON.stringify([
      {
        type: 'task.created',
        organization_id: own.organization,
        actor: { type: 'user', id: 'USR-a' },
        subject: { type: 'task', id: 'TSK-1' },
        payload: 'PAYLOAD',
      },
    ]).replace('"PAYLOAD"', payload);
    const [recorded] = await recordText(service.database, body);
    const lines = linesOf(await printed('events', 'list', '--json'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`"payload":${payload}`);
    expect(await printed('events', 'get', recorded!.id.slice(-6), '--json')).toBe(`${lines[0]}\n`);
    expect((await printed('events', 'get', recorded!.id)).replaceAll(/\s/g, '')).toContain(
      `"payload":${payload}`,
    );
    expect(
      linesOf(await printed('events', 'list'))[0]
        ?.split('\t')
        .slice(1),
    ).toEqual([...['task.created', 'TSK-1', 'USR-a', '-', recorded!.id]]);
  });

  test('an ending that several ids have is refused, with some of them', async () => {
    const own = await newTenant(service);
    const events = Array.from({ length: 33 }, () => event({ organization_id: own.organization }));
    const ids = (await record(service, ...events)).map(({ id }) => id);
    // The ids of one recording are consecutive, so that some of 33 have the same last character.
    const ending = ids[32]!.slice(-1);
    const ownEnv = { POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: own.token };
    const { code, stderr } = await run(['events', 'get', ending], ownEnv);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^\d events have an ID that ends with '.': EVT-\w+, EVT-\w+.*\. Use more characters; posthorn events list/,
    );
  });

  test('types lists the catalogue, and shows one type with its sample', async () => {
    expect(linesOf(await printed('types', 'invoice.*')).map((line) => line.split('\t')[0])).toContain(
      'invoice.paid',
    );
    expect(await json('types', 'invoice.paid')).toMatchObject({ sample: { currency: 'EUR' } });
    expect(await run(['types', 'invoice.payed'], env)).toMatchObject({
      code: 1,
      stderr:
        "There is no event type 'invoice.payed'. Did you mean invoice.paid? Run posthorn types to list all types.\n",
    });
  });

  test('stats prints a line per bucket in a pipe', async () => {
    expect(linesOf(await printed('stats', '--interval', 'hour')).length).toBeGreaterThanOrEqual(24);
    expect((await json('stats', '--webhook', (await tenant.connect()).webhook.id)).totals.events).toBeNull();
  });

  test('the audit log needs its scope, and the failure says how to see the scopes', async () => {
    const { code, stderr } = await run(['audit', 'list'], env);
    expect(code).toBe(1);
    expect(stderr).toContain('Run posthorn whoami');
    const auditor = await newTenant(service, {
      organization_id: tenant.organization,
      scopes: ['audit:read'],
    });
    const lines = linesOf(
      await printing({ ...env, POSTHORN_TOKEN: auditor.token })(
        'audit',
        'list',
        '--action',
        'webhook.created',
      ),
    );
    expect(lines.length).toBeGreaterThan(0);
  });
});

describe('without @posthorn/server', () => {
  test.each([
    ['serve', '--allow-loopback'],
    ['token', 'create'],
    ['migrate', '--help'],
  ])('posthorn %s %s says where to run it', async (...args) => {
    const { code, stderr } = await run(args, env);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^posthorn ([a-z ]+) is part of @posthorn\/server, which is not installed\. In a checkout of Posthorn, run npm ci, then npx posthorn \1\.\n$/,
    );
  });

  test('the help lists the commands of both', async () => {
    const help = await printed('--help');
    for (const name of ['listen', 'webhooks create', 'serve', 'token create'])
      expect(help).toContain(`  ${name} `);
  });
});
