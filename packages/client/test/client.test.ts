import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hideDelivery } from '../../server/test/support/rare-delivery.js';
import { startReceiver } from '../../server/test/support/receiver.js';
import { recordText } from '../../server/test/support/recording.js';
import { sharedService } from '../../server/test/support/service.js';
import { freePort } from '../../server/test/support/snippets.js';
import { newTenant } from '../../server/test/support/tenant.js';
import { Posthorn, PosthornError, type TransportOptions } from '../src/index.js';

const service = await sharedService();
const tenant = await newTenant(service);
const { organization: organization_id, token } = tenant;
const posthorn = new Posthorn({ url: service.publicUrl, token });

/** A client whose requests pass through `intercept`; `pass` sends them. */
function intercepted(
  intercept: (count: number, pass: () => Promise<Response>) => Promise<Response>,
  attempts = 5,
) {
  let count = 0;
  return new Posthorn({
    ...{ url: service.publicUrl, token, retry: { attempts } },
    fetch: (url, init) => {
      count += 1;
      return intercept(count, () => fetch(url, init));
    },
  });
}

const busy = (status: number, seconds: number) =>
  new Response(JSON.stringify({ code: status === 429 ? 'rate_limited' : 'unavailable', detail: 'Later.' }), {
    ...{ status, headers: { 'Retry-After': String(seconds) } },
  });

async function failureOf(call: Promise<unknown>): Promise<PosthornError> {
  const error = await call.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(PosthornError);
  return error;
}

describe('a list', () => {
  it('yields every result of every page, in order', async () => {
    const recorded: string[] = [];
    for (let count = 0; count < 7; count += 1) recorded.push((await tenant.record()).id);
    const seen: string[] = [];
    for await (const event of posthorn.events.list({ organization_id, order: 'asc', limit: 3 }))
      seen.push(event.id);
    expect(seen).toEqual(recorded);
    const sizes: number[] = [];
    for await (const { data } of posthorn.events.list({ organization_id, limit: 3 }).pages())
      sizes.push(data.length);
    expect(sizes).toEqual([3, 3, 1]);
    expect(await posthorn.events.list({ organization_id, limit: 3 }).all(4)).toHaveLength(4);
  });

  it('continues after an empty page if there is more', async () => {
    const other = await newTenant(service);
    const hidden = await hideDelivery(service, other, 250);
    const client = new Posthorn({ url: service.publicUrl, token: other.token });
    const rare = client.deliveries.list({ event_type: 'task.created', limit: 25 });
    expect(await rare.first()).toMatchObject({ data: [], hasMore: true, cursor: expect.any(String) });
    expect((await rare.all()).map(({ id }) => id)).toEqual([hidden.id]);
    expect((await rare.all(1)).map(({ id }) => id)).toEqual([hidden.id]);
    const stopped = await rare.search(1, 2);
    expect(stopped).toMatchObject({ data: [], hasMore: true, searchedTo: expect.any(String) });
    expect(stopped.searchedTo! > hidden.createdAt).toBe(true);
    const cursor = stopped.cursor ?? '';
    const rest = await client.deliveries.list({ event_type: 'task.created', cursor }).search(1, 5);
    expect(rest.data.map(({ id }) => id)).toEqual([hidden.id]);
  });

  it('works for a list that has only one page', async () => {
    const types = await posthorn.eventTypes.list().all();
    expect(types.map(({ type }) => type)).toContain('invoice.paid');
  });
});

describe('an event as text', () => {
  it('keeps the digits that a parsed number loses', async () => {
    const digits = '12345678901234567890.10';
    const event = { type: 'invoice.paid', organization_id, actor: { type: 'user', id: 'USR-1' } };
    const text = JSON.stringify({ ...event, subject: { type: 'invoice', id: 'INV-1' }, payload: 'here' });
    const payload = `{"id":"INV-1","big":${digits}}`;
    const [recorded] = await recordText(service.database, `[${text.replace('"here"', payload)}]`);
    expect(await posthorn.events.getText(recorded!.id)).toContain(payload);
  });
});

