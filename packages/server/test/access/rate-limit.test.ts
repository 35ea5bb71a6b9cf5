import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ApiResponse, event, record, sendRequest } from '../support/client.js';
import { readOperations } from '../support/operations.js';
import { makeToken, platformToken, startTestService, type TestService } from '../support/service.js';

describe('with limits set', () => {
  let service: TestService;
  let token: string;

  beforeAll(async () => {
    service = await startTestService({ POSTHORN_RATE_LIMIT_READS: '3', POSTHORN_RATE_LIMIT_WRITES: '2' });
  });
  beforeEach(async () => {
    token = await makeToken(service.database);
    service.clock.stoppedAtMs = Date.now();
  });

  const read = (bearer = token, path = '/v1/event-types', method = 'GET') =>
    sendRequest(`${service.publicUrl}${path}`, { token: bearer, method });
  const advance = (ms: number) => {
    service.clock.stoppedAtMs = (service.clock.stoppedAtMs ?? 0) + ms;
  };

  function expectLimited(response: ApiResponse, retryAfter: string): void {
    expect([response.status, response.body?.code], response.text).toEqual([429, 'rate_limited']);
    expect(response.headers.get('retry-after')).toBe(retryAfter);
    expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  }

  it('every authenticated response has RateLimit-Policy and RateLimit', async () => {
    const response = await read();
    expect(response.headers.get('ratelimit-policy')).toBe('"reads";q=3;w=60');
    expect(response.headers.get('ratelimit')).toBe('"reads";r=2;t=60');
    advance(10_000);
    expect((await read()).headers.get('ratelimit')).toBe('"reads";r=1;t=50');
  });

  it.each([
    ['a bad query', '/v1/events', 400],
    ['a foreign organization', '/v1/events?organization_id=ORG-other', 403],
    ['an unknown event', '/v1/events/x', 404],
  ])('responses to %s have them, too, and count', async (_what, path, status) => {
    const response = await read(token, path);
    expect([response.status, response.headers.get('ratelimit')]).toEqual([status, '"reads";r=2;t=60']);
  });

  it('a 304 has them and counts', async () => {
    const [one] = await record(service, event());
    const { status, headers } = await sendRequest(`${service.publicUrl}/v1/events/${one!.id}`, {
      ...{ token, headers: { 'if-none-match': '*' } },
    });
    expect([status, headers.get('ratelimit')]).toEqual([304, '"reads";r=2;t=60']);
  });

  it('the request after the last one is 429 with Retry-After, until the minute ends', async () => {
    for (const left of [2, 1, 0]) {
      const response = await read();
      expect(response.status).toBe(200);
      expect(response.headers.get('ratelimit')).toBe(`"reads";r=${left};t=60`);
    }
    const refused = await read();
    expectLimited(refused, '60');
    expect(refused.headers.get('ratelimit-policy')).toBe('"reads";q=3;w=60');
    expect(refused.headers.get('ratelimit')).toBe('"reads";r=0;t=60');
    advance(59_001);
    expectLimited(await read(), '1');
    advance(999);
    expect((await read()).status).toBe(200);
  });

  it('nobody waits for more than a minute, even if the clock is set back', async () => {
    for (let count = 0; count < 4; count += 1) await read();
    expectLimited(await read(), '60');
    advance(-3_600_000);
    const response = await read();
    expect([response.status, response.headers.get('ratelimit')]).toEqual([200, '"reads";r=2;t=60']);
  });

  it('HEAD counts as a read', async () => {
    await read(token, '/v1/event-types', 'HEAD');
    expect((await read()).headers.get('ratelimit')).toBe('"reads";r=1;t=60');
  });

  it('each token has its own limit', async () => {
    const other = await makeToken(service.database);
    for (let count = 0; count < 4; count += 1) await read();
    expect((await read()).status).toBe(429);
    expect((await read(other)).status).toBe(200);
  });

  it('writes are counted separately from reads', async () => {
    const writing = (await readOperations(service.publicUrl)).find(({ method }) => method === 'POST');
    for (let count = 0; count < 4; count += 1) await read();
    if (!writing) return expect((await read()).status).toBe(429);
    const write = () => read(token, writing.path.replace(/\{[^}]+\}/g, 'x'), 'POST');
    const first = await write();
    expect(first.headers.get('ratelimit-policy')).toBe('"writes";q=2;w=60');
    expect(first.headers.get('ratelimit')).toBe('"writes";r=1;t=60');
    await write();
    expectLimited(await write(), '60');
  });

  it('it is checked before the scope', async () => {
    const lacking = await makeToken(service.database, { scopes: [] });
    for (let count = 0; count < 3; count += 1) expect((await read(lacking)).status).toBe(403);
    expectLimited(await read(lacking), '60');
  });

  it('it is checked after the token: a revoked or unknown one is 401 and does not count', async () => {
    for (let count = 0; count < 5; count += 1) {
      const response = await read(`pht_${'x'.repeat(43)}`);
      expect([response.status, response.headers.get('ratelimit')]).toEqual([401, null]);
    }
  });

  it('requests that need no token are not counted', async () => {
    for (let count = 0; count < 5; count += 1) {
      const response = await read(token, '/healthz');
      expect([response.status, response.headers.get('ratelimit')]).toEqual([200, null]);
    }
    expect((await read(token, '/v1/nowhere')).headers.get('ratelimit')).toBeNull();
    expect((await read()).headers.get('ratelimit')).toBe('"reads";r=2;t=60');
  });

  it('the platform listener has no limit', async () => {
    for (let count = 0; count < 5; count += 1) {
      const response = await sendRequest(`${service.platformUrl}/platform/events`, {
        ...{ method: 'POST', token: platformToken, body: event() },
      });
      expect([response.status, response.headers.get('ratelimit')]).toEqual([201, null]);
    }
  });
});

describe('a limit of 0', () => {
  it('turns limits and their headers off', async () => {
    const service = await startTestService({ POSTHORN_RATE_LIMIT_READS: '0' });
    const token = await makeToken(service.database);
    for (let count = 0; count < 20; count += 1) {
      const { status, headers } = await sendRequest(`${service.publicUrl}/v1/event-types`, { token });
      expect(status).toBe(200);
      expect([...headers.keys()].filter((name) => name.startsWith('ratelimit'))).toEqual([]);
    }
  });
});

describe('without a setting', () => {
  it('a token may read 600 times per minute', async () => {
    const service = await startTestService({ POSTHORN_RATE_LIMIT_READS: '' });
    const token = await makeToken(service.database);
    const { headers } = await sendRequest(`${service.publicUrl}/v1/event-types`, { token });
    expect(headers.get('ratelimit-policy')).toBe('"reads";q=600;w=60');
    expect(headers.get('ratelimit')).toMatch(/^"reads";r=599;t=\d+$/);
  });
});
