import { describe, expect, it } from 'vitest';
import { newTokenText, type Scope, scopes, type Token } from '../../src/access/token.js';
import { markRevoked } from '../../src/access/token-store.js';
import { newId } from '../../src/values/identifier.js';
import { type ApiResponse, event, record, sendRequest } from '../support/client.js';
import {
  type Example,
  exampleOf,
  named,
  type Operation,
  readOperations,
  urlOf,
} from '../support/operations.js';
import { makeToken, platformToken, startTestService } from '../support/service.js';

const service = await startTestService();
const everything = { scopes: [...scopes] };
const publicOperations = await readOperations(service.publicUrl);
const platformOperations = await readOperations(service.platformUrl);
const secured = publicOperations.filter(({ isOpen }) => !isOpen);
const [foreignEvent] = await record(service, event({ organization_id: 'ORG-other', workspace_id: 'WS-1' }));

/** Ids that exist, but in another organization. Where a kind is not here, one that exists nowhere serves. */
const foreignIds: Record<string, string> = { event_id: foreignEvent!.id };

/** The operation's own example, for ORG-acme. */
function exampleFor(operation: Operation): Example {
  const { path, query, body } = exampleOf(operation);
  const own = { organization_id: 'ORG-acme' };
  return {
    path: { ...path, ...foreignIds },
    query: { ...query, ...('organization_id' in query && own) },
    body: hasField(operation, 'organization_id') ? { ...(body as object), ...own } : body,
  };
}

function hasField(operation: Operation, name: string): boolean {
  return name in (operation.body?.['application/json']?.schema?.properties ?? {});
}

function hasParameter(operation: Operation, name: string): boolean {
  return operation.parameters.some((parameter) => parameter.name === name);
}

function send(
  operation: Operation,
  token: string | undefined,
  example = exampleFor(operation),
): Promise<ApiResponse> {
  return sendRequest(urlOf(service.publicUrl, operation, example), {
    ...{ method: operation.method, token },
    ...(example.body !== undefined && { body: example.body }),
  });
}

/** Puts values where the operation takes them: in the query, else in the body. */
function exampleWith(operation: Operation, values: Record<string, string>): Example {
  const example = exampleFor(operation);
  for (const [name, value] of Object.entries(values)) {
    if (hasParameter(operation, name)) example.query[name] = value;
    else example.body = { ...(example.body as object), [name]: value };
  }
  return example;
}

const takes = (name: string) => (operation: Operation) =>
  hasParameter(operation, name) || hasField(operation, name);

function expectProblem(response: ApiResponse, status: number, code: string): void {
  expect([response.status, response.body?.code], response.text).toEqual([status, code]);
}

function expectUnauthenticated(response: ApiResponse): void {
  expectProblem(response, 401, 'unauthenticated');
  expect(response.headers.get('www-authenticate')).toBe('Bearer');
  expect(response.headers.get('ratelimit')).toBeNull();
}

// Tokens that requests only present, so all tests use the same ones.
const good = await makeToken(service.database, everything);
const expired = await makeToken(service.database, { ...everything, expires_at: new Date(Date.now() - 1) });
const revoked = await makeToken(service.database, { ...everything, id: 'TOK-revoked' });
await markRevoked(service.database, 'TOK-revoked', new Date());
const withoutScopes = await makeToken(service.database, { scopes: [] });
const lacking = new Map<string, string>();
for (const scope of scopes) {
  const rest = scopes.filter((each) => each !== scope);
  lacking.set(scope, await makeToken(service.database, { scopes: rest }));
}

