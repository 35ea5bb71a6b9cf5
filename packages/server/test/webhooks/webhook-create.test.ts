import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Scope, scopes } from '../../src/access/token.js';
import type { ApiResponse } from '../support/client.js';
import { startReceiver } from '../support/receiver.js';
import { sharedService, startTestService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';

const service = await sharedService();
/** As an operator runs it who has allowed nothing. */
const strict = await startTestService({ POSTHORN_EGRESS_ALLOW: '' });

const faultsOf = (response: ApiResponse) =>
  (response.body.errors ?? []).map((fault: { pointer: string; code: string }) => [fault.pointer, fault.code]);

async function expectNothingMade(tenant: Tenant): Promise<void> {
  expect(await tenant.data('GET', '/v1/webhooks')).toEqual([]);
}

describe('POST /v1/webhooks', () => {
  it('returns 201 with Location and exactly the fields of the contract', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const response = await tenant.create({
      ...{ url: receiver.url, event_types: ['invoice.paid'], secret: 'a-secret-of-16-characters-or-more' },
    });
    expect(response.status).toBe(201);
    expect(response.body).toEqual({
      data: {
        id: expect.stringMatching(/^WHK-[0-9A-HJKMNP-TV-Z]{26}$/),
        organization_id: tenant.organization,
        workspace_id: null,
        url: receiver.url,
        status: 'active',
        event_types: ['invoice.paid'],
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        ...{ description: null, rate_limit: null, headers: {}, filter: null, verification_failure: null },
        ...{
          retry_schedule: null,
          expires_at: null,
          disabled_reason: null,
          format: 'envelope',
          template: null,
        },
      },
    });
    expect(response.headers.get('location')).toBe(`/v1/webhooks/${response.body.data.id}`);
    expect((await tenant.request('GET', response.headers.get('location')!)).status).toBe(200);
  });

  it('accepts a workspace_id', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect(200, { workspace_id: 'WS-1' });
    expect(webhook.workspace_id).toBe('WS-1');
  });

  it('accepts workspace_id null for the whole organization', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect(200, { workspace_id: null });
    expect(webhook.workspace_id).toBeNull();
  });

  it('generates a unique secret if none is given: whsec_ and 32 bytes in base64', async () => {
    const tenant = await newTenant(service);
    const secrets = [];
    for (let made = 0; made < 2; made += 1) secrets.push((await tenant.connect()).webhook.secret);
    for (const secret of secrets) {
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(Buffer.from(secret.slice(6), 'base64')).toHaveLength(32);
    }
    expect(secrets[0]).not.toBe(secrets[1]);
  });

  it('returns a generated secret in the 201 and never again', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    const path = `/v1/webhooks/${webhook.id}`;
    const later = [
      await tenant.request('GET', path),
      await tenant.request('GET', '/v1/webhooks'),
      await tenant.request('PATCH', path, { body: { event_types: ['invoice.*'] } }),
      await tenant.request('POST', `${path}/verify`),
      await tenant.request('POST', `${path}/test`, { body: { event_type: 'invoice.paid' } }),
    ];
    for (const { status, text } of later) {
      expect([status, text.includes(webhook.secret), text.includes('"secret"')]).toEqual([200, false, false]);
    }
  });

  it.each<[string, Scope[]]>([
    ['webhooks:write', ['events:read', 'webhooks:read', 'audit:read']],
    ['events:read', ['webhooks:read', 'webhooks:write', 'audit:read']],
  ])('needs %s', async (_missing, granted) => {
    const lacking = await newTenant(service, { scopes: granted });
    const response = await lacking.create({ url: 'https://receiver.example/' });
    expect([response.status, response.body.code]).toEqual([403, 'insufficient_scope']);
    const enough = await newTenant(service, {
      ...{ organization_id: lacking.organization, scopes: [...scopes] },
    });
    await expectNothingMade(enough);
  });

  it('is 403 for another organization, without revealing whether it exists or calling the URL', async () => {
    const tenant = await newTenant(service);
    const other = await newTenant(service);
    const receiver = await startReceiver();
    for (const organization_id of [other.organization, 'ORG-that-never-was', 'nonsense']) {
      const response = await tenant.create({ organization_id, url: receiver.url });
      expect([response.status, response.body.code]).toEqual([403, 'organization_forbidden']);
    }
    expect(receiver.verifications.count).toBe(0);
    await expectNothingMade(other);
  });

  it("uses the workspace of a workspace's token, and is 403 for any other and for the whole organization", async () => {
    const tenant = await newTenant(service, { workspace_id: 'WS-own' });
    const receiver = await startReceiver();
    expect((await tenant.webhook(receiver)).workspace_id).toBe('WS-own');
    expect((await tenant.webhook(receiver, { workspace_id: 'WS-own' })).workspace_id).toBe('WS-own');
    for (const workspace_id of ['WS-other', null]) {
      const response = await tenant.create({ url: receiver.url, workspace_id });
      expect([response.status, response.body.code]).toEqual([403, 'workspace_forbidden']);
    }
  });

  it('is 422 for an unknown field', async () => {
    const tenant = await newTenant(service);
    const response = await tenant.create({
      url: 'https://receiver.example/',
      name: 'mine',
      revision: 7,
    });
    expect(response.status).toBe(422);
    expect(faultsOf(response)).toEqual([
      ['/name', 'unknown_field'],
      ['/revision', 'unknown_field'],
    ]);
    await expectNothingMade(tenant);
  });

  it.each([
    ['organization_id', 7],
    ['organization_id', ''],
    ['workspace_id', 'no-prefix'],
    ['workspace_id', 7],
    ['url', 7],
    ['url', null],
    ['secret', null],
    ['secret', 7],
  ])('is 422 if %s is %j', async (field, value) => {
    const tenant = await newTenant(service);
    const response = await tenant.create({ url: 'https://receiver.example/', [field]: value });
    expect(response.status).toBe(422);
    expect(faultsOf(response).map(([pointer]: [string]) => pointer)).toEqual([`/${field}`]);
  });

  it('names every missing field', async () => {
    const tenant = await newTenant(service);
    for (const more of [{ body: {} }, {}]) {
      const response = await tenant.request('POST', '/v1/webhooks', more);
      expect(response.status).toBe(422);
      expect(faultsOf(response).map(([pointer]: [string]) => pointer)).toEqual([
        '/organization_id',
        '/url',
        '/event_types',
      ]);
    }
  });

  it('lists all faults of one request at once', async () => {
    const tenant = await newTenant(service);
    const response = await tenant.create({
      url: 'https://user:pass@receiver.example/',
      event_types: ['invoice.payed', 'invoice.paid', 'nope.*'],
      secret: 'too short',
      workspace_id: 'berlin',
      extra: true,
    });
    expect(response.status).toBe(422);
    expect(
      faultsOf(response)
        .map(([pointer]: [string]) => pointer)
        .sort(),
    ).toEqual(['/event_types/0', '/event_types/2', '/extra', '/secret', '/url', '/workspace_id']);
    await expectNothingMade(tenant);
  });

  it('allows 100 webhooks per organization: the next is 409, even in a race for the last one', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    for (let made = 0; made < 99; made += 9) {
      await Promise.all(Array.from({ length: 9 }, () => tenant.webhook(receiver)));
    }
    const last = await Promise.all(Array.from({ length: 4 }, () => tenant.create({ url: receiver.url })));
    expect(last.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
    expect(last.find(({ status }) => status === 409)!.body.code).toBe('too_many_webhooks');
    const all = await tenant.data('GET', '/v1/webhooks');
    expect(all).toHaveLength(100);

    expect((await tenant.request('DELETE', `/v1/webhooks/${all[0].id}`)).status).toBe(204);
    expect((await tenant.create({ url: receiver.url })).status).toBe(201);
    const neighbour = await newTenant(service);
    expect((await neighbour.create({ url: receiver.url })).status).toBe(201);
  });
});

