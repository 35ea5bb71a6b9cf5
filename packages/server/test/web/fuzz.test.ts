import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { Agent } from 'undici';
import { afterAll, describe, expect, it } from 'vitest';
import { scopes } from '../../src/access/token.js';
import { anyCharacter } from '../support/any-character.js';
import { event, record, sendRequest } from '../support/client.js';
import { type Operation, readOperations } from '../support/operations.js';
import { makeToken, platformToken, startTestService } from '../support/service.js';
import { eventually } from '../support/tenant.js';

const service = await startTestService();
const token = await makeToken(service.database, { scopes: [...scopes] });
const ids = await makeThings();
const agent = new Agent({ connections: 4 });
afterAll(() => agent.destroy());

/** One of each thing that a path can name, so that not everything ends at 404. */
async function makeThings(): Promise<Record<string, string>> {
  const receiver = createServer((request, response) => request.resume().once('end', () => response.end()));
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  afterAll(() => receiver.closeAllConnections());
  afterAll(() => receiver.close());
  const { port } = receiver.address() as AddressInfo;
  const webhooks = `${service.publicUrl}/v1/webhooks`;
  const body = { organization_id: 'ORG-acme', url: `http://127.0.0.1:${port}/`, event_types: ['*'] };
  const webhook_id = (await sendRequest(webhooks, { method: 'POST', token, body })).body.data.id;
  const [one] = await record(service, event(), event());
  const deliveries: { id: string }[] = await eventually(
    async () => (await sendRequest(`${webhooks}/${webhook_id}/deliveries`, { token })).body.data,
    (list) => list.length > 0,
  );
  const range = { from: '2026-01-01', to: '2026-01-02' };
  const replay = await sendRequest(`${webhooks}/${webhook_id}/replay`, {
    method: 'POST',
    token,
    body: range,
  });
  return { event_id: one!.id, webhook_id, delivery_id: deliveries[0]!.id, replay_id: replay.body.data.id };
}

const listeners = [
  { url: service.publicUrl, token, operations: await readOperations(service.publicUrl) },
  { url: service.platformUrl, token: platformToken, operations: await readOperations(service.platformUrl) },
];
const targets = listeners.flatMap(({ operations, ...listener }) =>
  operations.flatMap((operation) => [
    { ...listener, operation },
    ...(operation.method === 'GET' ? [{ ...listener, operation: { ...operation, method: 'HEAD' } }] : []),
  ]),
);

interface Request {
  url: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: Buffer | undefined;
}

interface RawResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

const decoders: Record<string, (bytes: Buffer) => Buffer> = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  deflate: inflateSync,
};

/** Sends the path as it is; a stream that never ends is dropped once its headers are there. */
async function send({ url, ...request }: Request): Promise<RawResponse> {
  const { statusCode, headers, body } = await agent.request({
    origin: url,
    ...(request as { method: 'GET'; path: string }),
  });
  const isEndless = String(headers['content-type']).startsWith('text/event-stream');
  if (isEndless) body.on('error', () => undefined).destroy();
  const bytes = isEndless ? Buffer.alloc(0) : Buffer.from(await body.arrayBuffer());
  const decode = bytes.length > 0 ? decoders[String(headers['content-encoding'])] : undefined;
  return { status: statusCode, headers, text: String(decode ? decode(bytes) : bytes) };
}

function expectDocumented(request: Request, response: RawResponse, statuses: string[]): void {
  const what = `${request.method} ${request.path} → ${response.status} ${response.text.slice(0, 500)}`;
  expect(response.status, what).not.toBe(500);
  expect(statuses, what).toContain(String(response.status));
  expect(response.headers['x-request-id'], what).toMatch(/^[A-Za-z0-9._-]{8,128}$/);
  if (response.status < 400) return;
  expect(response.headers['content-type'], what).toMatch(/^application\/problem\+json/);
  if (request.method === 'HEAD') return;
  const body = JSON.parse(response.text);
  expect(body, what).toMatchObject({ status: response.status, request_id: response.headers['x-request-id'] });
}

const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 10 }),
  fc.constantFrom(
    '',
    '*',
    'null',
    'ORG-acme',
    'WS-1',
    '2026-11-15',
    '2026-11-15T09:30:00Z',
    'asc',
    '0',
    '-1',
    '25',
  ),
  fc.integer().map(String),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
);
// Percent-encoded as it should be, or sent raw where HTTP lets it through.
const visible = fc.string({
  unit: fc.constantFrom(...'%&=+;,:@!$()*?#/.~-_aZ09[]{}|\\^"\'<>`'.split('')),
  maxLength: 30,
});
const encoded = text.map((value) => encodeURIComponent(value.toWellFormed()));
const part = fc.oneof({ weight: 3, arbitrary: encoded }, { weight: 1, arbitrary: visible });

const segmentFor = (name: string, method: string) => {
  const real = method === 'DELETE' ? [] : Object.entries(ids).filter(([each]) => each === name);
  return fc.oneof(
    ...real.map(([, id]) => ({ weight: 4, arbitrary: fc.constant(id) })),
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3',
        'WHK-7ZZZZZZZZZZZZZZZZZZZZZZZZZ',
        '%00',
        '%ZZ',
      ),
    },
    { weight: 1, arbitrary: encoded.filter((value) => !['', '.', '..'].includes(value)) },
  );
};

