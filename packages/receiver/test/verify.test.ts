import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { anyCharacter } from '../../server/test/support/any-character.js';
import {
  type Envelope,
  type ReceivedHeaders,
  sign,
  signingKey,
  type VerifyOptions,
  verify,
} from '../src/index.js';

const id = 'EVT-01HZX3V5J8Q2K4M6N8P0R2T4W6';
const timestamp = new Date('2025-01-15T09:30:00.000Z');
const now = timestamp;
const whsec = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const chosen = 'ein-Geheimnis-für-alle';
const body =
  '{"id":"EVT-01HZX3V5J8Q2K4M6N8P0R2T4W6","type":"incident.opened","created_at":"2025-01-15T09:30:00.000Z",' +
  '"organization_id":"ORG-1","workspace_id":null,' +
  '"data":{"id":"INC-1","service_line_id":"LIN-1","severity":"p1","title":"Überlast – läuft"}}';

function signed(overrides: { key?: string; previous?: string; body?: string } = {}): Record<string, string> {
  const { key = whsec, previous } = overrides;
  return { ...sign(overrides.body ?? body, { id, timestamp, key, previous }) };
}

function without(headers: Record<string, string>, ...names: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}

const serviceOnly = (headers: Record<string, string>) =>
  without(headers, 'webhook-id', 'webhook-timestamp', 'webhook-signature');
const standardOnly = (headers: Record<string, string>) =>
  without(headers, 'X-Service-Signature', 'X-Service-Signature-Previous');

function reasonOf(
  headers: unknown,
  { raw = body, secret = whsec, ...options }: VerifyOptions & { raw?: unknown; secret?: unknown } = {},
): string {
  const result = verify(raw as string, headers as ReceivedHeaders, secret as string, { now, ...options });
  if (!result.ok) expect(result.detail).toMatch(/ .*\.$/);
  return result.ok ? 'ok' : result.reason;
}

// Secrets the contract takes: 16–256 characters, none of them a control character.
const plainSecret = fc.string({ minLength: 16, maxLength: 64, unit: 'grapheme' });
const whsecSecret = fc
  .uint8Array({ minLength: 8, maxLength: 64 })
  .map((bytes) => `whsec_${Buffer.from(bytes).toString('base64')}`);
const anySecret = fc.oneof(plainSecret, whsecSecret);
const anyBody = fc.oneof(fc.uint8Array({ maxLength: 512 }), fc.string({ unit: anyCharacter }), fc.json());

describe('fixed vectors', () => {
  // Every digest below comes from openssl, with the body above in the file env.json and k being the key
  // in hex: `printf %s "$secret" | xxd -p -c99`, or for a decoded whsec_ secret
  // `printf %s "${secret#whsec_}" | base64 -d | xxd -p -c99`.
  //   X-Service-Signature: openssl dgst -sha256 -mac HMAC -macopt hexkey:$k < env.json
  //   webhook-signature:   (printf "$id.1736933400."; cat env.json) |
  //                          openssl dgst -sha256 -mac HMAC -macopt hexkey:$k -binary | base64
  test.each([
    {
      kind: 'a secret of its own is keyed by its UTF-8 bytes in both signatures',
      key: chosen,
      service: '79af815c540f6b962733658e94ac029b39e92ad498b8b6144085f7b45b2d3538',
      standard: 'QkkVo3f/+uQTvSKU8PJxPnyHz+QKM/kbZu0PQiAITiw=',
    },
    {
      kind: 'a whsec_ secret is decoded for webhook-signature and used whole for X-Service-Signature',
      key: whsec,
      service: 'a7a452e62ab0e8918f68d52d3fdba4685159ef9018ff7b3fcf78299d4c9ab794',
      standard: '31dNNT2NuT6wrm5nD27l4un3l1xtHcSAZjlWNZ8JatQ=',
    },
    {
      kind: 'a whsec_ secret that is not base64 is used whole in both signatures',
      key: 'whsec_not base64 at all',
      service: 'b0da1404fddd334e9ccf239ecdc43407514be3a1419b3189ef7a8613fc31ed84',
      standard: 'J4eNfa4Kgy03bVURnk6XJ8TQ++cQeK0yJl4GRvUH5cY=',
    },
  ])('$kind', ({ key, service, standard }) => {
    const headers = {
      'X-Service-Signature': `sha256=${service}`,
      'webhook-id': id,
      'webhook-timestamp': '1736933400',
      'webhook-signature': `v1,${standard}`,
    };
    expect(sign(body, { id, timestamp, key })).toEqual(headers);
    expect(sign(Buffer.from(body), { id, timestamp, key: signingKey(key) })).toEqual(headers);
    expect(verify(body, serviceOnly(headers), key)).toEqual({ ok: true, signedAt: null });
    expect(verify(body, standardOnly(headers), key, { now })).toEqual({ ok: true, signedAt: timestamp });
  });

  test('the vector from the tests of the Standard Webhooks libraries', () => {
    const headers = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    };
    const at = new Date(1_614_265_330_000);
    expect(verify('{"test": 2432232314}', headers, whsec, { now: at })).toEqual({ ok: true, signedAt: at });
  });
});