describe('url', () => {
  const at = (url: string, tenant: Tenant) => tenant.create({ url });

  it.each([
    ['receiver.example/hook', 'invalid_url'],
    ['/hook', 'invalid_url'],
    ['', 'invalid_url'],
    ['https://', 'invalid_url'],
    ['https:receiver.example', 'invalid_url'],
    ['https://receiver.example:0/', 'invalid_url'],
    ['https://receiver.example/a b', 'invalid_url'],
    ['ftp://receiver.example/', 'scheme_not_allowed'],
    ['javascript:alert(1)', 'scheme_not_allowed'],
    ['http://receiver.example/', 'scheme_not_allowed'],
    ['http://8.8.8.8/', 'scheme_not_allowed'],
    ['https://user@receiver.example/', 'user_info_not_allowed'],
    ['https://user:secret@receiver.example/', 'user_info_not_allowed'],
    ['https://receiver.example/#top', 'fragment_not_allowed'],
    ['https://receiver.example/#', 'fragment_not_allowed'],
    ['https://localhost/', 'address_not_allowed'],
    ['https://127.0.0.1/', 'address_not_allowed'],
    ['https://2130706433/', 'address_not_allowed'],
    ['https://0x7f.1/', 'address_not_allowed'],
    ['https://10.1.2.3/', 'address_not_allowed'],
    ['https://100.64.0.1/', 'address_not_allowed'],
    ['https://169.254.169.254/latest/meta-data', 'address_not_allowed'],
    ['https://192.168.0.1/', 'address_not_allowed'],
    ['https://[::1]/', 'address_not_allowed'],
    ['https://[::ffff:10.0.0.1]/', 'address_not_allowed'],
    ['https://[64:ff9b::7f00:1]/', 'address_not_allowed'],
    ['https://[fd00::1]/', 'address_not_allowed'],
    [`https://receiver.example/${'x'.repeat(2_024)}`, 'url_too_long'],
  ])('%s is 422 %s', async (url, code) => {
    const tenant = await newTenant(strict);
    const response = await at(url, tenant);
    expect([response.status, ...faultsOf(response)]).toEqual([422, ['/url', code]]);
    await expectNothingMade(tenant);
  });

  it('can have 2,048 characters', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const url = `${receiver.url}?${'x'.repeat(2_048 - receiver.url.length - 1)}`;
    expect(url).toHaveLength(2_048);
    expect((await tenant.webhook(receiver, { url })).url).toBe(url);
    expect(receiver.verifications.last.path).toBe(url.slice(url.indexOf('/hook')));
    expect((await at(`${url}x`, tenant)).status).toBe(422);
  });

  it('can be plain http if the operator allows the address', async () => {
    const tenant = await newTenant(service);
    const receiver = await startReceiver();
    const byName = receiver.url.replace('127.0.0.1', 'localhost');
    expect((await tenant.webhook(receiver, { url: receiver.url })).status).toBe('active');
    expect((await at(byName, tenant)).status).toBe(201);
    expect((await at('http://10.0.0.1/', tenant)).status).toBe(422);
  });
});