describe('the life of a webhook', () => {
  it('can be followed from its creation to its end', async () => {
    const receiver = await startReceiver();
    const webhook = await posthorn.webhooks.create({
      organization_id,
      url: receiver.url,
      event_types: ['invoice.*'],
    });
    expect(webhook).toMatchObject({ status: 'active', secret: expect.stringMatching(/^whsec_/) });
    const recorded = await tenant.record();
    await receiver.deliveries.nth(1);
    await expect
      .poll(() => posthorn.deliveries.list({ webhook_id: webhook.id }).all())
      .toMatchObject([{ event_id: recorded.id, status: 'success' }]);
    const [delivery] = await posthorn.webhooks.deliveries(webhook.id).all();
    const detail = await posthorn.deliveries.get(webhook.id, delivery!.id);
    expect(detail.attempt_log).toHaveLength(1);
    expect(await posthorn.deliveries.redeliver(webhook.id, delivery!.id)).toMatchObject({ attempts: 0 });
    expect(await posthorn.webhooks.test(webhook.id, { event_type: 'invoice.paid' })).toMatchObject({
      status: 'success',
    });
    expect(await posthorn.webhooks.change(webhook.id, { description: 'ours' })).toMatchObject({
      description: 'ours',
    });
    await posthorn.webhooks.delete(webhook.id);
    expect((await failureOf(posthorn.webhooks.get(webhook.id))).code).toBe('not_found');
  });
});

