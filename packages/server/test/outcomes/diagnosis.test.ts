import { createReceiver, type Refusal } from '@posthorn/receiver';
import { signedRequest } from '@posthorn/receiver/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { diagnose } from '../../src/outcomes/diagnosis.js';
import type { FailedAttempt, NextAttempt } from '../../src/outcomes/failed-attempt.js';
import { attemptErrors, type Evidence, evidenceOf, type Outcome } from '../../src/outcomes/outcome.js';
import { anyCharacter } from '../support/any-character.js';
import { anyUrl } from '../support/any-url.js';

const url = 'https://hooks.acme.test/orders';
const attemptedAt = new Date('2026-11-16T20:41:07.120Z');

const dueAt = new Date('2026-11-17T08:41:07.120Z');

/** A failed attempt of a delivery that is due again, but for what is given. */
type Given = Partial<Omit<FailedAttempt, 'purpose'>> & {
  purpose?: FailedAttempt['purpose'];
  next?: NextAttempt;
};

function said(fields: Given, evidence: Partial<Evidence> = {}) {
  const { error_detail, remedy } = diagnose({
    ...{ purpose: 'delivery', next: { kind: 'due', at: dueAt } },
    ...{ attemptedAt, url, durationMs: 10_003, httpStatus: null, error: null },
    ...{ response: null, evidence: { url, ...evidence }, ...fields },
  } as FailedAttempt);
  return [error_detail, remedy];
}

