import { beforeAll, describe, expect, it } from 'vitest';
import { type ApiResponse, event, type RequestOptions, record, sendRequest } from '../support/client.js';
import { openSocket, parseResponse, readToEnd, sendRaw } from '../support/raw-http.js';
import { makeToken, platformToken, sharedService, type TestService } from '../support/service.js';
import { newTenant } from '../support/tenant.js';

let service: TestService;
let token: string;

beforeAll(async () => {
  service = await sharedService();
  token = await makeToken(service.database);
});

const list = (query: string, options: RequestOptions = {}) =>
  sendRequest(`${service.publicUrl}/v1/events?${query}`, { token, ...options });

const post = (options: RequestOptions, query = '') =>
  sendRequest(`${service.platformUrl}/platform/events${query}`, {
    method: 'POST',
    token: platformToken,
    ...options,
  });

const json = { 'content-type': 'application/json' };

function expectProblem(response: ApiResponse, status: number, code: string): void {
  expect([response.status, response.body?.code], response.text).toEqual([status, code]);
}

/** What every error has, wherever it comes from. */
function expectWellFormed({ status, headers, body }: ApiResponse, path: string): void {
  expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  const { errors, ...fields } = body;
  expect(fields).toEqual({
    type: `/docs#problem-${body.code}`,
    title: expect.stringMatching(/\S/),
    status,
    detail: expect.stringMatching(/\S/),
    instance: path,
    code: expect.stringMatching(/^[a-z_]+$/),
    request_id: headers.get('x-request-id'),
  });
  for (const fault of errors ?? []) {
    expect(fault).toEqual({
      [('parameter' in fault && 'parameter') || 'pointer']: expect.any(String),
      code: expect.stringMatching(/^[a-z_]+$/),
      detail: expect.stringMatching(/\S/),
    });
  }
}

describe('every error is application/problem+json with all its fields', () => {
  it.each<[string, number, () => Promise<ApiResponse>, string]>([
    ['an unknown path', 404, () => sendRequest(`${service.publicUrl}/nowhere`), '/nowhere'],
    [
      'an unknown path on the platform listener',
      404,
      () => sendRequest(`${service.platformUrl}/nowhere`),
      '/nowhere',
    ],
    ['a wrong method', 405, () => list('', { method: 'DELETE' }), '/v1/events'],
    ['no token', 401, () => list('', { token: undefined }), '/v1/events'],
    ['no platform token', 401, () => post({ token: undefined }), '/platform/events'],
    ['a query with faults', 400, () => list('limit=0&x=1'), '/v1/events'],
    ['a foreign organization', 403, () => list('organization_id=ORG-other'), '/v1/events'],
    [
      'an unknown event',
      404,
      () => sendRequest(`${service.publicUrl}/v1/events/x`, { token }),
      '/v1/events/x',
    ],
    ['malformed JSON', 400, () => post({ raw: '{', headers: json }), '/platform/events'],
    ['a body that is no JSON', 415, () => post({ raw: 'x' }), '/platform/events'],
    ['an invalid body', 422, () => post({ body: {} }), '/platform/events'],
    [
      'a bad percent-encoding',
      400,
      () => sendRequest(`${service.publicUrl}/v1/events/%ZZ`, { token }),
      '/v1/events/%ZZ',
    ],
  ])('%s: %i', async (_what, status, send, path) => {
    const response = await send();
    expect(response.status).toBe(status);
    expectWellFormed(response, path);
  });
});

