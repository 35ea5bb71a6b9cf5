import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createAddressPolicy, parseCidrs } from '../../src/values/address.js';
import { faultOfUrl } from '../../src/webhooks/webhook-url.js';
import { anyUrl } from '../support/any-url.js';

const policyFor = (text: string) => createAddressPolicy(parseCidrs(text)!);

const strict = policyFor('');
const loopback = policyFor('127.0.0.0/8,::1/128');

const codeOf = (text: string, policy = strict) => faultOfUrl(text, policy)?.code ?? 'ok';

describe('accepted', () => {
  test.each([
    'https://example.com',
    'HTTPS://Example.COM/Hook?a=1',
    'https://example.com:443/hook',
    'https://example.com:8443/hook',
    'https://example.com/a/../b',
    'https://example.com./',
    'https://bücher.example/ü',
    'https://example.com/%20?q=@me',
    'https://8.8.8.8/',
    'https://134744072/',
    'https://[2606:4700:4700:0::1111]/',
    'https://does-not-exist.invalid/',
  ])('%s', (text) => {
    expect(codeOf(text)).toBe('ok');
  });

  test('2,048 characters, and no more', () => {
    const head = 'https://example.com/';
    expect(codeOf(head.padEnd(2048, 'a'))).toBe('ok');
    expect(codeOf(head.padEnd(2049, 'a'))).toBe('url_too_long');
    expect(codeOf(head.padEnd(1000, 'ü'))).toBe('url_too_long');
  });
});

describe('refused', () => {
  test.each([
    ['', 'invalid_url'],
    ['example.com/hook', 'invalid_url'],
    ['localhost:8080/hook', 'invalid_url'],
    ['/hook', 'invalid_url'],
    ['//example.com/hook', 'invalid_url'],
    ['https:', 'invalid_url'],
    ['https://', 'invalid_url'],
    ['https:example.com', 'invalid_url'],
    ['https:/example.com', 'invalid_url'],
    ['https:///example.com', 'invalid_url'],
    ['https://?a=1', 'invalid_url'],
    ['https://:443/', 'invalid_url'],
    ['https://example.com:0/', 'invalid_url'],
    ['https://example.com:65536/', 'invalid_url'],
    ['https://example.com:port/', 'invalid_url'],
    ['https://./', 'invalid_url'],
    ['https://a..b/', 'invalid_url'],
    ['https://127.0.0.1../', 'invalid_url'],
    ['https://256.256.256.256/', 'invalid_url'],
    ['https://[::1/', 'invalid_url'],
    ['https://[fe80::1%25eth0]/', 'invalid_url'],
    [`https://${'a.'.repeat(127)}example/`, 'invalid_url'],
    [' https://example.com', 'invalid_url'],
    ['https://example.com ', 'invalid_url'],
    ['https://exam\tple.com/', 'invalid_url'],
    ['https://example.com/\nhook', 'invalid_url'],
    ['https://example.com/\u0000', 'invalid_url'],
    ['https://example.com/a b', 'invalid_url'],
    ['https://example.com/a\u00a0b', 'invalid_url'],
    ['https://exam\u00adple.com/', 'invalid_url'],
    ['https://example.com/\u202egnp', 'invalid_url'],
    ['https://example.com/\ud800', 'invalid_url'],
    ['https:\\\\example.com', 'invalid_url'],
    ['https://example.com\\@127.0.0.1/', 'invalid_url'],
    ['ftp://example.com/', 'scheme_not_allowed'],
    ['file:///etc/passwd', 'scheme_not_allowed'],
    ['javascript:alert(1)', 'scheme_not_allowed'],
    ['wss://example.com/', 'scheme_not_allowed'],
    ['http+unix://%2Fvar%2Frun%2Fx.sock/', 'scheme_not_allowed'],
    ['http://example.com/', 'scheme_not_allowed'],
    ['http://8.8.8.8/', 'scheme_not_allowed'],
    ['https://user@example.com/', 'user_info_not_allowed'],
    ['https://user:pass@example.com/', 'user_info_not_allowed'],
    ['https://@example.com/', 'user_info_not_allowed'],
    ['https://:@example.com/', 'user_info_not_allowed'],
    ['https://example.com@127.0.0.1/', 'user_info_not_allowed'],
    ['https://example.com/#top', 'fragment_not_allowed'],
    ['https://example.com/#', 'fragment_not_allowed'],
    ['https://127.0.0.1/', 'address_not_allowed'],
    ['https://0x7f.1/', 'address_not_allowed'],
    ['https://[::ffff:127.0.0.1]/', 'address_not_allowed'],
    ['https://169.254.169.254/latest/meta-data', 'address_not_allowed'],
    ['https://localhost/', 'address_not_allowed'],
    ['https://api.localhost./', 'address_not_allowed'],
    ['http://10.0.0.1/', 'address_not_allowed'],
  ])('%j: %s', (text, code) => {
    expect(codeOf(text)).toBe(code);
  });

  test('a blocked address is named, with its kind and a workaround', () => {
    const { detail } = faultOfUrl('https://2130706433/', strict)!;
    expect(detail).toContain('"127.0.0.1" is not a public address (loopback)');
    expect(detail).toContain('POSTHORN_EGRESS_ALLOW');
  });
});

describe('with an allow-list', () => {
  test.each([
    ['http://127.0.0.1:9000/hook', 'ok'],
    ['http://localhost:9000/hook', 'ok'],
    ['http://[::1]:9000/hook', 'ok'],
    ['http://[::ffff:127.0.0.1]/', 'ok'],
    ['https://127.0.0.1/', 'ok'],
    ['http://receiver.internal/', 'ok'],
    ['http://8.8.8.8/', 'scheme_not_allowed'],
    ['http://10.0.0.1/', 'address_not_allowed'],
    ['https://10.0.0.1/', 'address_not_allowed'],
  ])('%s: %s', (text, expected) => {
    expect(codeOf(text, loopback)).toBe(expected);
  });
});

test('an accepted URL is accepted again as it is sent', () => {
  const texts = fc.oneof(
    anyUrl,
    fc.string().map((tail) => `https://a.example/${tail}`),
  );
  fc.assert(
    fc.property(texts, (text) => {
      if (!faultOfUrl(text, loopback)) expect(faultOfUrl(new URL(text).href, loopback)).toBeUndefined();
    }),
  );
});
