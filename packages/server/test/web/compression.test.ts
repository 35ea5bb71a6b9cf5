import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { request } from 'undici';
import { beforeAll, describe, expect, it } from 'vitest';
import { event, record } from '../support/client.js';
import { makeToken, sharedService, type TestService } from '../support/service.js';

let service: TestService;
let token: string;
let large: string;

beforeAll(async () => {
  service = await sharedService();
  token = await makeToken(service.database);
  large = (await record(service, event({ payload: { note: 'again and '.repeat(500) } })))[0]!.id;
});

interface Encoded {
  status: number;
  headers: Record<string, string | undefined>;
  bytes: Buffer;
}

/** A request whose response is left as it came over the wire. */
async function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Encoded> {
  const response = await request(`${service.publicUrl}${path}`, {
    method: method as 'GET',
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  return {
    status: response.statusCode,
    headers: response.headers as Record<string, string | undefined>,
    bytes: Buffer.from(await response.body.arrayBuffer()),
  };
}

const decoders = { br: brotliDecompressSync, gzip: gunzipSync, deflate: inflateSync };
const one = () => `/v1/events/${large}`;

describe('a response over 1 KiB', () => {
  it.each(['br', 'gzip', 'deflate'] as const)('is compressed if the client accepts %s', async (encoding) => {
    const plain = await get(one());
    const encoded = await get(one(), { 'accept-encoding': encoding });
    expect(encoded.headers['content-encoding']).toBe(encoding);
    expect(encoded.bytes.length).toBeLessThan(plain.bytes.length / 2);
    expect(decoders[encoding](encoded.bytes)).toEqual(plain.bytes);
  });

  it.each([
    ['/v1/events?organization_id=ORG-acme', {}],
    ['/v1/event-types', {}],
    ['/openapi.json', {}],
    [`/v1/events?${'x=1&'.repeat(3)}${Array.from({ length: 40 }, (_, i) => `p${i}=1`).join('&')}`, {}],
  ])('is compressed whatever it is: %s', async (path) => {
    const { headers } = await get(path, { 'accept-encoding': 'gzip' });
    expect(headers['content-encoding']).toBe('gzip');
  });

  it.each([
    ['nothing is said', {}],
    ['only identity is accepted', { 'accept-encoding': 'identity' }],
    ['gzip is declined', { 'accept-encoding': 'gzip;q=0' }],
    ['something unknown is accepted', { 'accept-encoding': 'compress, zzz' }],
  ])('is not compressed if %s', async (_what, headers: Record<string, string>) => {
    const response = await get(one(), headers);
    expect(response.headers['content-encoding']).toBeUndefined();
    expect(JSON.parse(response.bytes.toString()).data.id).toBe(large);
  });

  it('varies by Accept-Encoding, compressed or not', async () => {
    expect((await get(one())).headers.vary).toMatch(/accept-encoding/i);
    expect((await get(one(), { 'accept-encoding': 'gzip' })).headers.vary).toMatch(/accept-encoding/i);
  });

  it('has the same headers for HEAD', async () => {
    const headers = { 'accept-encoding': 'br', 'x-request-id': 'the-same-request' };
    const got = await get(one(), headers);
    const head = await get(one(), headers, 'HEAD');
    for (const name of ['content-encoding', 'content-length', 'content-type', 'etag', 'vary'])
      expect(head.headers[name]).toBe(got.headers[name]);
    expect(head.bytes).toHaveLength(0);
  });
});

describe('a response under 1 KiB', () => {
  it.each(['/healthz', '/v1/events?organization_id=ORG-empty', '/v1/events/EVT-x'])(
    'is not compressed: %s',
    async (path) => {
      const { headers, bytes } = await get(path, { 'accept-encoding': 'br, gzip' });
      expect(bytes.length).toBeLessThan(1_024);
      expect(headers['content-encoding']).toBeUndefined();
    },
  );
});

describe('a strong ETag', () => {
  it('is never shared by different bytes', async () => {
    const tags = await Promise.all(
      ['identity', 'gzip', 'br', 'deflate'].map(
        async (encoding) => (await get(one(), { 'accept-encoding': encoding })).headers.etag,
      ),
    );
    expect(new Set(tags).size).toBe(4);
    for (const tag of tags) expect(tag).toMatch(/^"[^"]+"$/);
  });

  it.each(['identity', 'gzip', 'br', 'deflate'])(
    'of the %s form gives a 304 with the same tag, whatever the client accepts now',
    async (encoding) => {
      const { etag = '' } = (await get(one(), { 'accept-encoding': encoding })).headers;
      for (const accepted of ['identity', 'gzip', 'br']) {
        const response = await get(one(), { 'accept-encoding': accepted, 'if-none-match': etag });
        expect([response.status, response.headers.etag, response.bytes.length]).toEqual([304, etag, 0]);
        expect(response.headers['content-length']).toBeUndefined();
      }
    },
  );

  it('of another event gives the event, even with the name of an encoding', async () => {
    const response = await get(one(), { 'accept-encoding': 'gzip', 'if-none-match': '"another-gzip"' });
    expect(response.status).toBe(200);
  });
});

describe('security headers', () => {
  it('every response forbids content sniffing', async () => {
    for (const path of ['/healthz', '/openapi.json', '/docs', '/v1/nowhere', '/v1/events/%ZZ', one()]) {
      expect((await get(path)).headers['x-content-type-options'], path).toBe('nosniff');
    }
  });

  it('what a browser can load forbids framing and foreign scripts', async () => {
    for (const url of [service.publicUrl, service.platformUrl]) {
      const { headers } = await request(`${url}/docs`);
      const policy = String(headers['content-security-policy']);
      expect(policy).toMatch(/default-src 'none'|default-src 'self'/);
      expect(policy).toMatch(/frame-ancestors 'none'/);
      expect(policy).not.toMatch(/unsafe-eval|\*/);
      expect(headers['referrer-policy']).toBe('no-referrer');
    }
  });

  it('responses to a token are not cached by proxies', async () => {
    expect((await get('/v1/events?organization_id=ORG-acme')).headers['cache-control']).toBe('no-store');
    expect((await get(one())).headers['cache-control']).toMatch(/private/);
  });
});
