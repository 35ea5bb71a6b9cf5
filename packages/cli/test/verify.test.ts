import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { signedRequest } from '@posthorn/receiver/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startByteReceiver } from '../../server/test/support/byte-receiver.js';
import { bragsInHeaders } from '../../server/test/support/hostile-receiver.js';
import { babbles, type Reply, resets, startReceiver } from '../../server/test/support/receiver.js';
import { sharedService } from '../../server/test/support/service.js';
import { newTenant } from '../../server/test/support/tenant.js';
import { explainError, explainTimeout } from '../src/forward.js';
import { freshDirectory, linesOf, printing, run } from './support/cli.js';

const secret = 'a-secret-of-the-tests';
const directory = await freshDirectory();
const env = { XDG_CONFIG_HOME: directory };

interface Change {
  headers?: Record<string, string | undefined>;
  body?: (body: string) => string;
  sentAt?: Date;
  /** The secret before a rotation whose grace period is not over. */
  previous?: string;
  data?: { payment_method: string };
}

/** Returns a request as a file has it. */
function request({ headers = {}, body = (text) => text, sentAt = new Date(), ...more }: Change = {}): string {
  const signed = signedRequest('invoice.paid', { secret, sentAt, ...more });
  const all = { ...signed.headers, 'content-length': String(Buffer.byteLength(signed.body)), ...headers };
  const lines = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`],
  );
  return `POST /hooks HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body(signed.body)}`;
}

const unsigned = { 'X-Service-Signature': undefined, 'webhook-signature': undefined };

describe('verify', () => {
  test('accepts a request from standard input or from a file, and says when it was signed', async () => {
    const text = request();
    expect(await run(['verify', '--secret', secret], env, text)).toMatchObject({
      ...{
        code: 0,
        stdout: expect.stringMatching(/^Verified: EVT-\w+ was signed with this secret at .*Z\.\n$/),
      },
    });
    const file = join(directory, 'pasted.txt');
    await writeFile(file, text.replaceAll('\r\n', '\n'));
    expect(await printing(env)('verify', '--secret', secret, '--request', file, '--json')).toContain(
      '"ok":true',
    );
  });

  const longAgo = new Date(Date.now() - 7_200_000);
  test.each<[string, string, string, string]>([
    [
      'a wrong secret',
      'signature_mismatch',
      request(),
      "Either the secret is not the webhook's secret, or the",
    ],
    ['an old request', 'timestamp_too_old', request({ sentAt: longAgo }), 'Signed 72'],
    [
      'missing headers',
      'missing_signature',
      request({ headers: unsigned }),
      'has no webhook-signature header',
    ],
    [
      'a body that was serialized again',
      'body_not_raw',
      request({
        headers: { 'content-length': undefined },
        body: (text) => JSON.stringify(JSON.parse(text), null, 2),
      }),
      'compact JSON',
    ],
    [
      'a line break at the end',
      'body_not_raw',
      request({ body: (text) => `${text}\n` }),
      'White space was added',
    ],
    [
      'a damaged signature',
      'malformed_signature',
      request({ headers: { 'X-Service-Signature': 'sha256=abc', 'webhook-signature': 'v1,abc' } }),
      '3 characters after sha256=',
    ],
    [
      'a damaged time',
      'malformed_timestamp',
      request({ headers: { 'webhook-timestamp': 'now' } }),
      'not a whole number',
    ],
  ])('explains %s: %s', async (what, reason, text, detail) => {
    const given = what === 'a wrong secret' ? 'another-secret-of-the-tests' : secret;
    const { code, stdout, stderr } = await run(['verify', '--secret', given], env, text);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`Not verified (${reason}): `);
    expect(stderr).toContain(detail);
  });

  const longer = (text: string) => `${text}\n`;
  test.each<[string, string, string, string[]]>([
    ['the new secret in a grace period', secret, request({ body: longer, previous: 'an-older-secret' }), []],
    [
      'the old secret in a grace period',
      'an-older-secret',
      request({ body: longer, previous: 'an-older-secret' }),
      [],
    ],
    ['a receiver of one signature', secret, request({ body: longer }), ['--signature', 'webhook-signature']],
    [
      'a proxy that removed a header',
      secret,
      request({ body: longer, headers: { 'X-Service-Signature': undefined } }),
      [],
    ],
  ])('finds a change of the body with every signature of the request: %s', async (_, given, text, more) => {
    const { stderr } = await run(['verify', '--secret', given, ...more], env, text);
    expect(stderr).toContain('Not verified (body_not_raw): White space was added at the end of the body.');
  });

  test('does not blame the secret for a change that it cannot find, and says how to tell them apart', async () => {
    const text = request({ body: (text) => text.replace('{"id"', '{"iD"') });
    const { code, stderr } = await run(['verify', '--secret', secret], env, text);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^Not verified \(signature_mismatch\): Either the secret is not .*, or the body was changed/,
    );
    expect(stderr).toContain('Compare the body with request.body in the output of posthorn deliveries get');
    expect(stderr).not.toMatch(/most likely|no small change|rotate/i);
  });

  test('--any-age accepts an old request', async () => {
    const text = request({ sentAt: longAgo });
    expect((await run(['verify', '--secret', secret, '--any-age'], env, text)).code).toBe(0);
  });

  const notSigned = `v1,${'A'.repeat(43)}=`;
  test.each([
    ['webhook-signature', undefined, 'missing_signature', 'The request has no webhook-signature header.'],
    ['webhook-signature', notSigned, 'signature_mismatch', 'It does not match webhook-id, webhook-timestamp'],
    [
      'webhook-signature',
      'v1,abc',
      'malformed_signature',
      'webhook-signature has no signature of the form v1,',
    ],
    ['X-Service-Signature', undefined, 'missing_signature', 'The request has no X-Service-Signature header.'],
    ['X-Service-Signature', `sha256=${'0'.repeat(64)}`, 'signature_mismatch', 'It does not match the body.'],
  ])('refuses a request with only one valid signature: %s: %s', async (name, value, reason, detail) => {
    const other = name === 'webhook-signature' ? 'X-Service-Signature' : 'webhook-signature';
    const text = request({ headers: { [name]: value }, sentAt: longAgo });
    const args = ['verify', '--secret', secret, '--any-age'];
    const { code, stderr } = await run(args, env, text);
    expect(code).toBe(1);
    expect(stderr).toContain(`Not verified (${reason}): ${other} is valid, but ${name} is not. ${detail}`);
    expect(JSON.parse((await run([...args, '--json'], env, text)).stdout)).toMatchObject({
      ok: false,
      reason,
    });
    expect((await run([...args, '--signature', other], env, text)).code).toBe(0);
    expect((await run([...args, '--signature', name], env, text)).code).toBe(1);
  });

  test('--signature x-service-signature checks only that one, which does not cover the time', async () => {
    const text = request({ headers: { 'webhook-signature': undefined }, sentAt: longAgo });
    const args = ['verify', '--secret', secret, '--signature', 'x-service-signature'];
    expect(await run(args, env, text)).toMatchObject({
      ...{
        code: 0,
        stdout: expect.stringContaining(
          'X-Service-Signature does not cover the time when the request was sent.',
        ),
      },
    });
    expect((await run(args, env, `${text}\n`)).stderr).toContain('White space was added');
  });

  test('says what a request looks like if it gets something else', async () => {
    const { code, stderr } = await run(['verify', '--secret', secret], env, 'hello');
    expect(code).toBe(1);
    expect(stderr).toContain('posthorn listen --save DIR');
  });
});

describe('trigger', () => {
  test('sends a signed sample to a URL without a login, with the values that are set', async () => {
    const receiver = await startReceiver();
    const set = ['--set', 'payload.amount_minor=7', '--set', 'payload.note=hi', '--set', 'workspace_id=WS-1'];
    const sent = await run(
      ['trigger', 'invoice.paid', '--to', receiver.url, '--secret', secret, ...set],
      env,
    );
    expect(sent).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^invoice\.paid {2}EVT-\w+ {2}200 in \d+ ms\n$/),
    });
    const { envelope, headers, body } = receiver.deliveries.last;
    expect(envelope).toMatchObject({
      workspace_id: 'WS-1',
      data: { amount_minor: 7, note: 'hi', currency: 'EUR' },
    });
    const file = `${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n')}\n\n${body}`;
    expect((await run(['verify', '--secret', secret], env, file)).code).toBe(0);
  });

  test('refuses an empty secret, such as a variable that is not set', async () => {
    const receiver = await startReceiver();
    const args = ['trigger', 'invoice.paid', '--to', receiver.url, '--secret', ''];
    expect(await run(args, env)).toEqual({
      code: 2,
      stdout: '',
      stderr: '--secret: the secret is empty. Check that the variable you passed is set.\n',
    });
    expect(receiver.deliveries.count).toBe(0);
  });

  test('sends numbers as they were set, also inside objects and arrays', async () => {
    const receiver = await startReceiver();
    const set = [
      'payload.rate=1.10',
      'payload.big=12345678901234567890',
      'payload.list=[1e400]',
      'payload.list.1=2.0',
    ];
    const args = ['trigger', 'invoice.paid', '--to', receiver.url, ...set.flatMap((one) => ['--set', one])];
    expect(await run(args, env)).toMatchObject({ code: 0 });
    const body = receiver.deliveries.last.body.toString();
    expect(body).toMatch(
      /"data":\{"id":.*,"rate":1\.10,"big":12345678901234567890,"list":\[1e400,2\.0\]\}\}$/,
    );
    expect(await run([...args, '--set', 'payload.list.last=3'], env)).toEqual({
      ...{ code: 2, stdout: '' },
      stderr: "--set: 'payload.list.last' does not exist. To change an array, use a zero-based index.\n",
    });
  });

  test('without --secret signs with the one that listen prints, every time', async () => {
    const receiver = await startReceiver();
    for (let time = 0; time < 2; time += 1) await run(['trigger', 'invoice.paid', '--to', receiver.url], env);
    const kept = readFileSync(join(directory, 'posthorn', 'listen-secret'), 'utf8').trim();
    for (const { headers, body } of receiver.deliveries.all) {
      const file = `${Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}`)
        .join('\n')}\n\n${body}`;
      expect((await run(['verify', '--secret', kept], env, file)).code).toBe(0);
    }
  });

  test.each([
    ['invoice.payed', ' Did you mean invoice.paid?'],
    ['order.created', ''],
  ])(
    'suggests a similar type for an unknown one, and says if the service was not asked: %s',
    async (type, suggestion) => {
      const service = await sharedService();
      const { token } = await newTenant(service);
      const args = ['trigger', type, '--to', 'http://127.0.0.1:1'];
      const login = { POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: token };
      expect(await run(args, { ...env, ...login })).toMatchObject({
        code: 1,
        stderr: `There is no event type '${type}'.${suggestion} Run posthorn types to list all types.\n`,
      });
      expect(await run(args, env)).toMatchObject({
        code: 1,
        stderr:
          `'${type}' is not a built-in event type.${suggestion} The service may have it, but could not be queried. ` +
          'There is no token for http://127.0.0.1:7400. Run posthorn login --url http://127.0.0.1:7400, ' +
          'or set POSTHORN_TOKEN.\n',
      });
    },
  );

  test('reports what a failing receiver said', async () => {
    const receiver = await startReceiver({ onDelivery: { status: 401, body: 'bad signature' } });
    const { code, stderr } = await run(['trigger', 'invoice.paid', '--to', receiver.url], env);
    expect(code).toBe(1);
    expect(linesOf(stderr)[0]).toMatch(/^The receiver responded with 401 in \d+ ms: bad signature$/);
    expect(stderr).toContain('posthorn verify');
    const { url } = receiver;
    await receiver.close();
    const refused = await run(['trigger', 'invoice.paid', '--to', url], env);
    expect(refused.stderr).toMatch(
      /^No response from .*: connection refused: nothing is listening on .* Start the /,
    );
  });

  /** Returns what `trigger` prints if it cannot deliver to this URL. */
  async function complaint(url: string): Promise<string> {
    const { code, stderr } = await run(['trigger', 'invoice.paid', '--to', url], env);
    expect(code).toBe(1);
    return stderr;
  }

  test.each<[string, Reply, RegExp]>([
    [
      'closes the connection',
      resets,
      /: the receiver closed the connection without a response\. Check whether /,
    ],
    ['does not speak HTTP', babbles, /: the response was not HTTP\/1\.1 \(.*\)\. Check that the port /],
    [
      'sends huge headers',
      bragsInHeaders,
      /: the headers of the response are larger than 16 KiB\. Send fewer /,
    ],
  ])('says what happened and what to do if the receiver %s', async (_, onDelivery, expected) => {
    const text = await complaint((await startReceiver({ onDelivery })).url);
    expect(text).toMatch(expected);
    expect(text).not.toContain('Start the receiver');
  });

  test('shows where a receiver redirects to', async () => {
    const headers = { location: '/elsewhere' };
    const { url } = await startReceiver({ onDelivery: { status: 302, headers, body: 'moved' } });
    const [first, second] = linesOf(await complaint(url));
    expect(first).toMatch(
      /^The receiver responded with 302 in \d+ ms and redirected to http:\/\/.*\/elsewhere$/,
    );
    expect(second).toMatch(/^Redirects are not followed\. Send to that URL with --to, or respond with 2xx/);
  });

  test('names NODE_EXTRA_CA_CERTS if the certificate is not trusted, and http if the port does not use TLS', async () => {
    const secure = await startByteReceiver(() => undefined, {});
    const untrusted = await complaint(secure.url.replace('receiver.test', 'localhost'));
    expect(untrusted).toMatch(
      /: the TLS connection to localhost:\d+ failed: self-signed certificate\. .* NODE_EXTRA_CA_CERTS to a PEM /,
    );
    const plain = await startReceiver();
    expect(await complaint(plain.url.replace('http:', 'https:'))).toMatch(
      / does not use TLS\. Send to an http URL/,
    );
  });

  test('says that a host name does not resolve', () => {
    const error = Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' });
    const explained = { error: 'hooks.test does not resolve', remedy: 'Check the host name.' };
    expect(explainError(error, new URL('http://hooks.test:3000/'))).toEqual(explained);
  });

  test('tells apart how far a request got when its time ran out', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const url = new URL(`https://127.0.0.1:${port}/`);
    const explained = (socket: Socket | null) => explainTimeout(socket, url, '10 s').error;
    const socket = connect(port, '127.0.0.1');
    expect(explained(null)).toMatch(/^no connection to 127\.0\.0\.1:\d+ within 10 s$/);
    expect(explained(socket)).toMatch(/^no connection to /);
    await Promise.all([once(socket, 'connect'), once(server, 'connection')]);
    expect(explained(socket)).toBe('no response within 10 s');
    const greeted = once(server, 'connection').then(([peer]: Socket[]) => once(peer!, 'data'));
    const secure = connectTls(port, '127.0.0.1').on('error', () => undefined);
    await greeted;
    expect(explained(secure)).toMatch(/, but the TLS handshake did not finish within 10 s$/);
    for (const one of [socket, secure]) one.destroy();
  });

  test('sends a test through a webhook, and a recorded event again to a URL', async () => {
    const service = await sharedService();
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect();
    const printed = printing({ ...env, POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: tenant.token });
    expect(await printed('trigger', 'task.created', '--webhook', webhook.id.slice(-8))).toMatch(
      /^success: task\.created/,
    );
    expect(receiver.deliveries.last.envelope).toMatchObject({ type: 'task.created', test: true });
    const recorded = await tenant.record();
    await tenant.settled(webhook);
    const original = receiver.deliveries.last.body.toString();
    const local = await startReceiver();
    await printed('trigger', recorded.id, '--to', local.url.replace('http://', ''));
    expect(local.deliveries.last.body.toString()).toBe(original);
  });

  test.each([
    [['trigger', 'invoice.paid'], 'Use either --to URL or --webhook id'],
    [['trigger', 'invoice.paid', '--to', 'notaurl'], "--to: 'notaurl' is not valid. Expected a URL"],
    [['listen', '--forward-to', 'ftp://a:21/'], "--forward-to: 'ftp://a:21/' is not valid. Expected a URL"],
    [['events', 'list', '--type', 'invoice.*'], "--type: 'invoice.*' is not valid. Expected one event type"],
    [['events', 'tail', '--type', '*'], "--type: '*' is not valid. Expected one event type"],
    [['deliveries', 'list', '--type', 'inv*'], "--type: 'inv*' is not valid. Expected one event type"],
    [['stats', '--interval', 'week'], "--interval: 'week' is not valid. Expected minute, hour or day."],
    [['trigger', 'invoice.paid', '--to', 'http://a', '--set', 'amount=1'], "--set: 'amount' cannot be set."],
    [['trigger', 'invoice.paid', '--to', 'http://a', '--set', 'payload'], "--set: 'payload' is not valid."],
    [['trigger', 'invoice.paid', '--webhook', 'x', '--set', 'payload.a=1'], '--set works only with --to'],
  ])('%j is a usage error', async (args, message) => {
    const { code, stderr } = await run(args, env);
    expect(code).toBe(2);
    expect(stderr.startsWith(message), stderr).toBe(true);
  });
});
