import { once } from 'node:events';
import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { markRevoked } from '../../src/access/token-store.js';
import { newId } from '../../src/values/identifier.js';
import { event, record, sendRequest } from '../support/client.js';
import { openSocket } from '../support/raw-http.js';
import { makeToken, platformToken, startTestService, type TestService } from '../support/service.js';
import { Tail } from '../support/tail.js';
import { eventually } from '../support/tenant.js';

let service: TestService;
let token: string;

beforeAll(async () => {
  service = await startTestService();
  token = await makeToken(service.database);
});

async function following<T>(
  options: Parameters<typeof Tail.open>[2],
  work: (tail: Tail) => Promise<T>,
  bearer = token,
): Promise<T> {
  const tail = await Tail.open(service, bearer, options);
  try {
    return await work(tail);
  } finally {
    tail.close();
  }
}

const ask400 = async (query: string, headers: Record<string, string> = {}) => {
  const response = await sendRequest(`${service.publicUrl}/v1/events/tail${query}`, { token, headers });
  expect(response.status, response.text).toBe(400);
  return response.body;
};

describe('GET /v1/events/tail', () => {
  it('is a stream of Server-Sent Events that proxies must not buffer', async () => {
    const abort = new AbortController();
    const response = await fetch(`${service.publicUrl}/v1/events/tail?organization_id=ORG-acme`, {
      headers: { authorization: `Bearer ${token}`, 'accept-encoding': 'gzip' },
      signal: abort.signal,
    });
    abort.abort();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('content-encoding')).toBeNull();
  });

  it('starts now, without earlier events', async () => {
    await record(service, event());
    await following({}, async (tail) => {
      const [after] = await record(service, event());
      expect((await tail.next()).id).toBe(after!.id);
    });
  });

  it('sends each event once, in order, with its id and the Event as data', async () => {
    await following({}, async (tail) => {
      const recorded = [...(await record(service, event(), event())), ...(await record(service, event()))];
      const messages = await tail.take(3);
      expect(messages.map(({ id }) => id)).toEqual(recorded.map(({ id }) => id));
      for (const { id, event: sent } of messages) {
        const got = await sendRequest(`${service.publicUrl}/v1/events/${id}`, { token });
        expect(sent).toEqual(got.body.data);
      }
    });
  });

  it('sends an event as one message even if its payload has several lines', async () => {
    await following({}, async (tail) => {
      const raw = JSON.stringify(event({ payload: 0 })).replace(
        '"payload":0',
        '"payload":{\n"a":\r\n 1.50 }',
      );
      const headers = { 'content-type': 'application/json' };
      const { status } = await sendRequest(`${service.platformUrl}/platform/events`, {
        ...{ method: 'POST', token: platformToken, headers, raw },
      });
      expect(status).toBe(201);
      const { event: sent, text } = await tail.next();
      expect(sent.payload).toEqual({ a: 1.5 });
      expect(text).toContain('1.50');
    });
  });

  it('resumes after Last-Event-ID without loss, however many events were missed', async () => {
    const seen = await following({}, async (tail) => {
      await record(service, event());
      return (await tail.next()).id;
    });
    const missed = await record(service, ...Array.from({ length: 250 }, () => event()));
    await following({ lastEventId: seen }, async (tail) => {
      expect((await tail.take(250)).map(({ id }) => id)).toEqual(missed.map(({ id }) => id));
      const [live] = await record(service, event());
      expect((await tail.next()).id).toBe(live!.id);
    });
  });

  it('resumes without loss even if the connection broke before the first event', async () => {
    const start = await following({}, async ({ startId }) => startId);
    const missed = await record(service, event(), event());
    await following({ lastEventId: start }, async (tail) => {
      expect(tail.startId).toBe(start);
      expect((await tail.take(2)).map(({ id }) => id)).toEqual(missed.map(({ id }) => id));
    });
  });

  it('resumes inside a batch that shares one millisecond', async () => {
    const batch = await record(service, event(), event(), event());
    await following({ lastEventId: batch[1]!.id }, async (tail) => {
      expect((await tail.next()).id).toBe(batch[2]!.id);
    });
  });

  it('loses and repeats nothing while writers commit out of order and the reader keeps reconnecting', async () => {
    const writers = 6;
    const each = 20;
    const [start] = await record(service, event());
    const written = Promise.all(
      Array.from({ length: writers }, async () => {
        const ids: string[] = [];
        for (let count = 0; count < each; count += 1)
          ids.push(...(await record(service, event())).map(({ id }) => id));
        return ids;
      }),
    );
    const seen: string[] = [];
    let lastEventId = start!.id;
    while (seen.length < writers * each) {
      const some = Math.min(17, writers * each - seen.length);
      const messages = await following({ lastEventId }, (tail) => tail.take(some));
      seen.push(...messages.map(({ id }) => id));
      lastEventId = seen.at(-1)!;
    }
    expect(new Set(seen)).toEqual(new Set((await written).flat()));
  });

  it.each([
    ['workspace_id', 'WS-tail', { workspace_id: 'WS-tail' }],
    ['type', 'execution.blocked', { type: 'execution.blocked' }],
    ['subject_type', 'tail_kind', { subject: { type: 'tail_kind', id: 'X-1' } }],
    ['subject_id', 'RUN-tail', { subject: { type: 'run', id: 'RUN-tail' } }],
    ['actor_id', 'USR-tail', { actor: { type: 'user', id: 'USR-tail' } }],
  ])('sends only events that match %s', async (name, value, fields) => {
    await following({ query: `&${name}=${value}` }, async (tail) => {
      const [, match] = await record(service, event(), event(fields));
      expect((await tail.next()).id).toBe(match!.id);
    });
  });

  it("limits a workspace's token to its workspace", async () => {
    const bound = await makeToken(service.database, { workspace_id: 'WS-own' });
    await following(
      {},
      async (tail) => {
        const own = { workspace_id: 'WS-own' };
        const [, , match] = await record(service, event(), event({ workspace_id: null }), event(own));
        expect((await tail.next()).id).toBe(match!.id);
      },
      bound,
    );
  });

  it("never shows another organization's events", async () => {
    await following({}, async (tail) => {
      const [, own] = await record(service, event({ organization_id: 'ORG-other' }), event());
      expect((await tail.next()).id).toBe(own!.id);
    });
  });

  it.each(['', 'nonsense', 'EVT-', 'EVT-short', 'WHK-01JAB3C4D5E6F7G8H9J0K1M2N3', '42'])(
    'refuses Last-Event-ID "%s" with 400',
    async (lastEventId) => {
      const body = await ask400('?organization_id=ORG-acme', { 'last-event-id': lastEventId });
      expect(body.code).toBe('invalid_parameter');
      expect(body.errors).toMatchObject([{ parameter: 'Last-Event-ID' }]);
    },
  );

  it('refuses an invalid Last-Event-ID before it checks the organization', async () => {
    await ask400('?organization_id=ORG-other', { 'last-event-id': 'nonsense' });
  });

  it.each(['from', 'to', 'cursor', 'limit', 'order', 'anything'])(
    'refuses the unknown parameter %s',
    async (name) => {
      const body = await ask400(`?organization_id=ORG-acme&${name}=1`);
      expect(body.errors).toMatchObject([{ parameter: name, code: 'unknown_parameter' }]);
    },
  );

  it('lists all faults at once', async () => {
    const body = await ask400('?type=a&type=b&limit=3', { 'last-event-id': 'nonsense' });
    expect(body.errors.map(({ parameter }: { parameter: string }) => parameter).sort()).toEqual([
      'Last-Event-ID',
      'limit',
      'organization_id',
      'type',
    ]);
  });

  it('ends when its token is revoked', async () => {
    const id = newId('TOK', Date.now());
    const shortLived = await makeToken(service.database, { id });
    const tail = await Tail.open(service, shortLived);
    await markRevoked(service.database, id, new Date());
    expect(await tail.ended()).toBe(true);
  });

  it('ends when its token expires', async () => {
    const shortLived = await makeToken(service.database, { expires_at: new Date(Date.now() + 60_000) });
    const tail = await Tail.open(service, shortLived);
    service.clock.offsetMs = 61_000;
    try {
      expect(await tail.ended()).toBe(true);
    } finally {
      service.clock.offsetMs = 0;
    }
  });

  it('sends a comment to stay open even if the clock is set back', async () => {
    const abort = new AbortController();
    const { body } = await fetch(`${service.publicUrl}/v1/events/tail?organization_id=ORG-acme`, {
      headers: { authorization: `Bearer ${token}` },
      signal: abort.signal,
    });
    const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
    try {
      expect((await reader.read()).value).toContain(': following');
      service.clock.offsetMs = -3_600_000;
      expect((await reader.read()).value).toBe(': still here\n\n');
    } finally {
      service.clock.offsetMs = 0;
      abort.abort();
    }
  });

  it('that a client leaves before the response begins does not count as open', async () => {
    const leaving = await makeToken(service.database);
    const { port } = new URL(service.publicUrl);
    const target = '/v1/events/tail?organization_id=ORG-acme';
    const head = `GET ${target} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${leaving}\r\n\r\n`;
    await service.database.transaction(async (client) => {
      // The service looks up the token and waits.
      await client.query({ text: 'lock table posthorn.tokens in access exclusive mode' });
      const sockets = Array.from({ length: 20 }, () => connect(Number(port), '127.0.0.1').setNoDelay());
      for (const socket of sockets) socket.write(head);
      await eventually(
        () =>
          service.database.query<{ waiting: number }>({
            text: `select count(*) as waiting from pg_stat_activity
                    where datname = current_database() and wait_event_type = 'Lock'`,
          }),
        ({ rows }) => rows[0]!.waiting > 0,
      );
      const closed = sockets.map((socket) => once(socket, 'close'));
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
      // The service has noticed that, too, before it responds to a later request.
      await sendRequest(`${service.publicUrl}/healthz`);
    });
    const tails: Tail[] = [];
    while (tails.length < 20) tails.push(await openWhenFree(leaving));
    expect(tails).toHaveLength(20);
    for (const tail of tails) tail.close();
  });

  it('can be open 20 times per token, and again after one is closed', async () => {
    const busy = await makeToken(service.database);
    const tails = await Promise.all(Array.from({ length: 20 }, () => Tail.open(service, busy)));
    const one = () =>
      sendRequest(`${service.publicUrl}/v1/events/tail?organization_id=ORG-acme`, { token: busy });
    const refused = await one();
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    tails[0]!.close();
    const again = await openWhenFree(busy);
    for (const tail of [...tails, again]) tail.close();
  });

  it('can be open 100 times per organization, with whatever tokens', async () => {
    const tokens = await Promise.all(Array.from({ length: 6 }, () => makeToken(service.database)));
    const last = tokens.pop()!;
    const tails = await Promise.all(
      tokens.flatMap((one) => Array.from({ length: 20 }, () => openWhenFree(one))),
    );
    const refused = await sendRequest(`${service.publicUrl}/v1/events/tail?organization_id=ORG-acme`, {
      token: last,
    });
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(refused.body.detail).toContain('An organization');
    tails[0]!.close();
    for (const tail of [...tails, await openWhenFree(last)]) tail.close();
  });

  it('behind another one on the same connection takes no place before its turn', async () => {
    const pipelining = await makeToken(service.database);
    const target = '/v1/events/tail?organization_id=ORG-acme';
    const head = `GET ${target} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${pipelining}\r\n\r\n`;
    const sockets = await Promise.all(Array.from({ length: 10 }, () => openSocket(service.publicUrl)));
    await Promise.all(
      sockets.map((socket) => {
        const begun = once(socket, 'data');
        socket.write(head + head);
        return begun;
      }),
    );
    const tails = await Promise.all(Array.from({ length: 10 }, () => Tail.open(service, pipelining)));
    expect((await sendRequest(`${service.publicUrl}${target}`, { token: pipelining })).status).toBe(429);
    for (const socket of sockets) socket.destroy();
    for (const tail of tails) tail.close();
  });

  it('responds to HEAD without a stream', async () => {
    const { status, headers } = await sendRequest(
      `${service.publicUrl}/v1/events/tail?organization_id=ORG-acme`,
      {
        ...{ method: 'HEAD', token },
      },
    );
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^text\/event-stream/);
  });

  it('ends when the service stops', async () => {
    const stopping = await startTestService();
    const bearer = await makeToken(stopping.database);
    const tail = await Tail.open(stopping, bearer);
    const [hasEnded] = await Promise.all([tail.ended(), stopping.stop()]);
    expect(hasEnded).toBe(true);
  });
});

/** The server notices a closed connection a moment later. */
async function openWhenFree(bearer: string): Promise<Tail> {
  for (;;) {
    try {
      return await Tail.open(service, bearer);
    } catch {
      // Still counted.
    }
  }
}