const queryOf = ({ parameters }: Operation) => {
  const names = parameters.filter((each) => each.in === 'query').map(({ name }) => name);
  const name = fc.oneof(...(names.length > 0 ? [{ weight: 9, arbitrary: fc.constantFrom(...names) }] : []), {
    weight: 1,
    arbitrary: part,
  });
  const isOwn = names.includes('organization_id');
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant(isOwn ? 'organization_id=ORG-acme' : '') },
    {
      weight: 3,
      arbitrary: fc
        .array(fc.tuple(name, part), { maxLength: 4 })
        .map((pairs) => (isOwn ? [['organization_id', 'ORG-acme'], ...pairs] : pairs))
        .map((pairs) => pairs.map((pair) => pair.join('=')).join('&')),
    },
    { weight: 1, arbitrary: visible },
  );
};

const headerValue = fc.string({
  unit: fc.constantFrom(...'abcXYZ0189 !"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'.split('')),
  maxLength: 40,
});
const headers = fc.dictionary(
  fc.constantFrom(
    ...['accept', 'accept-encoding', 'content-encoding', 'if-none-match', 'last-event-id', 'x-request-id'],
    ...[
      'idempotency-key',
      'range',
      'if-match',
      'expect-ct',
      'origin',
      'cookie',
      'accept-version',
      'x-forwarded-for',
    ],
  ),
  fc.oneof(
    headerValue,
    fc.constantFrom('*', 'gzip', 'br;q=0', ids.event_id!, 'W/"x"', 'identity', 'bytes=0-1'),
  ),
  { maxKeys: 4 },
);

const bodyOf = ({ bodyFields: fields }: Operation) => {
  const keys = fields.length > 0 ? fc.constantFrom(...fields) : fc.string();
  const value = fc.oneof(
    { weight: 2, arbitrary: text },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  );
  const like = fc.dictionary(keys, value, { maxKeys: 6 });
  const mended = like.map((some) => ({ ...event(), ...some }));
  const json = fc
    .oneof(like, mended, fc.array(mended, { maxLength: 3 }), fc.jsonValue())
    .map((some) => JSON.stringify(some));
  return fc.oneof(
    { weight: 6, arbitrary: json.map((some) => Buffer.from(some)) },
    { weight: 1, arbitrary: text.map((some) => Buffer.from(some)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
};

const mediaType = fc.oneof(
  { weight: 8, arbitrary: fc.constant('application/json') },
  { weight: 2, arbitrary: fc.constant('application/x-ndjson') },
  { weight: 1, arbitrary: fc.constantFrom('text/plain', 'application/json; charset=latin1', 'junk', '') },
);

function requestTo({ url, token: bearer, operation }: (typeof targets)[number]): fc.Arbitrary<Request> {
  const places = [...operation.path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name!);
  return fc
    .record({
      segments: fc.tuple(...places.map((name) => segmentFor(name, operation.method))),
      query: queryOf(operation),
      given: headers,
      // Most carry the right token, so that most get past it.
      authorization: fc.oneof(
        { weight: 8, arbitrary: fc.constant(`Bearer ${bearer}`) },
        { weight: 1, arbitrary: headerValue },
      ),
      body:
        operation.method === 'GET' || operation.method === 'HEAD'
          ? fc.constant(undefined)
          : bodyOf(operation),
      type: mediaType,
    })
    .map(({ segments, query, given, authorization, body, type }) => {
      let index = 0;
      const path = operation.path.replace(/\{[^}]+\}/g, () => segments[index++]!);
      return {
        url,
        method: operation.method,
        path: query === '' ? path : `${path}?${query.replaceAll('#', '%23')}`,
        headers: { ...given, authorization, ...(body && { 'content-type': type }) },
        body,
      };
    });
}

describe('whatever the request, each endpoint responds only as documented', () => {
  it('both listeners have endpoints to test', () => {
    for (const { operations } of listeners) expect(operations.length).toBeGreaterThan(2);
  });

  const runs = Math.max(8, Math.ceil(360 / targets.length));
  // A HEAD request runs the handler that the GET requests of the same path test.
  const headRuns = 3;
  it.each(targets.map((target) => [`${target.operation.method} ${target.operation.path}`, target] as const))(
    '%s',
    async (_name, target) => {
      const statuses = Object.keys(target.operation.responses);
      await fc.assert(
        fc.asyncProperty(requestTo(target), async (request) => {
          expectDocumented(request, await send(request), statuses);
        }),
        { numRuns: target.operation.method === 'HEAD' ? headRuns : runs },
      );
    },
  );

  it('any path', async () => {
    const request = fc.record({
      url: fc.constantFrom(...listeners.map(({ url }) => url)),
      method: fc.constantFrom(
        'GET',
        'HEAD',
        'POST',
        'PUT',
        'PATCH',
        'DELETE',
        'OPTIONS',
        'PROPFIND',
        'QUERY',
      ),
      path: fc
        .array(fc.oneof(part, fc.constantFrom('v1', 'events', 'platform', 'docs', '..', '.')), {
          maxLength: 5,
        })
        .map((parts) => `/${parts.join('/').replaceAll('#', '%23')}`),
      headers: headers.map((given) => ({ ...given, authorization: `Bearer ${token}` })),
    });
    await fc.assert(
      fc.asyncProperty(request, async (one) => {
        expectDocumented(one, await send(one), ['200', '304', '400', '401', '404', '405', '415']);
      }),
      { numRuns: 60 },
    );
  });

  it('the service is healthy afterwards', async () => {
    for (const { url } of listeners) expect((await sendRequest(`${url}/readyz`)).status).toBe(200);
  });
});