describe('event_types', () => {
  const subscribe = async (event_types: unknown) =>
    (await newTenant(service)).create({ url: (await startReceiver()).url, event_types });

  it.each([
    ['*', ['*']],
    [['*'], ['*']],
    [['*', '*'], ['*']],
    [['invoice.paid'], ['invoice.paid']],
    [
      ['invoice.paid', 'agent.run.completed', 'invoice.paid'],
      ['invoice.paid', 'agent.run.completed'],
    ],
    [
      ['invoice.*', 'webhook.*'],
      ['invoice.*', 'webhook.*'],
    ],
    [
      ['invoice.*', 'invoice.paid'],
      ['invoice.*', 'invoice.paid'],
    ],
    [Array.from({ length: 100 }, () => 'task.created'), ['task.created']],
  ])('%j is accepted as %j', async (given, kept) => {
    const response = await subscribe(given);
    expect([response.status, response.body.data?.event_types]).toEqual([201, kept]);
  });

  it.each([
    ['none', []],
    ['101', Array.from({ length: 101 }, () => 'task.created')],
    ['* with others', ['*', 'invoice.paid']],
    ['a type as text', 'invoice.paid'],
    ['an object', { type: 'invoice.paid' }],
    ['null', null],
  ])('%s: 422', async (_name, given) => {
    const response = await subscribe(given);
    expect(response.status).toBe(422);
    expect(faultsOf(response).map(([pointer]: [string]) => pointer)).toEqual(['/event_types']);
  });

  it.each([
    ['invoice.payed', 'invoice.paid'],
    ['agent.run.complete', 'agent.run.completed'],
    ['service_line.activate', 'service_line.activated'],
  ])('%s is 422 with %s suggested', async (given, nearest) => {
    const response = await subscribe(['task.created', given]);
    expect([response.status, faultsOf(response)]).toEqual([422, [['/event_types/1', 'unknown_event_type']]]);
    expect(response.body.errors[0].detail).toContain(`did you mean ${nearest}`);
  });

  it('with a misspelled domain says which one may be meant', async () => {
    const { status, body } = await subscribe(['tsk.*']);
    expect([status, body.errors[0].detail]).toEqual([
      422,
      '"tsk.*" is not a known domain; did you mean task.*?',
    ]);
  });

  it('with several errors in one list reports all of them', async () => {
    const { status, body } = await subscribe(['*', 'invoice.piad', 5, 'invoice.paid', 'x.y', '']);
    const found = body.errors.map(({ pointer }: { pointer: string }) => pointer);
    expect([status, found.sort()]).toEqual([
      422,
      ['', '/1', '/2', '/4', '/5'].map((end) => `/event_types${end}`),
    ]);
  });

  it('with a pattern for a part of a domain says which pattern there is', async () => {
    const { status, body } = await subscribe(['agent.run.*']);
    expect(status).toBe(422);
    expect(body.errors[0].detail).toMatch(
      /closest known type is agent\.run\..*A pattern covers a whole domain: agent\.\*$/s,
    );
  });

  it.each(['agent.run.*', '.*', '*.paid', 'invoice.', '**', 'webhook.verification', ' invoice.paid'])(
    '%j is not a type: 422',
    async (given) => {
      const response = await subscribe([given]);
      expect([response.status, faultsOf(response)]).toEqual([
        422,
        [['/event_types/0', 'unknown_event_type']],
      ]);
    },
  );

  it.each([[['']], [[7]], [[null]], [[['invoice.paid']]]])('%j: 422', async (given) => {
    const response = await subscribe(given);
    expect([response.status, response.body.errors?.[0].pointer]).toEqual([422, '/event_types/0']);
  });
});

