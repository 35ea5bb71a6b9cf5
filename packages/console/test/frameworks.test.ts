import { execFileSync, spawnSync } from 'node:child_process';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import {
  buildGo,
  firstThatRuns,
  freePort,
  oddHeaders,
  run,
  Server,
  secretDemand,
  unusableSecrets,
  Workshop,
} from '../../server/test/support/snippets.js';
import { frameworks, placeOf } from '../src/receiver/frameworks.js';

const body = Buffer.from('{"id":"EVT-1","type":"invoice.paid","data":{"title":"Über 1.50"}}');
const secrets = [`whsec_${Buffer.alloc(32, 7).toString('base64')}`, 'a-secret-of-the-users-own'];

const now = () => Math.floor(Date.now() / 1_000);

/** Headers as the service sends them, with an older secret's signature first. */
function headersFor(secret: string, sentAt = now(), signed = body): Record<string, string> {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
  const signature = createHmac('sha256', key).update(`EVT-1.${sentAt}.`).update(signed).digest('base64');
  return {
    'webhook-id': 'EVT-1',
    'webhook-timestamp': String(sentAt),
    'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')} v1,${signature}`,
  };
}

const codeOf = (key: string, secret: string | undefined, url = '') =>
  frameworks.find((one) => one.key === key)!.code(secret, placeOf(url));

it('puts a receiver at the path of its URL, and on its port if it is on this machine', () => {
  expect(placeOf('http://127.0.0.1:3001/hooks/v2')).toEqual({ path: '/hooks/v2', port: '3001' });
  expect(placeOf('http://[::1]/a?b=c')).toEqual({ path: '/a', port: '80' });
  expect(placeOf('https://example.com:8443/')).toEqual({ path: '/', port: '3000' });
  for (const odd of ['', 'https://', "https://example.com/it's", 'https://example.com/:id']) {
    expect(placeOf(odd)).toEqual({ path: '/webhooks', port: '3000' });
  }
  const place = placeOf('http://localhost:3001/hooks/v2');
  for (const { key, code, file } of frameworks) {
    expect(file(place) + code('a secret', place), key).toContain('/hooks/v2');
    if (key !== 'next') expect(code('a secret', place)).toContain('3001');
  }
});

describe.each(['express', 'fastify', 'hono', 'next'])('the receiver for %s', (key) => {
  /** What the receiver checks requests with, or what it throws when it starts. */
  function check(secret: string | undefined, env: Record<string, string>) {
    const source = /const secret[\s\S]*?function isValid[\s\S]*?\n}/.exec(codeOf(key, secret))?.[0];
    const make = new Function('createHmac', 'timingSafeEqual', 'process', `${source}; return isValid;`);
    return make(createHmac, timingSafeEqual, { env });
  }

  it.each(secrets)('accepts what the service signs with %s, and nothing else', (secret) => {
    const isValid = check(secret, {});
    expect(isValid(body, headersFor(secret))).toBe(true);
    expect(isValid(Buffer.from(`${body} `), headersFor(secret))).toBe(false);
    expect(isValid(body, headersFor('another secret of 16'))).toBe(false);
    expect(isValid(body, headersFor(secret, Date.now() / 1_000 - 3_600))).toBe(false);
    expect(isValid(body, {})).toBe(false);
    for (const odd of oddHeaders) expect(isValid(body, { ...headersFor(secret), ...odd })).toBe(false);
    expect(codeOf(key, secret)).toContain(secret);
    expect(check(undefined, { WEBHOOK_SECRET: secret })(body, headersFor(secret))).toBe(true);
  });

  it('does not start without a secret', () => {
    expect(() => check(undefined, {})).toThrow(secretDemand.trim());
    for (const secret of unusableSecrets)
      expect(() => check(undefined, { WEBHOOK_SECRET: secret })).toThrow(secretDemand.trim());
    // An empty variable does not replace the secret in the code.
    const isValid = check(secrets[0], { WEBHOOK_SECRET: '' });
    expect(isValid(body, headersFor(''))).toBe(false);
    expect(isValid(body, headersFor(secrets[0]!))).toBe(true);
  });
});

it.each(['express', 'fastify'])('the receiver for %s accepts a large event', async (key) => {
  const [secret = ''] = secrets;
  const large = Buffer.from(
    JSON.stringify({ id: 'EVT-1', type: 'invoice.paid', data: 'x'.repeat(1_500_000) }),
  );
  const url = `http://127.0.0.1:${await freePort()}/webhooks`;
  const file = (await Workshop.open()).path('receiver.mjs');
  await writeFile(file, codeOf(key, secret, url));
  await new Server(process.execPath, [file], {}).isListening(Number(new URL(url).port));
  const post = async (signature: Record<string, string>) => {
    const headers = { 'content-type': 'application/json', ...signature };
    return (await fetch(url, { method: 'POST', headers, body: large })).status;
  };
  expect(await post(headersFor(secret, now(), large))).toBe(200);
  for (const odd of oddHeaders) expect(await post({ ...headersFor(secret, now(), large), ...odd })).toBe(401);
});