describe('a problem', () => {
  it.each([undefined, '', 'localhost:7400', 'ftp://hooks.example.com', '/v1'])(
    'with the URL %j is reported at once, before any request',
    (url) => {
      expect(() => new Posthorn({ url: url as string, token: 'x' })).toThrow(/^url must start with http/);
      const cells = { west: url as string };
      expect(() => new Posthorn({ url: 'http://127.0.0.1', token: 'x', cells })).toThrow(
        /^cells.west must start/,
      );
    },
  );

  it.each([undefined, null, 17])('with the token %s is reported at once', (token) => {
    const options = { url: 'http://127.0.0.1', token: token as unknown as string };
    expect(() => new Posthorn(options)).toThrow(/^the option token is missing/);
  });

  it('with a URL that contains a password is reported at once, without the password', () => {
    const url = 'https://ada:hunter2@hooks.example.com';
    const reason = 'url must not contain a username or a password';
    expect(() => new Posthorn({ url, token: 'x' })).toThrow(new TypeError(reason));
  });

  it.each([
    ['that was shortened', 'pht_50Fg…'],
    ['in two lines', 'pht_50\nFg'],
    ['of a function', async () => 'pht_50Fg…'],
  ])(
    'with a token %s, which cannot be sent, is reported at once, without the token',
    async (_what, unsendable) => {
      let sent = 0;
      const send = async () => {
        sent += 1;
        return Response.json({ data: {} });
      };
      const client = new Posthorn({ url: service.publicUrl, token: unsendable, fetch: send });
      const error = await client.token().catch((reason) => reason);
      expect(error).toBeInstanceOf(TypeError);
      expect(error.message).toMatch(/^The token contains a character that an HTTP header cannot contain\./);
      expect(inspect(error)).not.toContain('pht_');
      expect(sent).toBe(0);
    },
  );

  it.each<[string, (client: Posthorn) => Promise<unknown>]>([
    ['idempotencyKey', (client) => client.webhooks.verify('WHK-1', { idempotencyKey: 'order–42' })],
    ['lastEventId', async (client) => client.events.tail({ organization_id }, { lastEventId: 'order–42' })],
  ])('with a value of %s that cannot be sent is reported at once, with the value', async (option, call) => {
    let sent = 0;
    const client = intercepted((count, pass) => {
      sent = count;
      return pass();
    }, 1);
    const reason = `${option} contains a character that an HTTP header cannot contain: "order–42"`;
    await expect(call(client)).rejects.toThrow(new TypeError(reason));
    expect(sent).toBe(0);
  });

  it('of the function that returns the token is thrown as it is, and nothing is repeated', async () => {
    const failure = new PosthornError({ status: 503, code: 'unavailable', detail: 'The vault is sealed.' });
    let calls = 0;
    const vault = () => {
      calls += 1;
      throw failure;
    };
    const client = new Posthorn({ url: service.publicUrl, token: vault });
    expect(await failureOf(client.token())).toBe(failure);
    expect(calls).toBe(1);
  });

  it('of a token function that returns nothing in time names the function, and nothing is repeated', async () => {
    let calls = 0;
    const token = () => {
      calls += 1;
      return new Promise<string>(() => undefined);
    };
    const client = new Posthorn({ url: service.publicUrl, token, timeoutMs: 20 });
    expect(await failureOf(client.token())).toMatchObject({
      code: 'timeout',
      detail: 'The token function did not return a token within 20 ms.',
    });
    expect(calls).toBe(1);
  });

  it('is an error with status, code, errors and request id', async () => {
    const error = await failureOf(
      posthorn.events.list({ organization_id, limit: 1_000, from: 'soon' }).first(),
    );
    expect(error).toMatchObject({ status: 400, code: 'invalid_parameter', requestId: expect.any(String) });
    expect(error.title).toMatch(/\w/);
    expect(error.errors.map(({ parameter }) => parameter).sort()).toEqual(['from', 'limit']);
    expect(error.message).toBe(error.detail);
  });

  it('of a proxy is distinguished from one of the service', async () => {
    const { events } = intercepted(async () => new Response('<h1>Bad gateway</h1>', { status: 502 }), 1);
    expect(await failureOf(events.get('EVT-1'))).toMatchObject({ status: 502, code: 'unexpected_response' });
    let sent = 0;
    const page = intercepted(async (count) => {
      sent = count;
      return new Response('<h1>Welcome</h1>', { status: 200 });
    });
    expect(await failureOf(page.token())).toMatchObject({ status: 200, code: 'unexpected_response' });
    expect(sent).toBe(1);
  });

  it.each(['', 'null', '{"ok":true}', '{"data":null}', '[]', '"data"'])(
    'of a successful response without data, %j, is an unexpected response',
    async (body) => {
      const client = intercepted(async () => new Response(body, { status: 200 }));
      const calls = [
        client.token(),
        client.events.list({ organization_id }).all(),
        client.webhooks.change('WHK-1', {}),
        client.webhooks.delete('WHK-1'),
      ];
      for (const call of calls)
        expect(await failureOf(call)).toMatchObject({ status: 200, code: 'unexpected_response' });
    },
  );

  it.each([
    [502, 'A proxy responded: the service behind it may be down.'],
    [503, 'A proxy responded: the service behind it may be down.'],
    [504, 'A proxy responded: the service behind it may be down.'],
    [413, 'A proxy refused a body of this size: raise the size limit of the proxy.'],
    [404, 'Check the URL.'],
  ])('of a proxy with status %i says what to check', async (status, advice) => {
    const client = intercepted(async () => new Response('<h1>nginx</h1>', { status }), 1);
    const detail = `The response with status ${status} did not come from Posthorn. ${advice}`;
    expect(await failureOf(client.token())).toMatchObject({ status, detail });
  });

  it('of a redirect is an unexpected response: the token goes to no other address', async () => {
    const paths: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      paths.push(request.url);
      response.writeHead(307, { location: '/elsewhere' }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const moved = new Posthorn({ url: `http://127.0.0.1:${port}`, token });
    const error = await failureOf(moved.token());
    expect(error).toMatchObject({ status: 307, code: 'unexpected_response' });
    expect(error.detail).toContain('It redirects to /elsewhere.');
    expect(paths).toEqual(['/v1/token']);
  });

  it('of the network is an error with the address and the reason, but not the path', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const gone = new Posthorn({ url: `http://${address}/private?key=1`, token, retry: { attempts: 1 } });
    expect(await failureOf(gone.token())).toMatchObject({
      status: 0,
      code: 'unreachable',
      detail: `There was no response from http://${address}: connect ECONNREFUSED ${address}.`,
    });
  });

  it('of a connection that is refused names each address that was tried', async () => {
    const refusals = ['::1', '127.0.0.1'].map((address) => new Error(`connect ECONNREFUSED ${address}:1.`));
    const gone = intercepted(async () => {
      throw new TypeError('fetch failed', { cause: new AggregateError(refusals) });
    }, 1);
    expect((await failureOf(gone.token())).detail).toBe(
      `There was no response from ${service.publicUrl}: ` +
        'connect ECONNREFUSED ::1:1, connect ECONNREFUSED 127.0.0.1:1.',
    );
  });

  it('of an https URL of a server without TLS says to use http', async () => {
    const url = service.publicUrl.replace('http:', 'https:');
    const secure = new Posthorn({ url, token, retry: { attempts: 1 } });
    expect((await failureOf(secure.token())).detail).toBe(
      `There was no response from ${url}: the server does not use TLS. Use ${service.publicUrl}.`,
    );
  });

  it.each([
    ['http', 'If the server uses TLS, use https:'],
    ['https', 'If the server does not use TLS, use http:'],
  ])('of an %s connection that the server closes says that the scheme may be wrong', async (scheme, hint) => {
    const server = createTcpServer((socket) => socket.once('data', () => socket.destroy()));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const closed = new Posthorn({ url: `${scheme}://${address}`, token, retry: { attempts: 1 } });
    const { detail } = await failureOf(closed.token());
    expect(detail).toMatch(new RegExp(`^There was no response from ${scheme}://${address}: .+ TLS`));
    expect(detail).toContain(`. ${hint}//${address}.`);
  });

  it('of a response that does not come in time names the cell that the request was sent to, but not the path', async () => {
    const wrong = { code: 'wrong_cell', detail: 'Elsewhere.', cell: 'b' };
    const late = new Posthorn({
      ...{ url: 'https://a.example/private', token, timeoutMs: 20, retry: { attempts: 1 } },
      cells: { b: 'https://b.example/private' },
      fetch: async (url, init) => {
        if (String(url).startsWith('https://a.')) return Response.json(wrong, { status: 421 });
        const [{ target }] = await once(init!.signal!, 'abort');
        throw target.reason;
      },
    });
    expect(await failureOf(late.token())).toMatchObject({
      code: 'timeout',
      detail: 'There was no response from https://b.example within 20 ms.',
    });
  });

  it('of a response that breaks off says why', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy());
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const cut = new Posthorn({ url, token, retry: { attempts: 1 } });
    expect(await failureOf(cut.token())).toMatchObject({
      code: 'unreachable',
      detail: expect.stringMatching(/^The connection was lost before the response was complete: .+[^.]\.$/),
    });
  });
});