describe('checks are made in the documented order', () => {
  const scopeless = () => makeToken(service.database, { scopes: [] });

  it('route before token', async () => {
    expectProblem(await sendRequest(`${service.publicUrl}/v1/nowhere`), 404, 'not_found');
    expectProblem(await sendRequest(`${service.platformUrl}/nowhere`), 404, 'not_found');
  });

  it('route before method', async () => {
    expectProblem(await sendRequest(`${service.publicUrl}/v1/nowhere`, { method: 'PUT' }), 404, 'not_found');
  });

  it('method before token', async () => {
    expectProblem(
      await sendRequest(`${service.publicUrl}/v1/events`, { method: 'PUT' }),
      405,
      'method_not_allowed',
    );
    expectProblem(await sendRequest(`${service.platformUrl}/platform/events`), 405, 'method_not_allowed');
  });

  it('token before query, body and organization', async () => {
    expectProblem(await list('limit=0&organization_id=ORG-other', { token: 'x' }), 401, 'unauthenticated');
    expectProblem(await post({ token: 'x', raw: '{', headers: json }, '?x=1'), 401, 'unauthenticated');
    const huge = { token: 'x', raw: Buffer.alloc(9 * 1024 * 1024, 'x') };
    expectProblem(await post(huge), 401, 'unauthenticated');
  });

  it('scope before query, organization and id', async () => {
    const lacking = await scopeless();
    expectProblem(await list('limit=0', { token: lacking }), 403, 'insufficient_scope');
    expectProblem(await list('organization_id=ORG-other', { token: lacking }), 403, 'insufficient_scope');
    const unknown = await sendRequest(`${service.publicUrl}/v1/events/x`, { token: lacking });
    expectProblem(unknown, 403, 'insufficient_scope');
  });

  it('size before media type before JSON before fields', async () => {
    const tooLarge = Buffer.alloc(8 * 1024 * 1024 + 1, '{');
    expectProblem(await post({ raw: tooLarge, headers: json }, '?x=1'), 413, 'body_too_large');
    expectProblem(
      await post({ raw: '{', headers: { 'content-type': 'text/xml' } }, '?x=1'),
      415,
      'unsupported_media_type',
    );
    expectProblem(await post({ raw: '{', headers: json }, '?x=1'), 400, 'malformed_json');
  });

  it('fields before organization', async () => {
    expectProblem(await list('organization_id=ORG-other&limit=0'), 400, 'invalid_parameter');
    expectProblem(await list('organization_id=ORG-other&cursor=x'), 400, 'invalid_cursor');
  });

  it('fields before the id in the path', async () => {
    const response = await sendRequest(`${service.publicUrl}/v1/events/EVT-unknown?x=1`, { token });
    expectProblem(response, 400, 'invalid_parameter');
  });

  it('organization before workspace', async () => {
    const bound = await makeToken(service.database, { workspace_id: 'WS-1' });
    const response = await list('organization_id=ORG-other&workspace_id=WS-2', { token: bound });
    expectProblem(response, 403, 'organization_forbidden');
  });
});

describe('a query string', () => {
  const faultsOf = async (query: string) => {
    const response = await list(query);
    expectProblem(response, 400, 'invalid_parameter');
    return response.body.errors as { parameter: string; code: string }[];
  };

  it('without organization_id is 400', async () => {
    expect(await faultsOf('')).toMatchObject([{ parameter: 'organization_id', code: 'required' }]);
  });

  it('with an empty organization_id is 400', async () => {
    expect(await faultsOf('organization_id=')).toMatchObject([{ parameter: 'organization_id' }]);
  });

  it.each(['page', 'Limit', 'organization_id[]', 'limit ', '__proto__', 'constructor', ''])(
    'with the unknown parameter "%s" is 400',
    async (name) => {
      const faults = await faultsOf(`organization_id=ORG-acme&${encodeURIComponent(name)}=1`);
      expect(faults).toMatchObject([{ parameter: name, code: 'unknown_parameter' }]);
    },
  );

  it('with a parameter of another route reports it once, whatever its value', async () => {
    const path = '/v1/events/EVT-1/deliveries?from=yesterday&to=x&cursor=';
    const { status, body } = await sendRequest(`${service.publicUrl}${path}`, { token });
    expect(status).toBe(400);
    expect(body.errors.map(({ parameter, code }: Record<string, string>) => [parameter, code])).toMatchObject(
      [
        ['cursor', expect.any(String)],
        ['from', 'unknown_parameter'],
        ['to', 'unknown_parameter'],
      ],
    );
  });

  it('with a cursor where there is none is 400 invalid_parameter, not invalid_cursor', async () => {
    const { body } = await sendRequest(`${service.publicUrl}/v1/stats?cursor=x`, { token });
    expect([body.code, body.errors[0].code]).toEqual(['invalid_parameter', 'unknown_parameter']);
  });

  it('with thousands of unknown parameters is 400 and does not report each', async () => {
    const names = Array.from({ length: 2_000 }, (_, n) => `p${n}`);
    expect(await faultsOf(`organization_id=ORG-acme&${names.join('&')}`)).toHaveLength(100);
  });

  it('with thousands of unknown parameters still lists what is wrong with the known ones, first', async () => {
    const names = Array.from({ length: 2_000 }, (_, n) => `p${n}`).join('&');
    const faults = await faultsOf(`${names}&limit=0&type=a&type=b`);
    expect(faults).toHaveLength(100);
    const known = faults.slice(0, 3).map(({ parameter }) => parameter);
    expect(known.sort()).toEqual(['limit', 'organization_id', 'type']);
  });

  it.each([
    'organization_id',
    ...['workspace_id', 'type', 'subject_type', 'subject_id', 'actor_id'],
    ...['from', 'to', 'order', 'cursor', 'limit'],
  ])('that repeats %s is 400, even with equal values', async (name) => {
    const value = { limit: '5', order: 'asc', from: '2026-01-01', to: '2026-01-01' }[name] ?? 'ORG-acme';
    const rest = name === 'organization_id' ? '' : 'organization_id=ORG-acme&';
    expect(await faultsOf(`${rest}${name}=${value}&${name}=${value}`)).toMatchObject([
      { parameter: name, code: 'repeated_parameter' },
    ]);
  });

  it('lists all its faults at once', async () => {
    const faults = await faultsOf(
      'limit=1000&order=up&from=yesterday&to=2026-13-01&cursor=zzz&type=a&type=b&page=2&actor_id=&x=%FF',
    );
    expect(faults.map(({ parameter }) => parameter).sort()).toEqual(
      ['organization_id', 'limit', 'order', 'from', 'to', 'cursor', 'type', 'page', 'actor_id', 'x'].sort(),
    );
  });

  it.each([
    ['type=%FF', 'type'],
    ['type=%E2%82', 'type'],
    ['type=%', 'type'],
    ['type=%zz', 'type'],
    ['type=a%00b', 'type'],
  ])('with the undecodable %s is 400', async (part, parameter) => {
    expect(await faultsOf(`organization_id=ORG-acme&${part}`)).toMatchObject([
      { parameter, code: 'unreadable' },
    ]);
  });

  it('can have empty parts, and + for a space', async () => {
    expect((await list('&organization_id=ORG-acme&&type=a+b&')).status).toBe(200);
  });

  it.each(['/healthz', '/readyz', '/v1/event-types'])(
    'is refused on %s, which accepts none',
    async (path) => {
      const response = await sendRequest(`${service.publicUrl}${path}?x=1`, { token });
      expectProblem(response, 400, 'invalid_parameter');
    },
  );
});