describe('without a status', () => {
  test.each<[string, Partial<Evidence>, string, string]>([
    ['dns', {}, 'hooks.acme.test does not resolve.', 'Check the host name.'],
    [
      'connect',
      { code: 'ECONNREFUSED' },
      'Nothing is listening on hooks.acme.test:443.',
      'Start the receiver',
    ],
    [
      'connect',
      { code: 'EHOSTUNREACH' },
      'There is no route to hooks.acme.test:443.',
      'Check that the receiver',
    ],
    ['connect', {}, 'Could not connect to hooks.acme.test:443.', 'Check that the receiver'],
    [
      'timeout',
      { code: 'connect_timeout' },
      'No connection to hooks.acme.test:443 within 10 s.',
      'A firewall',
    ],
    [
      'timeout',
      { code: 'tls_timeout' },
      'hooks.acme.test:443 accepted the connection, but the TLS handshake did not finish within 10 s.',
      'Check that this port speaks TLS',
    ],
    ['timeout', {}, 'No response within 10 s.', 'Store the event, respond with 2xx, then do the slow work.'],
    [
      'reset',
      {},
      'The connection to hooks.acme.test:443 was closed before a response arrived.',
      'Check whether',
    ],
    ['protocol', {}, 'The response from hooks.acme.test:443 was not HTTP/1.1.', 'Check that the port'],
    [
      'blocked_address',
      { code: 'blocked_address', address: '10.0.0.5' },
      'hooks.acme.test resolves to 10.0.0.5, which is not a public address.',
      'Use a public address',
    ],
    [
      'blocked_address',
      { code: 'plain_http', address: '93.184.216.34' },
      'The URL uses http',
      'Use an https URL.',
    ],
    [
      'tls',
      { code: 'CERT_HAS_EXPIRED', ended: 'Nov  3 00:00:00 2026 GMT' },
      'The certificate of hooks.acme.test expired on 3 Nov 2026.',
      'Renew the certificate.',
    ],
    ['tls', { code: 'CERT_HAS_EXPIRED' }, 'The certificate of hooks.acme.test expired.', 'Renew'],
    [
      'tls',
      { code: 'CERT_NOT_YET_VALID' },
      'The certificate of hooks.acme.test is not valid yet.',
      'check the clock',
    ],
    [
      'tls',
      { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
      'is self-signed.',
      'from a public certificate authority',
    ],
    [
      'tls',
      { code: 'SELF_SIGNED_CERT_IN_CHAIN' },
      'was issued by a private certificate authority.',
      'from a public certificate authority',
    ],
    ['tls', { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }, 'its chain is incomplete.', 'the full chain'],
    [
      'tls',
      { code: 'ERR_TLS_CERT_ALTNAME_INVALID', names: 'DNS:other.test' },
      'The certificate is for other.test, not for hooks.acme.test.',
      'Use a certificate for hooks.acme.test',
    ],
    ['tls', { code: 'CERT_REVOKED' }, 'was revoked.', 'Replace the certificate.'],
    [
      'tls',
      { code: 'ERR_SSL_WRONG_VERSION_NUMBER' },
      'hooks.acme.test:443 does not use TLS',
      'Correct the port',
    ],
    [
      'tls',
      { code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' },
      'requires a client certificate.',
      'Do not require',
    ],
    [
      'tls',
      { code: 'ECONNRESET' },
      'closed the connection during the TLS handshake.',
      'no client certificate',
    ],
    [
      'tls',
      { code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' },
      'TLS versions that are no longer secure',
      'TLS 1.2',
    ],
    [
      'tls',
      { code: 'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE' },
      'refused the TLS handshake',
      'the standard TLS 1.2 and 1.3 ciphers',
    ],
    [
      'tls',
      { code: 'ERR_SSL_X', message: 'bad record mac' },
      'failed: bad record mac.',
      'Check the TLS settings',
    ],
  ])('%s %j', (error, evidence, detail, remedy) => {
    const [happened, todo] = said({ error }, evidence);
    expect(happened).toContain(detail);
    expect(todo).toContain(remedy);
  });

  test('a connection that was closed is explained with TLS only if the URL has http', () => {
    const hint = 'If this port expects TLS, use https in the URL.';
    expect(said({ error: 'reset' }, { url: 'http://127.0.0.1:8443/' })[1]).toContain(hint);
    expect(said({ error: 'reset' })[1]).not.toContain(hint);
  });

  test.each([
    ['https://127.0.0.1:3000/', true],
    ['https://[::1]:3000/', true],
    ['https://localhost:3000/', true],
    ['https://172.18.0.4/', true],
    ['https://93.184.216.34/', false],
    ['https://hooks.acme.test/', false],
  ])(
    'a port of %s without TLS is explained with http in the URL if that is known to be allowed: %s',
    (of, is) => {
      const [, remedy] = said({ error: 'tls' }, { url: of, code: 'ERR_SSL_WRONG_VERSION_NUMBER' });
      expect(remedy?.startsWith('Use http:// in the URL, ')).toBe(is);
      expect(remedy).toContain('enable TLS on that port.');
    },
  );
});

describe('with a status', () => {
  test.each([
    '<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>\r\n<body>\r\n',
    "<p>Your browser sent a request.<br />\nReason: You're speaking plain HTTP to an SSL-enabled server port.<br />",
    'Client sent an HTTP request to an HTTPS server.\n',
  ])('that a port that expects TLS returned, the remedy is https in the URL: %s', (response) => {
    const remedy = 'This port expects TLS. Use https in the URL.';
    const plain = { url: 'http://hooks.acme.test:8443/' };
    expect(said({ httpStatus: 400, response }, plain)[1]).toBe(remedy);
    expect(said({ httpStatus: 400, response })[1]).not.toBe(remedy);
  });

  test.each<[number, Given, Partial<Evidence>, string, string]>([
    [
      302,
      {},
      { headers: { location: '/new' } },
      'The receiver redirected to https://hooks.acme.test/new',
      'Change the URL',
    ],
    [
      301,
      {},
      { headers: { location: 'https://b.test/x' } },
      'The receiver redirected to https://b.test/x',
      'Change the URL',
    ],
    [
      302,
      {},
      { headers: { location: '/login?next=/' } },
      'The receiver redirected to',
      'Do not require a login for the URL of the webhook',
    ],
    [307, {}, { headers: { location: '/blossom' } }, 'The receiver redirected to', 'Change the URL'],
    [
      307,
      {},
      { headers: { location: '/orders' } },
      'The receiver redirected to',
      'Respond with 2xx instead of a redirect.',
    ],
    [302, {}, {}, 'without a valid redirect target', 'Respond with 2xx at this URL.'],
    [
      400,
      { response: 'missing field' },
      {},
      'rejected the request with 400; its response says "missing field".',
      'expects',
    ],
    [
      401,
      { response: '{"error":"no"}' },
      {},
      'refused the request with 401; its response says "no".',
      'raw body',
    ],
    [403, {}, {}, 'The receiver refused the request with 403.', 'the secret of this webhook'],
    [403, {}, {}, 'The receiver refused the request with 403.', 'exempt this path from it.'],
    [404, {}, {}, 'There is no handler for POST /orders', 'Correct the path'],
    [405, {}, {}, 'There is no handler for POST /orders', 'Accept POST'],
    [408, {}, {}, 'gave up waiting', 'Raise the time'],
    [410, {}, {}, 'responded with 410 Gone, which disables a webhook.', 'activate the webhook'],
    [410, { purpose: 'test' }, {}, 'The receiver responded with 410 Gone.', 'correct its response'],
    [413, { bodyBytes: 212_400 }, {}, 'does not accept a body of 212 kB', 'Raise the limit'],
    [415, {}, {}, 'does not accept application/json', 'Accept requests'],
    [
      429,
      {},
      { headers: { 'retry-after': '1380' } },
      'asked the service to wait until 16 Nov 2026 21:04:07 UTC',
      'You do not need to do anything',
    ],
    [
      503,
      {},
      { headers: { 'retry-after': 'Mon, 16 Nov 2026 22:00:00 GMT' } },
      'wait until 16 Nov 2026 22:00:00 UTC',
      'set a rate limit',
    ],
    [503, {}, {}, 'The receiver is not available (status 503).', 'increase the capacity'],
    [429, { purpose: 'verification' }, {}, 'more requests than it can handle', 'Verify the webhook again'],
    [
      500,
      { response: '<html><title>Oops &amp; more</title>', deliveryId: 'WDLV-1' },
      {},
      'The receiver failed with 500; its response says "Oops & more".',
      'Look at its logs around 16 Nov 2026 20:41:07 UTC; the request had X-Service-Delivery WDLV-1.',
    ],
    [599, {}, {}, 'The receiver failed with 599.', 'Look at its logs'],
    [
      500,
      { response: '\ufffdPNG\r\n\x1a\n\ufffd\ufffd' },
      { headers: { 'content-type': 'image/png' } },
      'The receiver failed with 500; its response is binary data (image/png).',
      'Look at its logs',
    ],
    [
      400,
      { response: '\ufffd\ufffd\ufffd' },
      {},
      'The receiver rejected the request with 400; its response is binary data.',
      'expects',
    ],
    [777, {}, {}, 'responded with 777, which is not an HTTP status', 'Respond with 2xx'],
    [
      204,
      { purpose: 'verification' },
      {},
      'Verification needs exactly 200',
      'Respond with 200 to webhook.verification.',
    ],
  ])('%i %j %j', (httpStatus, fields, evidence, detail, remedy) => {
    const [happened, todo] = said({ httpStatus, ...fields }, evidence);
    expect(happened).toContain(detail);
    expect(todo).toContain(remedy);
  });
});

describe('a refusal of @posthorn/receiver', () => {
  const secret = 'a-secret-of-the-tests';
  const { headers, body } = signedRequest('invoice.paid', { secret, sentAt: attemptedAt });
  const minutesAway = (minutes: number) => () => new Date(attemptedAt.getTime() + minutes * 60_000);
  const without = (name: string) => ({ ...headers, [name]: '' });
  const receiving = {
    headers,
    body,
    secret: secret as string | undefined,
    now: minutesAway(0),
  };
  /** What each receiver does to its requests, and what has to be done about it. */
  const refusals: Record<Refusal, [Partial<typeof receiving>, RegExp]> = {
    no_secret: [{ secret: undefined }, /^Set the secret of this webhook/],
    malformed_secret: [{ secret: `${secret}\n` }, /^Correct the secret in the configuration/],
    body_not_raw: [{ body: JSON.parse(body) }, /^Give the receiver the raw body/],
    missing_signature: [{ headers: {} }, /no proxy .* removes or changes webhook-id/],
    missing_timestamp: [{ headers: without('webhook-timestamp') }, /no proxy .* removes or changes/],
    malformed_timestamp: [{ headers: { ...headers, 'webhook-timestamp': 'now' } }, /no proxy .* or changes/],
    malformed_signature: [{ headers: { ...headers, 'webhook-signature': 'v1' } }, /no proxy .* or changes/],
    signature_mismatch: [{ secret: 'another-secret' }, /^Check that it uses the secret .* the raw body/],
    timestamp_too_old: [{ now: minutesAway(60) }, /^Correct the clock .* If requests wait in a queue/],
    timestamp_in_future: [{ now: minutesAway(-60) }, /^Correct the clock of the machine/],
  };

  test.each(Object.entries(refusals))(
    'gets the remedy for its reason: %s',
    async (reason, [change, remedy]) => {
      const { secret, now, ...sent } = { ...receiving, ...change };
      const receiver = createReceiver({ secret, now, on: {}, log: () => undefined });
      const { status, text } = await receiver.receive(sent.body, sent.headers);
      const [happened, todo] = said({ httpStatus: status, response: text });
      expect(happened).toContain(`"${reason}: `);
      expect(todo).toMatch(remedy);
    },
  );

  test('gets it with any status that says only that the request failed, and whatever the detail is', () => {
    const anyRefusal = fc.constantFrom(...(Object.keys(refusals) as Refusal[]));
    const anyStatus = fc.constantFrom(400, 401, 403, 422, 500, 502);
    fc.assert(
      fc.property(anyRefusal, anyStatus, fc.lorem({ maxCount: 200 }), (reason, httpStatus, detail) => {
        expect(said({ httpStatus, response: `${reason}: ${detail}` })[1]).toMatch(refusals[reason][1]);
      }),
    );
  });

  test.each(['constructor: no', 'timestamp_too_old', 'a timestamp_too_old: no', 'timestamp_too_old:no'])(
    'is only a known reason followed by a colon: %s',
    (response) => {
      expect(said({ httpStatus: 401, response })[1]).toMatch(/^Check that it uses the secret/);
    },
  );
});

describe('what follows an attempt', () => {
  const noWait = {};
  const longWait = { headers: { 'retry-after': '172800' } };
  const forever = { headers: { 'retry-after': '9'.repeat(30) } };
  const made: NextAttempt = { kind: 'made', at: dueAt };
  const slower = 'increase the capacity of the receiver or set a rate limit for this webhook';
  test.each<[string, Given, Partial<Evidence>, string, string]>([
    [
      'a limited wait names the time of the next attempt',
      {},
      longWait,
      'The receiver asked the service to wait until 18 Nov 2026 20:41:07 UTC (status 503); the next attempt is due at 17 Nov 2026 08:41:07 UTC.',
      `You do not need to do anything: the service will try again. If this persists, ${slower}.`,
    ],
    [
      'so does one that was limited',
      { next: made },
      forever,
      'The receiver asked the service to wait for thousands of years (status 503); the next attempt was made at 17 Nov 2026 08:41:07 UTC.',
      `You do not need to do anything: the service tried again. If this persists, ${slower}.`,
    ],
    [
      'the last attempt promises no other one',
      { next: { kind: 'none' } },
      longWait,
      'The receiver asked the service to wait until 18 Nov 2026 20:41:07 UTC (status 503).',
      `There will be no further attempts. To deliver the event, ${slower}, then redeliver it.`,
    ],
    [
      'a test is one attempt',
      { purpose: 'test' },
      noWait,
      'The receiver is not available (status 503).',
      'A test makes one attempt and is not retried. Test again later, or increase the capacity of the receiver.',
    ],
    [
      'a verification is one attempt',
      { purpose: 'verification' },
      longWait,
      'The receiver asked the service to wait until 18 Nov 2026 20:41:07 UTC (status 503).',
      'Verify the webhook again after that, or increase the capacity of the receiver.',
    ],
  ])('is told: %s', (_name, fields, evidence, detail, remedy) => {
    expect(said({ httpStatus: 503, ...fields }, evidence)).toEqual([detail, remedy]);
  });
});

test('an attempt from before evidence was kept is explained with the URL of the webhook', () => {
  expect(said({ error: 'dns', evidence: null })[0]).toBe('hooks.acme.test does not resolve.');
});

const anyText = fc.string({ unit: anyCharacter, maxLength: 2_000 });
const anyHeaders = fc.dictionary(
  fc.constantFrom('content-type', 'location', 'retry-after', 'server', 'set-cookie'),
  fc.oneof(anyText, fc.array(anyText, { maxLength: 3 })),
);
const anyOutcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({
    kind: fc.constant('response' as const),
    httpStatus: fc.integer({ min: 200, max: 999 }),
    durationMs: fc.nat(),
    response: fc.option(
      fc.oneof(
        anyText,
        anyText.map((text) => `timestamp_too_old: ${text}`),
      ),
    ),
    headers: anyHeaders,
    retryAfterMs: fc.constant(undefined),
  }),
  fc.record({
    kind: fc.constant('no_response' as const),
    error: fc.constantFrom(...attemptErrors),
    durationMs: fc.nat(),
    detail: fc.option(
      fc.record({
        ...{ code: fc.option(anyText, { nil: undefined }), message: anyText },
        altNames: fc.option(anyText, { nil: undefined }),
        validTo: fc.option(anyText, { nil: undefined }),
        address: fc.option(anyText, { nil: undefined }),
      }),
      { nil: undefined },
    ),
  }),
);

const anyNext: fc.Arbitrary<NextAttempt> = fc.oneof(
  fc.record({ kind: fc.constantFrom('due' as const, 'made' as const), at: fc.date({ noInvalidDate: true }) }),
  fc.constant({ kind: 'none' as const }),
);
const anyPurpose = fc.oneof(
  fc.record({ purpose: fc.constantFrom('test' as const, 'verification' as const) }),
  fc.record({ purpose: fc.constant('delivery' as const), next: anyNext }),
);

/** Returns what is said of an outcome, with its evidence as the database returns it. */
function explained(
  outcome: Outcome,
  purpose: { purpose: 'test' | 'verification' } | { purpose: 'delivery'; next: NextAttempt },
  where: string,
  at: Date,
) {
  const hasResponse = outcome.kind === 'response';
  return diagnose({
    ...purpose,
    ...{ attemptedAt: at, url: where, durationMs: outcome.durationMs },
    httpStatus: hasResponse ? outcome.httpStatus : null,
    error: hasResponse ? null : outcome.error,
    response: hasResponse ? outcome.response : null,
    evidence: JSON.parse(JSON.stringify(evidenceOf(outcome, new URL(where)))),
  });
}

const inOneLine = /^[^\p{Cc}\p{Zl}\p{Zp}\p{Cs}]+$/u;

describe('whatever a receiver does', () => {
  test('both sentences are there, on one line, and of bounded length', () => {
    fc.assert(
      fc.property(
        ...[anyOutcome, anyUrl, anyPurpose, fc.date({ noInvalidDate: true })],
        (outcome, where, purpose, at) => {
          const { error_detail, remedy } = explained(outcome, purpose, where, at);
          for (const text of [error_detail, remedy]) {
            expect(text).toMatch(inOneLine);
            expect(text.length).toBeLessThanOrEqual(500);
          }
        },
      ),
    );
  });

  test('the remedy fits: another attempt only if one follows, exactly 200 for a verification', () => {
    fc.assert(
      fc.property(anyOutcome, anyPurpose, (outcome, purpose) => {
        const { remedy, error_detail } = explained(outcome, purpose, url, attemptedAt);
        const isFollowed = purpose.purpose === 'delivery' && purpose.next.kind !== 'none';
        if (!isFollowed)
          expect(`${error_detail} ${remedy}`).not.toMatch(/we (will try|tried) again|next attempt/);
        if (purpose.purpose === 'verification') expect(remedy).not.toMatch(/\b(2xx|20[1-9])\b/);
        if (purpose.purpose !== 'delivery') expect(remedy).not.toMatch(/redeliver|rate limit/);
      }),
    );
  });

  test('what is kept of it can be stored, is small, and has only the headers that explain something', () => {
    fc.assert(
      fc.property(anyOutcome, (outcome) => {
        const evidence = evidenceOf(outcome, new URL(url));
        const text = JSON.stringify(evidence);
        expect(text.length).toBeLessThan(6_000);
        expect(text.isWellFormed() && !text.includes('\\u0000') && !/\\ud[89a-f]/i.test(text)).toBe(true);
        expect(evidence.headers ?? {}).not.toHaveProperty('set-cookie');
      }),
    );
  });

  test('no message of the network is kept, which could name an address', () => {
    for (const error of ['dns', 'connect', 'timeout', 'reset', 'blocked_address'] as const) {
      const detail = {
        ...{ code: 'E', message: 'connect ECONNREFUSED 10.0.0.5:443' },
        ...{ altNames: undefined, validTo: undefined, address: undefined },
      };
      const kept = evidenceOf({ kind: 'no_response', error, durationMs: 1, detail }, new URL(url));
      expect(JSON.stringify(kept)).not.toContain('10.0.0.5');
    }
  });
});