const hasPython = spawnSync('python3', ['--version']).status === 0;

describe.runIf(hasPython)(`the receiver for Flask${hasPython ? '' : ' (skipped: no python3)'}`, () => {
  it.each(secrets)('accepts what the service signs with %s, and nothing else', (secret) => {
    const code = codeOf('flask', secret).replace('from flask import Flask, request\n', '');
    const program = `${code.slice(0, code.indexOf('app = Flask'))}
import json, sys
for body, headers in json.load(sys.stdin):
    print(is_valid(body.encode(), headers))`;
    const input = JSON.stringify([
      [body.toString(), headersFor(secret)],
      [`${body} `, headersFor(secret)],
      [body.toString(), headersFor(secret, 1)],
      [body.toString(), {}],
      ...oddHeaders.map((odd) => [body.toString(), { ...headersFor(secret), ...odd }]),
    ]);
    const printed = execFileSync('python3', ['-c', program], { input }).toString();
    expect(printed.trim().split('\n')).toEqual(['True', ...Array(6).fill('False')]);
  });

  it.each(unusableSecrets)('does not start with the secret "%s"', async (secret) => {
    const code = codeOf('flask', undefined).replace('from flask import Flask, request\n', '');
    const ended = await run('python3', ['-c', code], { WEBHOOK_SECRET: secret });
    expect(ended).toMatchObject({ code: 1, stderr: secretDemand });
  });
});

const go = await firstThatRuns(['go', '/usr/local/go/bin/go'], ['version']);

describe.runIf(go)(`the receiver for Go${go ? '' : ' (skipped: no go here)'}`, async () => {
  it('accepts what the service signs, and nothing else, and does not start without a secret', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/webhooks`;
    const workshop = await Workshop.open();
    const [file, program] = [workshop.path('main.go'), workshop.path('receiver')];
    await writeFile(file, codeOf('go', secrets[0], url));
    await buildGo(go ?? '', file, program);
    await new Server(program, [], {}).isListening(port);
    const post = async (headers: Record<string, string>) =>
      (await fetch(url, { method: 'POST', headers, body })).status;
    expect(await post(headersFor(secrets[0]!))).toBe(200);
    const odd = oddHeaders.map((headers) => ({ ...headersFor(secrets[0]!), ...headers }));
    for (const headers of [headersFor(''), headersFor(secrets[0]!, 1), {}, ...odd]) {
      expect(await post(headers)).toBe(401);
    }
    await writeFile(file, codeOf('go', undefined, url));
    await buildGo(go ?? '', file, `${program}-without-secret`);
    for (const secret of unusableSecrets) {
      const ended = await run(`${program}-without-secret`, [], { WEBHOOK_SECRET: secret });
      expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining(secretDemand) });
    }
  }, 180_000);
});
