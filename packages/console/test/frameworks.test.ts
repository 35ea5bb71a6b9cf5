import { execFileSync, spawnSync } from 'node:child_process';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { frameworks } from '../src/views/webhooks/frameworks.js';
import { placeOf } from '../src/views/webhooks/receiver-place.js';

const body = Buffer.from('{"id":"EVT-1","type":"invoice.paid","data":{"title":"Über 1.50"}}');
const secrets = [`whsec_${Buffer.alloc(32, 7).toString('base64')}`, 'a-secret-of-the-users-own'];

/** Headers as the service sends them, with an older secret's signature first. */
function headersFor(secret: string, sentAt = Math.floor(Date.now() / 1_000)): Record<string, string> {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
  const signature = createHmac('sha256', key).update(`EVT-1.${sentAt}.`).update(body).digest('base64');
  return {
    'webhook-id': 'EVT-1',
    'webhook-timestamp': String(sentAt),
    'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')} v1,${signature}`,
  };
}

const codeOf = (key: string, secret: string) =>
  frameworks.find((one) => one.key === key)!.code(secret, placeOf(''));

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
  it.each(secrets)('accepts what the service signs with %s, and nothing else', (secret) => {
    const source = /function isValid[\s\S]*?\n}/.exec(codeOf(key, secret))?.[0];
    const make = new Function('createHmac', 'timingSafeEqual', 'secret', `${source}; return isValid;`);
    const isValid = make(createHmac, timingSafeEqual, secret);
    expect(isValid(body, headersFor(secret))).toBe(true);
    expect(isValid(Buffer.from(`${body} `), headersFor(secret))).toBe(false);
    expect(isValid(body, headersFor('another secret of 16'))).toBe(false);
    expect(isValid(body, headersFor(secret, Date.now() / 1_000 - 3_600))).toBe(false);
    expect(isValid(body, {})).toBe(false);
    expect(codeOf(key, secret)).toContain(secret);
  });
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
    ]);
    const printed = execFileSync('python3', ['-c', program], { input }).toString();
    expect(printed.trim().split('\n')).toEqual(['True', 'False', 'False', 'False']);
  });
});
