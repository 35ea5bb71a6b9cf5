import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCatalogue } from '../../src/domain/catalogue.js';
import { createEventChecker } from '../../src/domain/new-event.js';
import { createPayloadValidator } from '../../src/domain/payload.js';
import { createPlatformApi } from '../../src/platform/app.js';
import { Recorder } from '../../src/platform/recorder.js';
import type { Database } from '../../src/storage/database.js';
import { noRoom } from '../../src/storage/room.js';
import { GuessLimit } from '../../src/web/guess-limit.js';
import { Metrics } from '../../src/web/metrics.js';
import { ask, batch, event } from '../support/client.js';
import { eventually } from '../support/tenant.js';

const token = 'platform-token-of-the-tests';
let app: FastifyInstance;
let recorder: Recorder;

/** A listener whose database never responds: what is recorded first waits, whatever the machine is at. */
beforeAll(async () => {
  const database = { query: () => new Promise(() => undefined) } as unknown as Database;
  const parts = { database, room: () => noRoom, onRecorded: () => undefined };
  recorder = new Recorder(database, parts.room, parts.onRecorded);
  const catalogue = createCatalogue();
  app = await createPlatformApi({
    ...{ guesses: new GuessLimit(false, Date.now), trustedProxies: [], tracer: undefined },
    ...{ token, recorder, version: '0.0.0', logger: pino({ level: 'silent' }), metrics: new Metrics() },
    check: createEventChecker(catalogue, createPayloadValidator(catalogue)),
    lifecycles: parts,
    portal: { database, cell: undefined, now: Date.now, consoleLink: () => '' },
    publicUrl: '',
    isReady: async () => true,
    hasStarted: () => true,
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => app.close());

const post = (body: unknown) => {
  const { port } = app.server.address() as AddressInfo;
  return ask(`http://127.0.0.1:${port}/platform/events`, { method: 'POST', token, body });
};

test('bodies that are still being read count, until their client goes away', async () => {
  const { port } = app.server.address() as AddressInfo;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const sending = [1, 2].map(() => {
    const length = { 'content-length': 8 * 1024 * 1024 - 5_000 };
    const one = request({
      port,
      method: 'POST',
      path: '/platform/events',
      headers: { ...headers, ...length },
    });
    one.on('error', () => undefined);
    one.write('[');
    return one;
  });
  const statusOfInvalid = async () => (await post({ nothing: 'valid' })).status;
  await eventually(statusOfInvalid, (status) => status === 503);
  for (const one of sending) one.destroy();
  await eventually(statusOfInvalid, (status) => status === 422);
});

test('a request that the node cannot hold is refused with 503 and Retry-After, even without a valid body', async () => {
  void recorder.record({ ...batch([event()]), payloads: [' '.repeat(40 * 1024 * 1024)] });
  for (const body of [event(), [event(), event()], { nothing: 'valid' }]) {
    const { status, headers, body: problem, text } = await post(body);
    expect([status, problem.code], text).toEqual([503, 'unavailable']);
    expect(problem.detail).toMatch(/Nothing was recorded/);
    expect(headers.get('retry-after')).toBe('1');
    expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
  }
});