describe.each(named(secured))('%s', (_name, operation) => {
  it('is 401 without a token', async () => {
    expectUnauthenticated(await send(operation, undefined));
  });

  it('is 401 with a malformed token', async () => {
    expectUnauthenticated(await send(operation, `${good}x`));
  });

  it('is 401 with an unknown token', async () => {
    expectUnauthenticated(await send(operation, newTokenText()));
  });

  it('is 401 with an expired token', async () => {
    expectUnauthenticated(await send(operation, expired));
  });

  it('is 401 with a revoked token', async () => {
    expectUnauthenticated(await send(operation, revoked));
  });

  it("is 401 with the platform listener's token", async () => {
    expectUnauthenticated(await send(operation, platformToken));
  });

  it.each(operation.scopes)('is 403 insufficient_scope without %s, whatever else is wrong', async (scope) => {
    const token = lacking.get(scope);
    const example = exampleFor(operation);
    expectProblem(await send(operation, token, example), 403, 'insufficient_scope');
    const faulty = { ...example, query: { ...example.query, no_such_parameter: '1' }, body: 'no object' };
    expectProblem(
      await send(operation, token, { ...faulty, body: operation.body && faulty.body }),
      403,
      'insufficient_scope',
    );
  });

  it('is refused without a scope at all, unless it needs none', async () => {
    const response = await send(operation, withoutScopes);
    if (operation.scopes.length === 0) expect(response.status).toBe(200);
    else expectProblem(response, 403, 'insufficient_scope');
  });
});

describe('whatever can cause events to be sent somewhere', () => {
  it.each([
    'POST /v1/webhooks',
    'PATCH /v1/webhooks/{webhook_id}',
    'POST /v1/webhooks/{webhook_id}/verify',
    'POST /v1/webhooks/{webhook_id}/test',
    'POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver',
    'POST /v1/webhooks/{webhook_id}/replay',
  ])('needs events:read in addition to webhooks:write: %s', (name) => {
    const operation = publicOperations.find((each) => each.name === name);
    expect([...(operation?.scopes ?? [])].sort()).toEqual(['events:read', 'webhooks:write']);
  });

  it('is everything that needs webhooks:write, apart from deleting a webhook and changing its secret', () => {
    const others = publicOperations.filter(
      (each) => each.scopes.includes('webhooks:write') && !each.scopes.includes('events:read'),
    );
    expect(others.map(({ name }) => name).sort()).toEqual([
      'DELETE /v1/webhooks/{webhook_id}',
      'POST /v1/webhooks/{webhook_id}/rotate-secret',
    ]);
  });

  it('is every request that writes: no other scope allows one', () => {
    const writes = publicOperations.filter(
      // A preview changes nothing. It is a POST because a filter does not fit into a query.
      ({ method, name }) => !['GET', 'HEAD'].includes(method) && name !== 'POST /v1/webhooks/preview',
    );
    expect(writes.filter(({ scopes }) => !scopes.includes('webhooks:write'))).toEqual([]);
  });
});

describe.each(named(secured.filter(takes('organization_id'))))(
  '%s, for a given organization',
  (_name, operation) => {
    it('is 403 organization_forbidden for another one, whether or not it exists', async () => {
      for (const organization_id of ['ORG-other', 'ORG-that-never-was', 'nonsense']) {
        const response = await send(operation, good, exampleWith(operation, { organization_id }));
        expectProblem(response, 403, 'organization_forbidden');
        expect(response.text).not.toContain(foreignEvent!.id);
      }
    });
  },
);

describe.each(named(secured.filter(takes('workspace_id'))))(
  '%s, for a given workspace',
  (_name, operation) => {
    it("is 403 workspace_forbidden for a workspace's token that names another one", async () => {
      const token = await makeToken(service.database, { ...everything, workspace_id: 'WS-own' });
      for (const workspace_id of ['WS-1', 'WS-that-never-was']) {
        expectProblem(
          await send(operation, token, exampleWith(operation, { workspace_id })),
          403,
          'workspace_forbidden',
        );
      }
    });

    it('is 403 organization_forbidden for another organization, even if its workspace has the same name', async () => {
      const token = await makeToken(service.database, { ...everything, workspace_id: 'WS-1' });
      const example = exampleWith(operation, { organization_id: 'ORG-other', workspace_id: 'WS-1' });
      expectProblem(await send(operation, token, example), 403, 'organization_forbidden');
    });
  },
);