describe('the standardwebhooks package, as an independent implementation', () => {
  // It looks at the real clock, and takes other secrets only in its raw format, as bytes.
  const theirs = (secret: string) =>
    secret.startsWith('whsec_')
      ? new Webhook(secret)
      : new Webhook(new TextEncoder().encode(secret), { format: 'raw' });

  test('accepts what sign produces, with every kind of secret and during a rotation', () => {
    fc.assert(
      fc.property(anySecret, fc.option(anySecret, { nil: undefined }), fc.json(), (key, previous, json) => {
        const headers = { ...sign(json, { id, timestamp: new Date(), key, previous }) };
        expect(() => theirs(key).verify(json, headers)).not.toThrow();
        if (previous !== undefined) expect(() => theirs(previous).verify(json, headers)).not.toThrow();
      }),
      { numRuns: 50 },
    );
  });

  test('signs what verify accepts', () => {
    fc.assert(
      fc.property(anySecret, fc.json(), (secret, json) => {
        const headers = {
          'webhook-id': 'msg_1',
          'webhook-timestamp': '1736933400',
          'webhook-signature': theirs(secret).sign('msg_1', timestamp, json),
        };
        expect(verify(json, headers, secret, { now })).toEqual({ ok: true, signedAt: timestamp });
      }),
      { numRuns: 50 },
    );
  });

  test('agrees on every whsec_ secret that it accepts; a secret that it refuses is used as its UTF-8 bytes', () => {
    const nearBase64 = fc.string({ unit: fc.constantFrom(...'abYZ09+/=-_ \né'), maxLength: 12 });
    fc.assert(
      fc.property(fc.oneof(nearBase64, fc.string()), (rest) => {
        const key = `whsec_${rest}`;
        let other: Webhook;
        try {
          other = new Webhook(key);
        } catch {
          other = new Webhook(new TextEncoder().encode(key), { format: 'raw' });
        }
        expect(sign(body, { id, timestamp, key })['webhook-signature']).toBe(other.sign(id, timestamp, body));
      }),
      { numRuns: 2000 },
    );
  });
});