describe('a path', () => {
  it.each(['/v1/events/%ZZ', '/v1/events/%', '/v1/events/%E2%82'])(
    'with the undecodable %s is 400',
    async (path) => {
      expectProblem(await sendRequest(`${service.publicUrl}${path}`, { token }), 400, 'malformed_request');
    },
  );

  it.each(['/v1', '/v1/', '/v2/events', '/v1/events/x/y', '/V1/events', '//v1/events', '/platform/events'])(
    'that does not exist, %s, is 404',
    async (path) => {
      expectProblem(await sendRequest(`${service.publicUrl}${path}`, { token }), 404, 'not_found');
    },
  );

  it.each(['/v1/events/', '/v1/webhooks/', '/v1/webhooks//deliveries', '/v1/webhooks/?x=1'])(
    'with an empty id (%s) is 404 for every method, with a token or without',
    async (path) => {
      for (const method of ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE']) {
        const url = `${service.publicUrl}${path}`;
        const statuses = [sendRequest(url, { method }), sendRequest(url, { method, token })];
        expect((await Promise.all(statuses)).map(({ status }) => status)).toEqual([404, 404]);
      }
    },
  );
});

describe('a body', () => {
  it.each([
    ['an open brace', '{'],
    ['a trailing comma', '[1,]'],
    ['single quotes', "{'a':1}"],
    ['two values', '{} {}'],
    ['a bare word', 'hello'],
    ['NaN', '[NaN]'],
    ['a control character in a string', '["\u0001"]'],
    ['nothing at all', ''],
    ['white space', ' \n '],
  ])('that is not JSON (%s) is 400 malformed_json', async (_what, raw) => {
    expectProblem(await post({ raw, headers: json }), 400, 'malformed_json');
  });

  it.each([
    ['an unexpected end', '{"a": [1', ': error at character 8.'],
    ['an unfinished text', '{"a":', ': unexpected end.'],
    ['a trailing comma', '{"a":1,}', ': error at character 7.'],
    ['a bare word that names a position', 'nope at position 99', '.'],
  ])(
    'that is not JSON (%s) is refused with the place of the error, if it is known',
    async (_what, raw, place) => {
      const { body } = await post({ raw, headers: json });
      expect(body.detail).toBe(`The body is not valid JSON${place}`);
    },
  );

  it('of null is not a missing body', async () => {
    const response = await post({ raw: 'null', headers: json });
    expectProblem(response, 422, 'invalid_body');
    expect(response.body.errors).toMatchObject([{ pointer: '/0', code: 'wrong_type' }]);
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    const before = await tenant.data('GET', `/v1/webhooks/${webhook.id}`);
    const actions = ['/verify', '/rotate-secret', `/test`, '/replay'];
    for (const path of ['/v1/webhooks', ...actions.map((action) => `/v1/webhooks/${webhook.id}${action}`)]) {
      const refused = await tenant.request('POST', path, { raw: 'null', headers: json });
      expectProblem(refused, 422, 'invalid_body');
      expect(refused.body.errors, path).toMatchObject([{ pointer: '', code: 'wrong_type' }]);
    }
    expect(await tenant.data('GET', `/v1/webhooks/${webhook.id}`)).toEqual(before);
  });

  it('that is not JSON never appears in the response: it may contain a secret', async () => {
    const { text } = await post({ raw: '{"secret": "hunter2-hunter2" oops}', headers: json });
    expect(text).not.toContain('hunter2');
  });

  it.each([
    ['a stray continuation byte', Buffer.from([0x22, 0x80, 0x22])],
    ['Latin-1', Buffer.from('"é"', 'latin1')],
    ['UTF-16', Buffer.from('{}', 'utf16le')],
    ['an encoded surrogate', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ])('that is not UTF-8 (%s) is 400 malformed_json', async (_what, raw) => {
    expectProblem(await post({ raw, headers: json }), 400, 'malformed_json');
  });

  it.each([
    'text/plain',
    'application/xml',
    'text/json',
    'application/jsonp',
    'application/json-patch',
    'junk',
    '*/*',
  ])('sent as %s is 415', async (type) => {
    const response = await post({ raw: '{}', headers: { 'content-type': type } });
    expectProblem(response, 415, 'unsupported_media_type');
  });

  it('without a Content-Type is 415', async () => {
    const { status, body } = await sendRaw(
      service.platformUrl,
      `POST /platform/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${platformToken}\r\n` +
        'Content-Length: 2\r\nConnection: close\r\n\r\n{}',
    );
    expect([status, body.code]).toEqual([415, 'unsupported_media_type']);
  });

  it.each(['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset="UTF-8"'])(
    'sent as %s is accepted as JSON',
    async (type) => {
      expectProblem(await post({ raw: '{}', headers: { 'content-type': type } }), 422, 'invalid_body');
    },
  );

  it.each(['gzip', 'br', 'deflate', 'zstd', 'nonsense'])(
    'with Content-Encoding %s is 415',
    async (encoding) => {
      const response = await post({ raw: '{}', headers: { ...json, 'content-encoding': encoding } });
      expectProblem(response, 415, 'unsupported_media_type');
      expect(response.headers.get('accept-encoding')).toBe('identity');
    },
  );

  it('with Content-Encoding identity is accepted', async () => {
    const response = await post({ raw: '{}', headers: { ...json, 'content-encoding': 'identity' } });
    expectProblem(response, 422, 'invalid_body');
  });

  it('of more than 8 MiB is 413 on the platform listener, and of exactly 8 MiB is accepted', async () => {
    const padded = (bytes: number) => {
      const whole = Buffer.alloc(bytes, ' ');
      whole.write('{}');
      return whole;
    };
    const most = 8 * 1024 * 1024;
    expectProblem(await post({ raw: padded(most), headers: json }), 422, 'invalid_body');
    expectProblem(await post({ raw: padded(most + 1), headers: json }), 413, 'body_too_large');
  });

  it('of more than 8 MiB is 413, even without a Content-Length', async () => {
    const chunk = Buffer.alloc(1024 * 1024, ' ');
    const chunked = Buffer.concat([
      ...Array.from({ length: 9 }, () =>
        Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]),
      ),
      Buffer.from('0\r\n\r\n'),
    ]);
    const response = await sendRaw(
      service.platformUrl,
      Buffer.concat([
        Buffer.from(
          `POST /platform/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${platformToken}\r\n` +
            'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n',
        ),
        chunked,
      ]),
    );
    expect([response.status, response.body.code]).toEqual([413, 'body_too_large']);
  });

  it.each([
    ['too large', platformToken, 413],
    ['sent with a wrong token', 'wrong', 401],
  ])('%s is read to its end before a connection is closed that should be', async (_what, token, status) => {
    const socket = await openSocket(service.platformUrl);
    const size = 20 * 1024 * 1024;
    socket.write(
      `POST /platform/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${size}\r\nConnection: close\r\n\r\n`,
    );
    // As a client does that reads only when it has sent everything.
    await new Promise<void>((sent, failed) => {
      socket.once('error', failed);
      socket.pause().write(Buffer.alloc(size, ' '), () => sent());
    });
    const all = readToEnd(socket);
    socket.resume();
    expect(parseResponse(await all).status).toBe(status);
  });

  it('that never comes does not keep a refused connection open', async () => {
    const head = `POST /platform/events HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nConnection: close\r\n\r\n`;
    expect((await sendRaw(service.platformUrl, head)).status).toBe(401);
  });

  it('with thousands of unknown fields is 422, and reports 100 of them and how many there are', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 6_000 }, (_, n) => [`f${n}`, 0]));
    const known = { organization_id: 'ORG-acme', url: 'https://example.com/', event_types: ['*'] };
    const body = { ...known, ...unknown };
    const response = await sendRequest(`${service.publicUrl}/v1/webhooks`, { method: 'POST', token, body });
    expectProblem(response, 422, 'invalid_body');
    expect(response.body.errors).toHaveLength(100);
    expect(response.body.detail).toMatch(
      /^\/f0 is not a known field.* See errors for the first 99 of 5999 more\.$/,
    );
  });

  it.each([
    ['a webhook', () => `${service.publicUrl}/v1/webhooks`, '/url'],
    ['an event', () => `${service.platformUrl}/platform/events`, '/0/type'],
  ])(
    'of %s with thousands of unknown fields lists what is wrong with the known ones first',
    async (_what, url, pointer) => {
      const unknown = Object.fromEntries(Array.from({ length: 6_000 }, (_, n) => [`f${n}`, 0]));
      const body = { ...unknown, organization_id: 'ORG-acme', url: 'x', type: 'webhook.x' };
      const as = url().startsWith(service.publicUrl) ? token : platformToken;
      const response = await sendRequest(url(), { method: 'POST', token: as, body });
      expectProblem(response, 422, 'invalid_body');
      const errors = response.body.errors as { pointer: string; code: string }[];
      expect(errors).toHaveLength(100);
      expect(errors.map((fault) => fault.pointer)).toContain(pointer);
      const firstUnknown = errors.findIndex(({ code }) => code === 'unknown_field');
      expect(errors.slice(firstUnknown).every(({ code }) => code === 'unknown_field')).toBe(true);
    },
  );

  it('in a GET request is ignored, whatever it is', async () => {
    const { status } = await sendRaw(
      service.publicUrl,
      `GET /v1/event-types HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: junk\r\n` +
        'Content-Encoding: junk\r\nContent-Length: 3\r\nConnection: close\r\n\r\n{{{',
    );
    expect(status).toBe(200);
  });
});