describe('an ID', () => {
  it.each(['.', '..', '%2e%2e', '../stats', ''])('of %j does not lead to another path', async (id) => {
    const missing = { code: 'not_found' };
    expect(await failureOf(posthorn.events.deliveries(id).first())).toMatchObject(missing);
    expect(await failureOf(posthorn.webhooks.deliveries(id).first())).toMatchObject(missing);
    expect(await failureOf(posthorn.webhooks.stats(id))).toMatchObject(missing);
    expect(await failureOf(posthorn.deliveries.get(id, id))).toMatchObject(missing);
  });
});

describe('a request that the service cannot handle now', () => {
  it.each([429, 503])('is repeated after Retry-After if the status is %i', async (status) => {
    let sent = 0;
    const client = intercepted(async (count, pass) => {
      sent = count;
      return count < 3 ? busy(status, 0) : pass();
    });
    expect((await client.token()).organization_id).toBe(organization_id);
    expect(sent).toBe(3);
  });

  it.each([502, 504])('is repeated if a proxy responds with %i', async (status) => {
    const client = intercepted(async (count, pass) =>
      count < 2 ? new Response('<h1>No upstream</h1>', { status }) : pass(),
    );
    expect((await client.token()).organization_id).toBe(organization_id);
  });

  it('is not repeated more often than allowed', async () => {
    let sent = 0;
    const client = intercepted(async (count) => {
      sent = count;
      return busy(503, 0);
    }, 3);
    expect(await failureOf(client.token())).toMatchObject({ status: 503, code: 'unavailable' });
    expect(sent).toBe(3);
  });

  it('fails immediately if the wait would be too long', async () => {
    const client = intercepted(async () => busy(429, 3_600));
    expect(await failureOf(client.token())).toMatchObject({ code: 'rate_limited', retryAfterMs: 3_600_000 });
  });

  it('creates nothing twice if the first response was lost', async () => {
    const other = await newTenant(service);
    let sent = 0;
    const client = new Posthorn({
      ...{ url: service.publicUrl, token: other.token },
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        sent += 1;
        if (sent === 1) throw new TypeError('fetch failed');
        return response;
      },
    });
    const { url } = await startReceiver();
    await client.webhooks.create({ organization_id: other.organization, url, event_types: ['*'] });
    expect(sent).toBe(2);
    expect(
      await new Posthorn({ url: service.publicUrl, token: other.token }).webhooks.list().all(),
    ).toHaveLength(1);
  });

  it('is not repeated if repeating it could do harm', async () => {
    let sent = 0;
    const client = intercepted(async (count) => {
      sent = count;
      return busy(503, 0);
    });
    await failureOf(client.webhooks.test('WHK-1', { event_type: 'invoice.paid' }));
    expect(sent).toBe(1);
  });
});

