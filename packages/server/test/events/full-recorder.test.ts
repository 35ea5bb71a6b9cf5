import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GuessLimit } from '../../src/access/rate-limits.js';
import { Recorder } from '../../src/events/recorder.js';
import { noRoom } from '../../src/events/recording-store.js';
import { Metrics } from '../../src/operations/metrics.js';
import { createPlatformApi } from '../../src/platform-api.js';
import type { Database } from '../../src/postgres/database.js';
import { readConfig } from '../../src/settings/config.js';
import { catalogue } from '../support/catalogue.js';
import { batch, event, sendRequest } from '../support/client.js';
import { eventually } from '../support/tenant.js';

const token = 'platform-token-of-the-tests';
let app: FastifyInstance;
let recorder: Recorder;

/** A listener whose database never responds: what is recorded first waits, whatever the machine is at. */
beforeAll(async () => {
  const database = { query: () => new Promise(() => undefined) } as unknown as Database;
  const parts = { database, room: () => noRoom, onRecorded: () => undefined };
  recorder = new Recorder(parts);
  app = await createPlatformApi({
    ...{ config: readConfig({}), database, now: Date.now, guesses: new GuessLimit(false, Date.now) },
    ...{ token, recorder, resources: parts, tracer: undefined, publicUrl: undefined },
    ...{ logger: pino({ level: 'silent' }), metrics: new Metrics() },
    catalogue: { ...catalogue, refresh: async () => undefined },
    isReady: async () => true,
    hasStarted: () => true,
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => app.close());

const post = (body: unknown) => {
  const { port } = app.server.address() as AddressInfo;
  return sendRequest(`http://127.0.0.1:${port}/platform/events`, { method: 'POST', token, body });
};

/** A request that has sent only the start of its body. */
function startPost(start: string, length?: { 'content-length': number }): ClientRequest {
  const { port } = app.server.address() as AddressInfo;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...length };
  const one = request({ port, method: 'POST', path: '/platform/events', headers });
  one.on('error', () => undefined);
  one.write(start);
  return one;
}

const statusOfInvalid = async () => (await post({ nothing: 'valid' })).status;

/** Waits until the node holds nothing: only then does it accept a body that is larger than its limit. */
const allReleased = () => eventually(async () => recorder.reserve(40 * 1024 * 1024).release());

test('bodies that are still being read count, until their client goes away', async () => {
  const sending = [1, 2].map(() => startPost('[', { 'content-length': 8 * 1024 * 1024 - 5_000 }));
  await eventually(statusOfInvalid, (status) => status === 503);
  for (const one of sending) one.destroy();
  await eventually(statusOfInvalid, (status) => status === 422);
  await allReleased();
});

test('bodies without Content-Length count as they arrive, and one for which there is no room is refused', async () => {
  const sending = [1, 2, 3].map(() => startPost(' '.repeat(7 * 1024 * 1024)));
  const responses = sending.map(async (one) => (await once(one, 'response'))[0] as IncomingMessage);
  const { statusCode, headers } = await Promise.race(responses);
  expect([statusCode, headers['retry-after']]).toEqual([503, '1']);
  for (const one of sending) one.destroy();
  await eventually(statusOfInvalid, (status) => status === 422);
  await allReleased();
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