describe.each(named(secured.filter(({ path }) => path.includes('{'))))(
  '%s, with an id in its path',
  (_name, operation) => {
    it('is 404 for an id of another organization', async () => {
      expectProblem(await send(operation, good), 404, 'not_found');
    });

    it('is 404 for an impossible id', async () => {
      const example = exampleFor(operation);
      for (const odd of ['\0', '𝄞', ' ', "'", 'x'.repeat(3_000), '..%2F..']) {
        const path = Object.fromEntries(Object.keys(example.path).map((name) => [name, odd]));
        expectProblem(await send(operation, good, { ...example, path }), 404, 'not_found');
      }
    });
  },
);

describe("another organization's event", () => {
  it('is byte for byte like one that never existed', async () => {
    const token = await makeToken(service.database);
    const foreign = foreignEvent!.id;
    const never = `${foreign.slice(0, -6)}000000`;
    const get = async (id: string) => {
      const { status, headers, text } = await sendRequest(`${service.publicUrl}/v1/events/${id}`, {
        ...{ token, headers: { 'x-request-id': 'the-same-request' } },
      });
      const kept = [...headers].filter(([name]) => name !== 'date');
      return { status, headers: kept, text: text.replaceAll(id, 'ID') };
    };
    expect(await get(foreign)).toEqual(await get(never));
    const own = await makeToken(service.database, { organization_id: 'ORG-other' });
    expect((await sendRequest(`${service.publicUrl}/v1/events/${foreign}`, { token: own })).status).toBe(200);
  });

  it('is in none of our lists, whatever the query', async () => {
    const token = await makeToken(service.database);
    for (const filter of [
      '',
      '&type=invoice.paid',
      '&workspace_id=WS-1',
      '&actor_id=USR-ada',
      '&order=asc',
    ]) {
      const { body } = await sendRequest(`${service.publicUrl}/v1/events?organization_id=ORG-acme${filter}`, {
        token,
      });
      expect(body.data).toEqual([]);
    }
  });
});

describe('a token', () => {
  const list = (token: string) =>
    sendRequest(`${service.publicUrl}/v1/events?organization_id=ORG-acme`, { token });
  const statusAt = async (token: string, ms: number) => {
    service.clock.stoppedAtMs = ms;
    try {
      return (await list(token)).status;
    } finally {
      service.clock.stoppedAtMs = undefined;
    }
  };

  it('that was just in use is refused within 2 s of its revocation', async () => {
    const id = newId('TOK', Date.now());
    const token = await makeToken(service.database, { id });
    const now = Date.now();
    expect(await statusAt(token, now)).toBe(200);
    await markRevoked(service.database, id, new Date());
    expect(await statusAt(token, now + 2_000)).toBe(401);
  });

  it('is accepted until the millisecond it expires', async () => {
    const expires = new Date(Date.now() + 60_000);
    const token = await makeToken(service.database, { expires_at: expires });
    expect(await statusAt(token, expires.getTime() - 1)).toBe(200);
    expect(await statusAt(token, expires.getTime())).toBe(401);
  });

  it.each([
    ['nothing after Bearer', 'Bearer'],
    ['only a space after Bearer', 'Bearer '],
    ['another text', 'Bearer x'],
    ['one character too many', `Bearer ${good}x`],
    ['one character too few', `Bearer ${good.slice(0, -1)}`],
    ['a second token', `Bearer ${good} ${good}`],
    ['a comma after Bearer', `Bearer, ${good}`],
    ['basic authentication', `Basic ${Buffer.from(`x:${good}`).toString('base64')}`],
    ['no scheme', good],
    ['upper case', `Bearer ${good.toUpperCase()}`],
  ])('is refused with %s in the header', async (_name, authorization) => {
    expectUnauthenticated(
      await sendRequest(`${service.publicUrl}/v1/event-types`, { headers: { authorization } }),
    );
  });

  it.each([
    ['in a header without a scheme', good],
    ['in basic authentication', `Basic ${Buffer.from(`x:${good}`).toString('base64')}`],
    ['followed by another', `Bearer ${good} ${good}`],
  ])('is refused %s, and the response shows how to send it', async (_name, authorization) => {
    const { body } = await sendRequest(`${service.publicUrl}/v1/event-types`, { headers: { authorization } });
    expect(body.detail).toBe('Send an access token: Authorization: Bearer <token>.');
  });

  it('that does not start with pht_, such as the platform token, is refused with a note that says so', async () => {
    const detailFor = async (token: string) =>
      (await sendRequest(`${service.publicUrl}/v1/event-types`, { token })).body.detail;
    const fault = 'The access token is malformed, unknown, expired or revoked.';
    expect(await detailFor(newTokenText())).toBe(fault);
    expect(await detailFor(platformToken)).toBe(
      `${fault} Access tokens start with pht_. The platform token works only on the platform listener.`,
    );
  });

  it.each([
    ['one character too many', `Bearer ${platformToken}x`],
    ['one character too few', `Bearer ${platformToken.slice(1)}`],
    ['no scheme', platformToken],
  ])('of the platform is refused with %s in the header', async (_name, authorization) => {
    expectUnauthenticated(
      await sendRequest(`${service.platformUrl}/metrics`, { headers: { authorization } }),
    );
  });

  it('is accepted whatever the case of the word Bearer', async () => {
    const token = await makeToken(service.database);
    for (const word of ['bearer', 'BEARER', 'Bearer  ']) {
      const { status } = await sendRequest(`${service.publicUrl}/v1/event-types`, {
        headers: { authorization: `${word} ${token}` },
      });
      expect(status).toBe(200);
    }
  });

  it('is stored only as its SHA-256', async () => {
    const token = await makeToken(service.database);
    const { rows } = await service.database.query<{ row: string }>({
      text: 'select t::text as row from posthorn.tokens t',
    });
    const secret = token.slice('pht_'.length);
    expect(rows.length).toBeGreaterThan(0);
    for (const { row } of rows) {
      expect(row).not.toContain(secret);
      expect(row).not.toContain(Buffer.from(token).toString('hex'));
    }
  });

  it.each<[string, Partial<Token>, number]>([
    ['events:read', { scopes: ['events:read'] as Scope[] }, 200],
    ['everything but events:read', { scopes: scopes.filter((scope) => scope !== 'events:read') }, 403],
  ])('with %s reads events accordingly', async (_name, fields, status) => {
    expect((await list(await makeToken(service.database, fields))).status).toBe(status);
  });
});