describe('X-Request-Id', () => {
  const idFor = async (given?: string) => {
    const headers: Record<string, string> = given === undefined ? {} : { 'x-request-id': given };
    const response = await list('limit=0', { headers });
    const id = response.headers.get('x-request-id');
    expect(response.body.request_id).toBe(id);
    return id;
  };

  it.each(['12345678', 'a.B_c-9.', 'x'.repeat(128)])('"%s" from the client is kept', async (given) => {
    expect(await idFor(given)).toBe(given);
  });

  it.each(['1234567', 'x'.repeat(129), 'with space', 'semi;colon', 'ünïcödé-id', ''])(
    '"%s" from the client is replaced',
    async (given) => {
      const id = await idFor(Buffer.from(given, 'utf8').toString('latin1'));
      expect(id).not.toBe(given);
      expect(id).toMatch(/^[A-Za-z0-9._-]{8,128}$/);
    },
  );

  it('differs for every request', async () => {
    expect(await idFor()).not.toBe(await idFor());
  });

  it.each(['/healthz', '/v1/nowhere', '/openapi.json', '/v1/events/%ZZ'])(
    'is on the response to %s',
    async (path) => {
      const { headers } = await sendRequest(`${service.publicUrl}${path}`, {
        headers: { 'x-request-id': 'kept-as-it-is' },
      });
      expect(headers.get('x-request-id')).toBe('kept-as-it-is');
    },
  );

  it('is on successful responses of both listeners', async () => {
    const recorded = await post({ body: event(), headers: { 'x-request-id': 'recording-this' } });
    expect([recorded.status, recorded.headers.get('x-request-id')]).toEqual([201, 'recording-this']);
    await record(service, event());
    const { headers } = await list('organization_id=ORG-acme');
    expect(headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{8,128}$/);
  });
});
