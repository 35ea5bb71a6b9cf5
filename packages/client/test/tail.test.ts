import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { event, record } from '../../server/test/support/client.js';
import { sharedService } from '../../server/test/support/service.js';
import { newTenant } from '../../server/test/support/tenant.js';
import { Posthorn, PosthornError } from '../src/index.js';

const service = await sharedService();

/** A client whose connections the test can cut. */
async function cuttable() {
  const tenant = await newTenant(service);
  const cuts: AbortController[] = [];
  const posthorn = new Posthorn({
    ...{ url: service.publicUrl, token: tenant.token },
    fetch: (url, init) => {
      const cut = new AbortController();
      cuts.push(cut);
      return fetch(url, { ...init, signal: AbortSignal.any([init!.signal!, cut.signal]) });
    },
  });
  const organization_id = tenant.organization;
  const send = async (count: number) =>
    (await record(service, ...Array.from({ length: count }, () => event({ organization_id })))).map(
      ({ id }) => id,
    );
  return { posthorn, organization_id, cuts, send };
}

describe('the tail', () => {
  it('loses and repeats nothing however often its connection is cut', async () => {
    const { posthorn, organization_id, cuts, send } = await cuttable();
    const recorded: string[] = [];
    const seen: string[] = [];
    const total = 1_000;
    let disconnects = 0;
    const tail = posthorn.events.tail(
      { organization_id },
      {
        onDisconnect: () => {
          disconnects += 1;
        },
        onConnect: () => void produce(),
      },
    );
    let isProducing = false;
    async function produce() {
      if (isProducing) return;
      isProducing = true;
      while (recorded.length < total) recorded.push(...(await send(50)));
    }
    for await (const { id } of tail) {
      seen.push(id);
      if (seen.length % 225 === 0) cuts.at(-1)!.abort();
      if (seen.length === total) break;
    }
    expect(seen).toEqual(recorded);
    expect(disconnects).toBe(4);
    expect(tail.lastEventId).toBe(recorded.at(-1));
  });

  it('loses nothing if its connection is cut before the first event', async () => {
    const { posthorn, organization_id, cuts, send } = await cuttable();
    let recorded: Promise<string[]> | undefined;
    const tail = posthorn.events.tail(
      { organization_id },
      {
        onConnect: () => {
          if (cuts.length === 1) cuts[0]!.abort();
        },
        // Recorded while the tail is not connected.
        onDisconnect: () => {
          recorded ??= send(3);
        },
      },
    );
    const seen: string[] = [];
    for await (const { id } of tail) if (seen.push(id) === 3) break;
    expect(seen).toEqual(await recorded);
    expect(cuts.length).toBeGreaterThan(1);
  });

  it('continues in another process from its last event', async () => {
    const { posthorn, organization_id, send } = await cuttable();
    const [first, second, third] = await send(3);
    const tail = posthorn.events.tail({ organization_id }, { lastEventId: first });
    for await (const { id } of tail) {
      expect(id).toBe(second);
      break;
    }
    for await (const { id } of posthorn.events.tail({ organization_id }, { lastEventId: tail.lastEventId })) {
      expect(id).toBe(third);
      break;
    }
  });

  it('ends with the reason of its signal', async () => {
    const { posthorn, organization_id } = await cuttable();
    const stop = new AbortController();
    const reason = new Error('enough');
    const tail = posthorn.events.tail(
      { organization_id },
      { signal: stop.signal, onConnect: () => stop.abort(reason) },
    );
    expect(
      await tail[Symbol.asyncIterator]()
        .next()
        .catch((error) => error),
    ).toBe(reason);
  });

  it('ends with the reason of its signal even after the garbage collector has run', async () => {
    const { posthorn, organization_id, send } = await cuttable();
    const stop = new AbortController();
    const reason = new Error('enough');
    const onConnect = () => void send(1);
    const tail = posthorn.events.tail({ organization_id }, { signal: stop.signal, onConnect });
    const events = tail[Symbol.asyncIterator]();
    await events.next();
    const ended = events.next().catch((error) => error);
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    // What was referred to weakly in this turn is kept until its end.
    await setImmediate();
    collect();
    await setImmediate();
    stop.abort(reason);
    expect(await ended).toBe(reason);
  });

  it.each(['onConnect', 'onDisconnect'])(
    'ends with the error of %s, and does not reconnect',
    async (name) => {
      const { posthorn, organization_id, cuts } = await cuttable();
      // The code is one after which the tail would reconnect, if the service had sent it.
      const failure = new PosthornError({ status: 503, code: 'unavailable', detail: 'The disk is full.' });
      const tail = posthorn.events.tail(
        { organization_id },
        {
          onConnect: () => cuts[0]!.abort(),
          [name]: () => {
            throw failure;
          },
        },
      );
      const ended = tail[Symbol.asyncIterator]().next();
      expect(await ended.catch((error) => error)).toBe(failure);
      expect(cuts).toHaveLength(1);
    },
  );

  it('ends with the error of parse, and does not reconnect', async () => {
    const { organization: organization_id, token } = await newTenant(service);
    const failure = new Error('This is not an event.');
    let connections = 0;
    const posthorn = new Posthorn({
      ...{ url: service.publicUrl, token },
      parse: () => {
        throw failure;
      },
      fetch: (url, init) => {
        connections += 1;
        return fetch(url, init);
      },
    });
    const stop = new AbortController();
    const tail = posthorn.events.tail(
      { organization_id },
      {
        signal: stop.signal,
        onConnect: () => void record(service, event({ organization_id })),
        onDisconnect: () => stop.abort(),
      },
    );
    expect(
      await tail[Symbol.asyncIterator]()
        .next()
        .catch((error) => error),
    ).toBe(failure);
    expect(connections).toBe(1);
  });

  it.each([
    ['0', 1_000, 2_000],
    ['7', 7_000, 7_000],
    ['9999999', 3_600_000, 3_600_000],
  ])('waits before it reconnects if Retry-After is %s', async (seconds, fromMs, toMs) => {
    const posthorn = new Posthorn({
      ...{ url: service.publicUrl, token: 'unused' },
      fetch: async () =>
        new Response('{"code":"unavailable","detail":"Full."}', {
          ...{ status: 503, headers: { 'Retry-After': seconds } },
        }),
    });
    const stop = new AbortController();
    let waitedMs = -1;
    const tail = posthorn.events.tail(
      { organization_id: 'ORG-acme' },
      {
        signal: stop.signal,
        onDisconnect: (_error, waitMs) => {
          waitedMs = waitMs;
          stop.abort(new Error('enough'));
        },
      },
    );
    await expect(tail[Symbol.asyncIterator]().next()).rejects.toThrow('enough');
    expect(waitedMs).toBeGreaterThanOrEqual(fromMs);
    expect(waitedMs).toBeLessThanOrEqual(toMs);
  });

  it('ends if the response is not an event stream, such as a page of another service', async () => {
    let connections = 0;
    const posthorn = new Posthorn({
      ...{ url: service.publicUrl, token: 'unused' },
      fetch: async () => {
        connections += 1;
        const headers = { 'Content-Type': 'text/html; charset=utf-8' };
        return new Response('<title>Welcome</title>\n\n<h1>Welcome</h1>\n\n', { headers });
      },
    });
    const onConnect = () => {
      throw new Error('This is no connection.');
    };
    const tail = posthorn.events.tail({ organization_id: 'ORG-acme' }, { onConnect });
    await expect(tail[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      ...{ status: 200, code: 'unexpected_response' },
      detail: 'The response with status 200 did not come from Posthorn. Check the URL.',
    });
    expect(connections).toBe(1);
  });

  it('ends with the error of token, and does not reconnect', async () => {
    // The code is one after which the tail would reconnect, if the service had sent it.
    const failure = new PosthornError({ status: 503, code: 'unavailable', detail: 'The vault is sealed.' });
    const vault = async () => {
      throw failure;
    };
    const posthorn = new Posthorn({ url: service.publicUrl, token: vault });
    const onDisconnect = () => {
      throw new Error('This is no lost connection.');
    };
    const tail = posthorn.events.tail({ organization_id: 'ORG-acme' }, { onDisconnect });
    const ended = tail[Symbol.asyncIterator]().next();
    expect(await ended.catch((error) => error)).toBe(failure);
  });

  it('ends with the problem if the service refuses it', async () => {
    const tail = new Posthorn({ url: service.publicUrl, token: 'nobody' }).events.tail({
      organization_id: 'ORG-1',
    });
    await expect(tail[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      status: 401,
      code: 'unauthenticated',
    });
  });
});