describe.each(named(platformOperations.filter(({ isOpen }) => !isOpen)))(
  '%s on the platform listener',
  (_name, operation) => {
    const ask401 = async (headers: Record<string, string>) => {
      const { body, ...rest } = exampleOf(operation);
      const response = await sendRequest(urlOf(service.platformUrl, operation, { ...rest, body }), {
        ...{ method: operation.method, headers, body },
      });
      expectUnauthenticated(response);
    };

    it('is 401 without a token, with a wrong one, and with one of the public API', async () => {
      await ask401({});
      for (const text of [`Bearer ${platformToken}x`, `Bearer ${good}`])
        await ask401({ authorization: text });
    });

    it('is 404 on the public listener, whatever the token', async () => {
      const { body, ...rest } = exampleOf(operation);
      for (const token of [undefined, platformToken, good]) {
        const response = await sendRequest(urlOf(service.publicUrl, operation, { ...rest, body }), {
          ...{ method: operation.method, token, body },
        });
        expectProblem(response, 404, 'not_found');
      }
    });
  },
);

describe('without a token', () => {
  const open = [
    ...publicOperations.filter(({ isOpen }) => isOpen).map(({ path }) => `${service.publicUrl}${path}`),
    ...platformOperations.filter(({ isOpen }) => isOpen).map(({ path }) => `${service.platformUrl}${path}`),
    ...[service.publicUrl, service.platformUrl].flatMap((url) => [`${url}/openapi.json`, `${url}/docs`]),
  ].map((url) => url.replace(service.publicUrl, 'public').replace(service.platformUrl, 'platform'));

  it.each(open)('%s needs no token', async (place) => {
    const url = place
      .replace('public/', `${service.publicUrl}/`)
      .replace('platform/', `${service.platformUrl}/`);
    expect((await sendRequest(url)).status).toBe(200);
  });

  it('health needs none on either listener', () => {
    for (const listener of ['public', 'platform'])
      expect(open).toEqual(expect.arrayContaining([`${listener}/healthz`, `${listener}/readyz`]));
  });
});