describe('sign, then verify', () => {
  test('accepts each signature on its own, for any body and secret', () => {
    fc.assert(
      fc.property(anyBody, anySecret, (raw, key) => {
        const headers = { ...sign(raw, { id, timestamp, key }) };
        expect(verify(raw, headers, key, { now, requireTimestamp: true }).ok).toBe(true);
        expect(verify(raw, serviceOnly(headers), key).ok).toBe(true);
        expect(verify(raw, standardOnly(headers), signingKey(key), { now }).ok).toBe(true);
      }),
    );
  });

  test('accepts the same body as text, bytes or ArrayBuffer', () => {
    const bytes = new TextEncoder().encode(body);
    for (const raw of [body, Buffer.from(body), bytes, bytes.buffer, bytes.subarray(0)]) {
      expect(reasonOf(signed(), { raw })).toBe('ok');
    }
  });

  test('refuses a body with any byte changed', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 256 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (raw, at, flip) => {
          const headers = { ...sign(raw, { id, timestamp, key: whsec }) };
          const changed = Uint8Array.from(raw);
          changed[at % raw.length]! ^= flip;
          for (const some of [headers, serviceOnly(headers), standardOnly(headers)]) {
            expect(verify(changed, some, whsec, { now }).ok).toBe(false);
          }
        },
      ),
    );
  });

  test('refuses a signature with any character changed, and an id or time that was not signed', () => {
    fc.assert(
      fc.property(fc.nat(), fc.constantFrom(...'0123456789abcdefghXYZ+/=, .'), (at, character) => {
        const alter = (value: string) => {
          const index = at % value.length;
          return value.slice(0, index) + character + value.slice(index + 1);
        };
        const headers = signed();
        for (const [name, others] of [
          ['X-Service-Signature', serviceOnly(headers)],
          ['webhook-id', standardOnly(headers)],
          ['webhook-timestamp', standardOnly(headers)],
          ['webhook-signature', standardOnly(headers)],
        ] as const) {
          const altered = alter(headers[name]!);
          if (altered === headers[name]) continue;
          const options = { now, toleranceSeconds: Number.POSITIVE_INFINITY };
          expect(verify(body, { ...others, [name]: altered }, whsec, options).ok).toBe(false);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('never throws, whatever the arguments', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), fc.anything(), (raw, headers, secret) => {
        const withSignature = { ...signed(), ...(headers as object) };
        for (const some of [headers, withSignature]) {
          const result = verify(raw as string, some as ReceivedHeaders, secret as string);
          expect(result.ok).toBe(false);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('headers', () => {
  test('are found in upper and lower case, in a record, a Headers and lists of values', () => {
    const headers = signed();
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    const lists = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
    for (const form of [headers, upper, lists, new Headers(headers)]) {
      expect(verify(body, form, whsec, { now, requireTimestamp: true }).ok).toBe(true);
      expect(verify(body, form, whsec, { now }).ok).toBe(true);
    }
  });

  test('that appear twice are accepted if one of their signatures is valid', () => {
    const good = signed();
    const bad = signed({ key: chosen });
    const twice = Object.fromEntries(
      ['X-Service-Signature', 'webhook-signature'].map((name) => [name, [bad[name]!, good[name]!]]),
    );
    const service = { 'X-Service-Signature': twice['X-Service-Signature'] };
    const standard = { ...standardOnly(good), 'webhook-signature': twice['webhook-signature'] };
    for (const form of [service, standard]) {
      expect(verify(body, form, whsec, { now }).ok).toBe(true);
      const appended = new Headers();
      for (const [name, values] of Object.entries(form)) {
        for (const value of [values].flat()) if (value !== undefined) appended.append(name, value);
      }
      expect(verify(body, appended, whsec, { now }).ok).toBe(true);
    }
  });

  test('of a real request are accepted as Node provides them', async () => {
    const received: { headers: IncomingHttpHeaders; raw: Buffer }[] = [];
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      received.push({ headers: request.headers, raw: Buffer.concat(chunks) });
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers: signed(), body });
      const { headers, raw } = received[0]!;
      expect(verify(raw, headers, whsec, { now })).toEqual({ ok: true, signedAt: timestamp });
      const envelope = JSON.parse(raw.toString()) as Envelope<{ severity: string }>;
      expect(envelope.data.severity).toBe('p1');
    } finally {
      server.close();
    }
  });
});

describe('secrets', () => {
  test('need to match only once; empty and unset ones are ignored', () => {
    expect(reasonOf(signed(), { secret: [chosen, undefined, '', whsec] })).toBe('ok');
    expect(reasonOf(signed(), { secret: [chosen, 'neither-this-one'] })).toBe('signature_mismatch');
  });

  test.each([
    [''],
    ['whsec_'],
    [' '],
    ['whsec_\n'],
    [undefined],
    [null],
    [[]],
    [['', undefined]],
    [{}],
    [17],
  ])('that are unset or unusable (%j) refuse everything', (secret) => {
    const result = verify(body, signed(), secret as string, { now });
    expect(result).toMatchObject({ ok: false, reason: 'no_secret' });
  });

  test('cannot be empty when signing', () => {
    expect(() => signingKey('')).toThrow(TypeError);
  });

  test('never show in a logged key', () => {
    const shown = inspect(signingKey(chosen), { depth: 9, showHidden: true });
    expect(shown).not.toContain('Geheimnis');
    expect(JSON.stringify(signingKey(chosen))).toBe('{"service":{},"standard":{}}');
  });

  test('old and new are both accepted during the grace period of a rotation, by each signature', () => {
    const headers = signed({ key: chosen, previous: whsec });
    expect(Object.keys(headers)).toContain('X-Service-Signature-Previous');
    expect(headers['webhook-signature']!.split(' ')).toHaveLength(2);
    for (const secret of [chosen, whsec]) {
      expect(reasonOf(serviceOnly(headers), { secret })).toBe('ok');
      expect(reasonOf(standardOnly(headers), { secret })).toBe('ok');
    }
    expect(reasonOf(headers, { secret: 'neither-this-one' })).toBe('signature_mismatch');
  });
});

describe('refusals', () => {
  test('missing_signature: no signature, or incomplete Standard Webhooks headers', () => {
    expect(reasonOf({})).toBe('missing_signature');
    expect(reasonOf(undefined)).toBe('missing_signature');
    expect(reasonOf({ 'X-Service-Signature': '' })).toBe('missing_signature');
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
      const result = verify(body, standardOnly(without(signed(), name)), whsec, { now });
      expect(result).toEqual({
        ok: false,
        reason: 'missing_signature',
        detail: `The request has no ${name} header.`,
      });
    }
    expect(reasonOf({}, { requireTimestamp: true })).toBe('missing_signature');
  });

  test.each([
    ['without sha256=', (hex: string) => hex, /does not start with sha256=/],
    ['of another algorithm', (hex: string) => `sha1=${hex}`, /does not start with sha256=/],
    ['of the wrong length', (hex: string) => `sha256=${hex.slice(1)}`, /63 characters/],
    ['that is not hexadecimal', (hex: string) => `sha256=${hex.slice(1)}g`, /not hexadecimal/],
  ])('malformed_signature: one %s', (_, spoil, detail) => {
    const hex = signed()['X-Service-Signature']!.slice('sha256='.length);
    const result = verify(body, { 'X-Service-Signature': spoil(hex) }, whsec);
    expect(result).toMatchObject({ ok: false, reason: 'malformed_signature' });
    expect(result).toHaveProperty('detail', expect.stringMatching(detail));
  });

  test('malformed_signature: a webhook-signature without a v1 of 32 bytes', () => {
    for (const value of [
      'v1',
      'v1,',
      'v1,AAAA',
      'v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      'ü'.repeat(47),
    ]) {
      expect(reasonOf({ ...standardOnly(signed()), 'webhook-signature': value })).toBe('malformed_signature');
    }
  });

  test('malformed_signature: an id with a period, which could pass one signed body off as another', () => {
    const outer = '{"title":".1736933400.{}"}';
    const { 'webhook-signature': signature } = sign(outer, { id, timestamp, key: whsec });
    const [before, inner] = outer.split('.1736933400.');
    const smuggled = {
      'webhook-id': `${id}.1736933400.${before}`,
      'webhook-timestamp': '1736933400',
      'webhook-signature': signature,
    };
    expect(new Webhook(whsec).sign(smuggled['webhook-id'], timestamp, inner!)).toBe(signature);
    expect(reasonOf(smuggled, { raw: inner })).toBe('malformed_signature');
  });

  test('a malformed signature next to a valid one of the other kind is ignored', () => {
    expect(reasonOf({ ...signed(), 'X-Service-Signature': 'none' })).toBe('ok');
    expect(reasonOf({ ...signed(), 'webhook-signature': 'none' })).toBe('ok');
  });

  test('malformed_timestamp: anything other than whole seconds', () => {
    for (const value of ['soon', '-1', '1736933400.5', '1736933400000', '1736933400, 1736933400']) {
      expect(reasonOf({ ...signed(), 'webhook-timestamp': value })).toBe('malformed_timestamp');
    }
  });

  test('timestamps are accepted up to the tolerance in both directions, and refused one second beyond it', () => {
    const at = (seconds: number) => new Date(timestamp.getTime() + seconds * 1000);
    for (const headers of [signed(), standardOnly(signed())]) {
      expect(reasonOf(headers, { now: at(300) })).toBe('ok');
      expect(reasonOf(headers, { now: at(301) })).toBe('timestamp_too_old');
      expect(reasonOf(headers, { now: at(-300) })).toBe('ok');
      expect(reasonOf(headers, { now: at(-301) })).toBe('timestamp_in_future');
      expect(reasonOf(headers, { now: at(11), toleranceSeconds: 10 })).toBe('timestamp_too_old');
      expect(reasonOf(headers, { now: new Date(Number.NaN) })).toBe('timestamp_too_old');
      expect(reasonOf(headers, { toleranceSeconds: Number.NaN })).toBe('timestamp_too_old');
    }
    expect(verify(body, signed(), whsec)).toMatchObject({ reason: 'timestamp_too_old' });
  });

  test('the timestamp is checked only after the signature: a forged request is a mismatch, whatever its time', () => {
    const later = new Date(timestamp.getTime() + 3_600_000);
    expect(reasonOf(signed({ key: chosen }), { now: later })).toBe('signature_mismatch');
  });

  test('an old request without its timestamp is accepted, unless requireTimestamp is set', () => {
    const later = new Date(timestamp.getTime() + 3_600_000);
    const stripped = serviceOnly(signed());
    const redated = { ...signed(), 'webhook-timestamp': String(later.getTime() / 1000) };
    expect(verify(body, stripped, whsec, { now: later })).toEqual({ ok: true, signedAt: null });
    expect(verify(body, redated, whsec, { now: later })).toEqual({ ok: true, signedAt: null });
    expect(reasonOf(stripped, { now: later, requireTimestamp: true })).toBe('missing_timestamp');
    expect(reasonOf(redated, { now: later, requireTimestamp: true })).toBe('signature_mismatch');
    expect(reasonOf({ ...signed(), 'webhook-signature': 'none' }, { requireTimestamp: true })).toBe(
      'malformed_signature',
    );
  });

  test.each([[JSON.parse(body)], [undefined], [null], [42], [[]]])(
    'body_not_raw: the body was parsed (%#), and the detail says what to do',
    (raw) => {
      const result = verify(raw, signed(), whsec, { now });
      expect(result).toMatchObject({ ok: false, reason: 'body_not_raw' });
      expect(result).toHaveProperty('detail', expect.stringMatching(/express\.raw\(\{[^}]*limit: '10mb'/));
    },
  );

  test('body_not_raw: a body serialized again with other whitespace, if its compact form is the signed one', () => {
    const pretty = JSON.stringify(JSON.parse(body), null, 2);
    for (const headers of [signed(), serviceOnly(signed()), standardOnly(signed())]) {
      expect(reasonOf(headers, { raw: pretty })).toBe('body_not_raw');
      expect(reasonOf(headers, { raw: Buffer.from(`\uFEFF${body}`) })).toBe('body_not_raw');
    }
  });

  test('body_not_raw: a body whose length differs from the one that arrived', () => {
    const sent = '{"id":"EVT-1","data":{"amount":1.0,"title":"\\u00dcberlast"}}';
    const headers = { ...signed({ body: sent }), 'content-length': String(Buffer.byteLength(sent)) };
    expect(reasonOf(headers, { raw: sent })).toBe('ok');
    expect(reasonOf(headers, { raw: JSON.stringify(JSON.parse(sent)) })).toBe('body_not_raw');
    expect(reasonOf(headers, { raw: '' })).toBe('body_not_raw');
  });

  test.each([
    ['a line break after it', chosen, `${chosen}\n`, /white space or quotation marks/],
    ['quotation marks around it', whsec, `"${whsec}"`, /white space or quotation marks/],
    ['no whsec_ before it', whsec, whsec.slice('whsec_'.length), /lacks its prefix, whsec_/],
    ['a whsec_ before it that is not its own', chosen, `whsec_${chosen}`, /Remove this prefix/],
  ])('malformed_secret: the right secret, with %s, is named as such', (_, key, secret, detail) => {
    const result = verify(body, signed({ key }), ['another-secret-too', secret], {
      now,
      requireTimestamp: true,
    });
    expect(result).toMatchObject({ ok: false, reason: 'malformed_secret' });
    expect(result).toHaveProperty('detail', expect.stringMatching(detail));
    expect(result).toHaveProperty('detail', expect.not.stringContaining(key));
  });

  test('signature_mismatch: everything else, such as a re-serialized body of the same length or a compressed one', () => {
    const sent = '{"b":1,"2":1}';
    const headers = { ...signed({ body: sent }), 'content-length': '13' };
    expect(reasonOf(headers, { raw: JSON.stringify(JSON.parse(sent)) })).toBe('signature_mismatch');
    const compressed = { ...signed(), 'content-length': '1', 'content-encoding': 'gzip' };
    expect(reasonOf(compressed, { raw: '{"forged":true}' })).toBe('signature_mismatch');
    expect(reasonOf(signed(), { raw: '['.repeat(100_000) })).toBe('signature_mismatch');
    expect(reasonOf(signed({ key: chosen }))).toBe('signature_mismatch');
  });
});
