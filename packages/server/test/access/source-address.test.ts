import { beforeAll, describe, expect, it } from 'vitest';
import { wrongTokensMax } from '../../src/access/rate-limits.js';
import { newTokenText } from '../../src/access/token.js';
import { sendRequest } from '../support/client.js';
import { Conformance } from '../support/conformance.js';
import { Log } from '../support/log.js';
import { readOperations } from '../support/operations.js';
import { openSocket, readToEnd } from '../support/raw-http.js';
import { makeToken, platformToken, startTestService, type TestService } from '../support/service.js';
import { newTenant } from '../support/tenant.js';

let behind: TestService;
let direct: TestService;
const log = new Log();

beforeAll(async () => {
  const settings = { POSTHORN_RATE_LIMIT_READS: '600' };
  behind = await startTestService({ ...settings, POSTHORN_TRUSTED_PROXIES: '127.0.0.0/8' });
  direct = await startTestService({ ...settings, DATABASE_URL: behind.databaseUrl }, log);
});

const from = (address: string) => ({ 'x-forwarded-for': address });

describe('the source address in the audit log', () => {
  async function auditedFrom(service: TestService, headers: Record<string, string>): Promise<unknown[]> {
    const tenant = await newTenant(service, { scopes: ['events:read', 'webhooks:write', 'audit:read'] });
    const { organization: organization_id } = tenant;
    const url = 'https://receiver.invalid/';
    const { status } = await tenant.create({ url, event_types: ['invoice.paid'] }, { headers });
    expect(status).toBe(201);
    await sendRequest(`${service.platformUrl}/platform/tokens`, {
      ...{ method: 'POST', token: platformToken, headers, body: { organization_id } },
    });
    const entries = await tenant.data('GET', `/v1/audit-logs?organization_id=${organization_id}`);
    return entries.map(({ source_address }: { source_address: string }) => source_address);
  }

  it('is what a trusted proxy reports, on both listeners', async () => {
    expect(await auditedFrom(behind, from('203.0.113.9, 198.51.100.7'))).toEqual([
      '198.51.100.7',
      '198.51.100.7',
    ]);
  });

  it('is the peer if that is not a trusted proxy, whatever the headers say', async () => {
    const spoofed = { ...from('203.0.113.9'), forwarded: 'for=203.0.113.9', 'x-real-ip': '203.0.113.9' };
    expect(await auditedFrom(direct, spoofed)).toEqual(['127.0.0.1', '127.0.0.1']);
  });

  it('is explained in the log if a header is ignored, once for each listener', async () => {
    await auditedFrom(direct, from('203.0.113.9'));
    const warnings = log.lines.filter(({ msg }) => String(msg).startsWith('X-Forwarded-For is ignored'));
    expect(warnings).toHaveLength(2);
  });
});

describe('guessing tokens', () => {
  const guess = (service: TestService, address: string, token = 'wrong') =>
    sendRequest(`${service.publicUrl}/v1/event-types`, { token, headers: from(address) });
  const guessPlatform = (service: TestService, address: string, token = 'wrong') =>
    sendRequest(`${service.platformUrl}/metrics`, { token, headers: from(address) });

  /** Sends as many wrong tokens as an address may, one after another. All of them must get 401. */
  async function useUp(url: string, path: string, addressOf: (n: number) => string): Promise<void> {
    for (let sent = 0; sent < wrongTokensMax; sent += 100) {
      const requests = Array.from({ length: 100 }, (_, n) =>
        [
          ...[`GET ${path} HTTP/1.1`, 'Host: localhost', 'Authorization: Bearer wrong'],
          ...[`X-Forwarded-For: ${addressOf(sent + n)}`, `Connection: ${n < 99 ? 'keep-alive' : 'close'}`],
          ...['', ''],
        ].join('\r\n'),
      );
      const socket = await openSocket(url);
      socket.write(requests.join(''));
      const statusLines = (await readToEnd(socket)).toString().match(/HTTP\/1\.1 \d{3}/g);
      expect(statusLines).toEqual(Array(100).fill('HTTP/1.1 401'));
    }
  }

  // The limit counts a minute, which must not end meanwhile.
  beforeAll(() => {
    for (const { clock } of [behind, direct]) clock.stoppedAtMs = Date.now();
  });

  describe('from one address', () => {
    const [address, other] = ['198.51.100.7', '198.51.100.8'];
    let token: string;

    beforeAll(async () => {
      token = await makeToken(behind.database, { expires_at: new Date(Date.now() + 86_400_000) });
      expect((await guess(behind, address, token)).status).toBe(200);
      await useUp(behind.publicUrl, '/v1/event-types', () => address);
    });

    it('is limited by address: then, wrong tokens get 429, and clients that were let in before are served', async () => {
      const { status, headers, body } = await guess(behind, address, newTokenText());
      expect([status, body.code]).toEqual([429, 'rate_limited']);
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d?$/);
      expect((await guess(behind, address, token)).status).toBe(200);
      expect((await guess(behind, other)).status).toBe(401);
      expect((await guessPlatform(behind, address)).status).toBe(429);
      expect((await guessPlatform(behind, address, platformToken)).status).toBe(200);
    });

    it('gets the 429 that each OpenAPI document describes, whatever the endpoint', async () => {
      for (const url of [behind.publicUrl, behind.platformUrl]) {
        const conformance = await Conformance.of(url);
        for (const operation of (await readOperations(url)).filter(({ isOpen }) => !isOpen)) {
          const { method, path } = operation;
          const response = await sendRequest(`${url}${path}`, {
            method,
            token: 'wrong',
            headers: from(address),
          });
          expect([response.status, response.headers.has('retry-after')], operation.name).toEqual([429, true]);
          conformance.check(operation, response);
        }
      }
    });
  });

  it('is limited by the peer address without a trusted proxy, whatever the header contains', async () => {
    await useUp(direct.platformUrl, '/metrics', (n) => `198.51.${n % 256}.7`);
    expect((await guessPlatform(direct, '203.0.113.1')).status).toBe(429);
  });
});
