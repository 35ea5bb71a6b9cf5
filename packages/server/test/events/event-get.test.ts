import { METHODS } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { event, type RequestOptions, record, sendRequest } from '../support/client.js';
import { sendRaw } from '../support/raw-http.js';
import { makeToken, sharedService, type TestService } from '../support/service.js';

let service: TestService;
let token: string;
let id: string;

beforeAll(async () => {
  service = await sharedService();
  token = await makeToken(service.database);
  id = (await record(service, event()))[0]!.id;
});

const get = (options: RequestOptions = {}, eventId = id) =>
  sendRequest(`${service.publicUrl}/v1/events/${eventId}`, { token, ...options });

describe('GET /v1/events/{event_id}', () => {
  it('returns {data: Event}, the same as the list does', async () => {
    const { status, body } = await get();
    expect(status).toBe(200);
    const listed = await sendRequest(`${service.publicUrl}/v1/events?organization_id=ORG-acme`, { token });
    expect(body).toEqual({ data: listed.body.data.find((one: { id: string }) => one.id === id) });
  });

  it('is 404 for an id that never existed, is not valid, or is spelled differently', async () => {
    for (const unknown of [
      'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3',
      'EVT-7ZZZZZZZZZZZZZZZZZZZZZZZZZ',
      'EVT-00000000000000000000000000',
      'EVT-',
      'nonsense',
      '%00',
      'x'.repeat(4_000),
      id.toLowerCase(),
      id.replace('EVT', 'WHK'),
      `${id}0`,
    ]) {
      const { status, body } = await get({}, unknown);
      expect([unknown, status, body.code]).toEqual([unknown, 404, 'not_found']);
    }
  });

  it('is 401 without a token, whatever the id', async () => {
    for (const unknown of [id, 'x'.repeat(4_000), '%00', '~'])
      expect((await get({ token: undefined }, unknown)).status).toBe(401);
  });

  it('is hidden from a token of another workspace, as if it did not exist', async () => {
    const elsewhere = await makeToken(service.database, { workspace_id: 'WS-2' });
    const within = await makeToken(service.database, { workspace_id: 'WS-1' });
    expect((await get({ token: elsewhere })).status).toBe(404);
    expect((await get({ token: within })).status).toBe(200);
  });

  it("returns an event of the whole organization only to the organization's tokens", async () => {
    const [whole] = await record(service, event({ workspace_id: null }));
    const within = await makeToken(service.database, { workspace_id: 'WS-1' });
    expect((await get({}, whole!.id)).status).toBe(200);
    expect((await get({ token: within }, whole!.id)).status).toBe(404);
  });

  it('accepts no query parameters', async () => {
    const { status, body } = await get({}, `${id}?organization_id=ORG-acme`);
    expect(status).toBe(400);
    expect(body.errors).toMatchObject([{ parameter: 'organization_id', code: 'unknown_parameter' }]);
  });
});

describe('the ETag of an event', () => {
  it('is strong, stable, and differs between events', async () => {
    const etag = (await get()).headers.get('etag');
    expect(etag).toMatch(/^"[^"]+"$/);
    expect((await get()).headers.get('etag')).toBe(etag);
    const [other] = await record(service, event());
    expect((await get({}, other!.id)).headers.get('etag')).not.toBe(etag);
  });

  it.each([
    ['itself', (etag: string) => etag],
    ['a list that has it', (etag: string) => `"first", ${etag},"last"`],
    ['*', () => '*'],
    ['its weak form', (etag: string) => `W/${etag}`],
  ])('in If-None-Match as %s gives 304 without a body', async (_form, header) => {
    const etag = (await get()).headers.get('etag')!;
    const response = await get({ headers: { 'if-none-match': header(etag) } });
    expect(response.status).toBe(304);
    expect(response.text).toBe('');
    expect(response.headers.get('etag')).toBe(etag);
  });

  it.each([
    ['another tag', () => '"another"'],
    ['the tag without its quotes', (etag: string) => etag.slice(1, -1)],
    ['a tag that only begins like it', (etag: string) => `${etag.slice(0, -1)}x"`],
    ['nothing', () => ''],
  ])('in If-None-Match as %s returns the event', async (_form, header) => {
    const etag = (await get()).headers.get('etag')!;
    expect((await get({ headers: { 'if-none-match': header(etag) } })).status).toBe(200);
  });

  it('does not turn a 404 into a 304', async () => {
    const unknown = 'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3';
    expect((await get({ headers: { 'if-none-match': '*' } }, unknown)).status).toBe(404);
  });
});