describe('a signal', () => {
  it('ends a request and the wait before the next one', async () => {
    const reason = new Error('enough');
    expect(await posthorn.token({ signal: AbortSignal.abort(reason) }).catch((error) => error)).toBe(reason);
    const stop = new AbortController();
    const client = intercepted(async () => {
      setTimeout(() => stop.abort(reason), 10);
      return busy(503, 30);
    });
    expect(await client.token({ signal: stop.signal }).catch((error) => error)).toBe(reason);
  });

  const never = () => new Promise<never>(() => undefined);
  const endless = (status: number) => async () =>
    new Response(new ReadableStream(), { status, headers: { 'Content-Type': 'text/event-stream' } });
  const ignoring: [string, Partial<TransportOptions>][] = [
    ['a token function', { token: never }],
    ['a fetch', { fetch: never }],
    ['the body of a response', { fetch: endless(200) }],
    ['the body of an error', { fetch: endless(503) }],
  ];

  it.each(ignoring)('ends a request that waits for %s that ignores it', async (_what, options) => {
    const stop = new AbortController();
    const reason = new Error('enough');
    const client = new Posthorn({ url: service.publicUrl, token, ...options });
    const call = client.token({ signal: stop.signal }).catch((error) => error);
    const tail = client.events.tail({ organization_id }, { signal: stop.signal });
    const event = tail[Symbol.asyncIterator]().next();
    const following = event.catch((error) => error);
    await setImmediate();
    stop.abort(reason);
    expect(await call).toBe(reason);
    expect(await following).toBe(reason);
  });

  const limits = { timeoutMs: 20, retry: { attempts: 1 } };
  it.each(ignoring)('ends a request after its time limit, even if %s ignores it', async (_what, options) => {
    const client = new Posthorn({ ...limits, url: service.publicUrl, token, ...options });
    expect((await failureOf(client.token())).code).toBe('timeout');
  });

  it('of the time limit reaches fetch', async () => {
    const client = new Posthorn({
      ...{ url: service.publicUrl, token, timeoutMs: 20, retry: { attempts: 1 } },
      fetch: (_url, init) =>
        new Promise((_, reject) =>
          init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)),
        ),
    });
    expect((await failureOf(client.token())).code).toBe('timeout');
  });
});