describe('secret', () => {
  const createWith = async (secret: unknown) => {
    const receiver = await startReceiver();
    const response = await (await newTenant(service)).create({ url: receiver.url, secret });
    return { response, receiver };
  };
  const hmac = (key: string, body: Buffer) => createHmac('sha256', Buffer.from(key, 'utf8')).update(body);

  it.each([
    ['16 characters', 's'.repeat(16)],
    ['256 characters', 's'.repeat(256)],
    ['spaces and punctuation', ' a secret, with: spaces! '],
    ['other scripts', 'ein-Geheimnis-für-alle-Übrigen'],
    ['16 characters beyond the basic plane', '🔑'.repeat(16)],
    ['256 characters beyond the basic plane', '🔑'.repeat(256)],
    ['a whsec_ secret', `whsec_${Buffer.alloc(32, 7).toString('base64')}`],
    ['whsec_ and no base64', 'whsec_not base64 at all'],
  ])('%s: accepted, not returned, and its UTF-8 bytes are the key', async (_name, secret) => {
    const { response, receiver } = await createWith(secret);
    expect(response.status).toBe(201);
    expect(response.body.data).not.toHaveProperty('secret');
    expect(response.text).not.toContain(secret);
    const { headers, body } = await receiver.verifications.nth(1);
    expect(headers['x-service-signature']).toBe(`sha256=${hmac(secret, body).digest('hex')}`);
  });

  it.each([
    ['15 characters', 's'.repeat(15)],
    ['257 characters', 's'.repeat(257)],
    ['empty', ''],
    ['a line break', `${'s'.repeat(16)}\n`],
    ['NUL', `${'s'.repeat(16)}\0`],
    ['DEL', `${'s'.repeat(16)}\u007f`],
    ['a C1 control character', `${'s'.repeat(16)}\u0085`],
    ['half a surrogate pair, which has no UTF-8 bytes', `${'s'.repeat(16)}\ud83d`],
  ])('%s: 422, without repeating the text', async (_name, secret) => {
    const { response, receiver } = await createWith(secret);
    expect([response.status, faultsOf(response).map(([pointer]: [string]) => pointer)]).toEqual([
      422,
      ['/secret'],
    ]);
    expect(response.text).not.toContain('ssssssss');
    expect(receiver.verifications.count).toBe(0);
  });
});