describe('HEAD mirrors GET', () => {
  it.each([
    ['a list', () => '/v1/events?organization_id=ORG-acme', {}],
    ['an event', () => `/v1/events/${id}`, {}],
    ['an event that the client has', () => `/v1/events/${id}`, { 'if-none-match': '*' }],
    ['an event that does not exist', () => '/v1/events/EVT-01JAB3C4D5E6F7G8H9J0K1M2N3', {}],
    ['a query with faults', () => '/v1/events?limit=0', {}],
    ['another organization', () => '/v1/events?organization_id=ORG-other', {}],
    ['the event types', () => '/v1/event-types', {}],
    ['a path that does not exist', () => '/v1/nothing', {}],
    ['health', () => '/healthz', {}],
  ])('for %s: status and headers, no body', async (_what, path, headers) => {
    const url = `${service.publicUrl}${path()}`;
    const requestId = 'the-same-request';
    const options = { token, headers: { 'x-request-id': requestId, ...headers } };
    const head = await sendRequest(url, { ...options, method: 'HEAD' });
    const got = await sendRequest(url, options);
    // What is about the connection or the moment differs between any two responses.
    const passing = ['date', 'connection', 'keep-alive', 'transfer-encoding'];
    const comparable = ({ headers: all }: typeof got) =>
      Object.fromEntries([...all].filter(([name]) => !passing.includes(name)));
    expect(head.status).toBe(got.status);
    expect(comparable(head)).toEqual(comparable(got));
    expect(head.text).toBe('');
  });

  it('sends no body over the wire', async () => {
    const { status, text, headers } = await sendRaw(
      service.publicUrl,
      `HEAD /v1/events/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
    );
    expect(status).toBe(200);
    expect(Number(headers['content-length'])).toBeGreaterThan(100);
    expect(text).toBe('');
  });
});

describe('events cannot be written through the public API', () => {
  // CONNECT names no path; it asks for a tunnel.
  const writing = METHODS.filter((method) => !['GET', 'HEAD', 'CONNECT'].includes(method));

  it.each(writing)('%s is 405 with Allow on the list, on an event and on the tail', async (method) => {
    for (const path of [
      '/v1/events',
      `/v1/events/${id}`,
      '/v1/events/tail',
      '/v1/events?organization_id=x',
    ]) {
      const response = await sendRaw(
        service.publicUrl,
        `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
          'Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}',
      );
      expect(response.status).toBe(405);
      expect(response.headers.allow).toBe('GET, HEAD');
      expect(response.headers['content-type']).toMatch(/^application\/problem\+json/);
      expect(response.body).toMatchObject({ code: 'method_not_allowed', status: 405 });
    }
  });

  it('and POST says where they are recorded instead', async () => {
    const { status, headers, body } = await sendRequest(`${service.publicUrl}/v1/events`, {
      method: 'POST',
      token,
    });
    expect([status, headers.get('allow'), body.code]).toEqual([405, 'GET, HEAD', 'method_not_allowed']);
    expect(body.detail).toBe(
      'This path does not support POST. Use GET, HEAD. ' +
        'To record events, use POST /platform/events on the platform listener.',
    );
  });

  it('not even under another spelling of the path, or without a token', async () => {
    for (const path of ['/v1/%65vents', `${service.publicUrl}/v1/events`, '/v1/events#fragment']) {
      const request = `DELETE ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
      const { status } = await sendRaw(service.publicUrl, request);
      expect([path, status]).toEqual([path, 405]);
    }
  });
});
