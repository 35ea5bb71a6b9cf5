import { beforeAll, describe, expect, test, vi } from 'vitest';
import { event, record } from '../support/client.js';
import {
  bragsInHeaders,
  breaksOff,
  dripsBody,
  dripsHeaders,
  dripsStatus,
  Flood,
  hangsUp,
  hintsFirst,
  inMemory,
  redirectsTo,
  refusingUrl,
  startSelfSignedReceiver,
  switchesProtocols,
} from '../support/hostile-receiver.js';
import { babbles, hangs, type Receiver, type Reply, resets, startReceiver } from '../support/receiver.js';
import { startTestService, type TestService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';
import { post, startTransport } from '../support/transport.js';

// biome-ignore lint/suspicious/noExplicitAny: tests look into deliveries of every shape
type Body = any;

/** No question about a name leaves this machine: there are none here but those that do not exist. */
vi.mock('node:dns/promises', () => ({
  lookup: async (name: string) => {
    throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' });
  },
}));

const kib = 1024;
const mib = 1024 * kib;

let service: TestService;
beforeAll(async () => {
  // Long enough for a response on a busy machine; what fails is not attempted again while we look.
  service = await startTestService({
    POSTHORN_DELIVERY_TIMEOUT: '3s',
    POSTHORN_RETRY_SCHEDULE: '1h,1h,1h,1h',
    // The rest of loopback stands for what is not allowed: no packet leaves even if the guard fails.
    POSTHORN_EGRESS_ALLOW: '127.0.0.1/32',
  });
});

/** A webhook that is active although its receiver never was in a state to be verified. */
async function activeAt(owner: Tenant, url: string): Promise<Body> {
  const receiver = await startReceiver();
  const webhook = await owner.webhook(receiver, { event_types: ['invoice.*'] });
  await service.database.query({
    text: 'update posthorn.webhooks set url = $3 where organization_id = $1 and id = $2',
    values: [owner.organization, webhook.id, url],
  });
  return webhook;
}

describe('an attempt at a receiver that', () => {
  const flood = new Flood(50 * mib);
  const wrongDoors: { receiver: Receiver | undefined } = { receiver: undefined };

  const receivers: [does: string, reply: () => Reply, recorded: Record<string, unknown>][] = [
    ['hangs, is a timeout', () => hangs, { error: 'timeout' }],
    ['drips its status line, is a timeout', () => dripsStatus, { error: 'timeout' }],
    ['drips its headers, is a timeout', () => dripsHeaders, { error: 'timeout' }],
    ['drips its body after a 200, is a success', () => dripsBody, { http_status: 200 }],
    ['resets the connection, is a reset', () => resets, { error: 'reset' }],
    ['hangs up without a response, is a reset', () => hangsUp, { error: 'reset' }],
    ['breaks off in the body of a 200, is a success', () => breaksOff, { http_status: 200 }],
    ['sends 50 MB after a 200, is a success', () => flood.reply, { http_status: 200 }],
    [
      'redirects, has failed with that status',
      () => redirectsTo(wrongDoors.receiver?.url ?? ''),
      { http_status: 307 },
    ],
    ['speaks another protocol, is a protocol error', () => babbles, { error: 'protocol' }],
    ['switches protocols unasked, is a protocol error', () => switchesProtocols, { error: 'protocol' }],
    ['sends a megabyte of headers, is a protocol error', () => bragsInHeaders, { error: 'protocol' }],
    ['hints before it responds, has the status of the response', () => hintsFirst, { http_status: 204 }],
    ['responds with 299, is a success', () => 299, { http_status: 299 }],
    ['responds with 300, has failed', () => 300, { http_status: 300 }],
  ];
  const elsewhere: [does: string, url: () => Promise<string>, error: string][] = [
    ['refuses connections, is a connect error', refusingUrl, 'connect'],
    ['has a certificate nobody vouches for, is a tls error', async () => selfSigned.url, 'tls'],
    ['speaks no TLS, is a tls error', plainAsHttps, 'tls'],
    ['has a name that does not resolve, is a dns error', async () => 'https://nowhere.invalid/', 'dns'],
    ['is at an address that is not allowed, is blocked', async () => 'https://127.9.9.9/', 'blocked_address'],
  ];
  let selfSigned: { url: string; requests: () => number };
  const outcomes = new Map<string, Body>();

  async function plainAsHttps(): Promise<string> {
    return (await startReceiver()).url.replace('http:', 'https:');
  }

  /** All at once: the slow ones cost their timeout only once, and each has the others for neighbours. */
  beforeAll(async () => {
    selfSigned = await startSelfSignedReceiver();
    wrongDoors.receiver = await startReceiver();
    const attempted = async () => {
      const { rows } = await service.database.query<{ attempted: number }>({
        text: 'select count(*)::int as attempted from posthorn.deliveries',
      });
      return rows[0]!.attempted;
    };
    const areAttempted = eventually(attempted, (count) => count === receivers.length + elsewhere.length);
    const meet = async (does: string, connect: (owner: Tenant) => Promise<Body>) => {
      const owner = await newTenant(service);
      const webhook = await connect(owner);
      await owner.record();
      await areAttempted;
      const [delivery] = await owner.settled(webhook);
      outcomes.set(does, await owner.data('GET', `/v1/webhooks/${webhook.id}/deliveries/${delivery.id}`));
    };
    await Promise.all([
      ...receivers.map(([does, reply]) =>
        meet(does, async (owner) => (await owner.connect(reply(), { event_types: ['invoice.*'] })).webhook),
      ),
      ...elsewhere.map(([does, url]) => meet(does, async (owner) => activeAt(owner, await url()))),
    ]);
  });

  test.each(receivers)('%s', (does, _, recorded) => {
    const status = recorded.http_status as number | undefined;
    const isSuccess = status !== undefined && status < 300;
    const delivery = outcomes.get(does);
    expect(delivery).toMatchObject({
      ...{ http_status: null, error: null, ...recorded },
      ...{ status: isSuccess ? 'success' : 'failed', attempts: 1 },
    });
    if (!isSuccess) expect(Date.parse(delivery.next_attempt_at)).toBeGreaterThan(Date.now());
  });

  test.each(elsewhere)('%s', (does, _, error) => {
    expect(outcomes.get(does)).toMatchObject({ status: 'failed', http_status: null, error, attempts: 1 });
  });

  test('redirects, is not followed', () => {
    expect(wrongDoors.receiver?.deliveries.count).toBe(0);
    expect(wrongDoors.receiver?.verifications.count).toBe(0);
  });

  test('has an untrusted certificate, sends nothing', () => {
    expect(selfSigned.requests()).toBe(0);
  });

  test('sends a long body, keeps the first KiB in the log', () => {
    expect(outcomes.get('sends 50 MB after a 200, is a success').attempt_log[0].response).toBe(
      'x'.repeat(kib),
    );
    const dripped = outcomes.get('drips its body after a 200, is a success').attempt_log[0].response;
    expect(dripped).toMatch(/^first z*$/);
  });
});

describe('of a response body', () => {
  /** Two deliveries, one after the other, of a receiver with such a body; over how many connections? */
  async function connectionsFor(bodyBytes: number): Promise<number> {
    const owner = await newTenant(service);
    const sockets = new Set<unknown>();
    const { receiver, webhook } = await owner.connect((response) => {
      sockets.add(response.socket);
      response.end(Buffer.alloc(bodyBytes, 'x'));
    });
    for (const n of [1, 2, 3]) {
      await owner.record();
      await receiver.deliveries.nth(n);
      await owner.settled(webhook, n, ({ status }) => status === 'success');
    }
    return sockets.size;
  }

  test('less than 64 KiB are read to the end, and the connection is kept', async () => {
    expect(await connectionsFor(60 * kib)).toBe(1);
  });

  test('no more than 64 KiB are read: then the connection is dropped', async () => {
    expect(await connectionsFor(256 * kib)).toBe(3);
  });
});

describe('responses of 50 MB, ten at once', () => {
  test('are cut off, and do not fill our memory', async () => {
    const owner = await newTenant(service);
    const flood = new Flood(50 * mib);
    const { webhook } = await owner.connect(flood.reply);
    const beforeBytes = process.memoryUsage().arrayBuffers;
    let mostBytes = 0;
    const timer = setInterval(() => {
      mostBytes = Math.max(mostBytes, process.memoryUsage().arrayBuffers);
    }, 5);
    const events = Array.from({ length: 10 }, () => event({ organization_id: owner.organization }));
    await record(service, ...events);
    await owner.settled(webhook, 10, ({ status }) => status === 'success');
    await eventually(
      async () => flood.sent.length,
      (responses) => responses === 10,
    );
    clearInterval(timer);
    // What the kernel's buffers took is not ours.
    for (const sent of flood.sent) expect(sent).toBeLessThan(25 * mib);
    expect(mostBytes - beforeBytes).toBeLessThan(100 * mib);
  });
});

describe('a blocked address', () => {
  test.each<[string, string, string[]?]>([
    ['private', 'https://10.1.2.3/'],
    ['of the metadata service', 'https://169.254.169.254/'],
    ['public, but not encrypted', 'http://192.0.2.1/'],
    ['one of several that a name leads to', 'https://receiver.test/', ['127.0.0.1', '10.0.0.1']],
  ])('%s, is never connected to', async (_, url, addresses = []) => {
    const connect = vi.fn();
    const transport = startTransport({ connect, resolve: async () => addresses });
    expect(await post(transport, url)).toMatchObject({ kind: 'no_response', error: 'blocked_address' });
    expect(connect).not.toHaveBeenCalled();
  });
});

describe('next to receivers that hang with a backlog of hours', () => {
  test('a healthy webhook gets every event, and few requests to the hanging ones are in flight', async () => {
    const neighbours = await newTenant(service);
    const hanging = await Promise.all([1, 2, 3].map(() => neighbours.connect(hangs)));
    const same = await newTenant(service);
    hanging.push(await same.connect(hangs, { event_types: ['invoice.paid'] }));
    const healthy = await same.connect(200);
    const many = (owner: Tenant) =>
      Array.from({ length: 200 }, () => event({ organization_id: owner.organization }));
    await record(service, ...many(neighbours));
    await Promise.all(hanging.slice(0, 3).map(({ receiver }) => receiver.deliveries.nth(1)));

    await record(service, ...many(same));
    await healthy.receiver.deliveries.nth(200);
    const { inFlight } = await inMemory(service.platformUrl);
    expect(inFlight).toBeGreaterThan(0);
    expect(inFlight).toBeLessThan(4 * 64);
    for (const { receiver } of hanging) expect(receiver.deliveries.count).toBeLessThan(200);
    // Their backlog need not be waited for when the service stops.
    for (const { receiver, webhook } of hanging) {
      const owner = webhook.organization_id === same.organization ? same : neighbours;
      await owner.request('DELETE', `/v1/webhooks/${webhook.id}`);
      await receiver.close();
    }
  });
});
