import type { Socket } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { attemptErrors } from '../../src/outcomes/outcome.js';
import { anyCharacter } from '../support/any-character.js';
import { ok, startByteReceiver } from '../support/byte-receiver.js';
import { post, startTransport } from '../support/transport.js';

/** What would end the process of a service. */
const uncaught: unknown[] = [];
const catchIt = (error: unknown) => uncaught.push(error);
beforeAll(() => void process.on('uncaughtException', catchIt).on('unhandledRejection', catchIt));
afterAll(() => void process.off('uncaughtException', catchIt).off('unhandledRejection', catchIt));

const statuses = fc.oneof(
  fc.constantFrom(0, 99, 100, 101, 102, 103, 199, 200, 204, 304, 503, 999),
  fc.nat(9999),
);
const headers = fc.oneof(
  fc.constantFrom(
    'Content-Length: 0',
    'Content-Length: 5',
    'Content-Length: -1',
    'Content-Length: 99999999999999999999',
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: gzip',
    'Connection: close',
    'Connection: upgrade',
    'Upgrade: x',
    'Keep-Alive: timeout=0',
    'Keep-Alive: timeout=99999999999999999999999',
    'Retry-After: 99999999999999999999999',
    '__proto__: x',
    'constructor: x',
    ': nameless',
    'no colon',
  ),
  fc.nat(40_000).map((length) => `X-Long: ${'x'.repeat(length)}`),
  fc.string({ unit: anyCharacter, maxLength: 30 }),
);
const heads = fc
  .tuple(fc.constantFrom('HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'http/1.1', 'ICY'), statuses, fc.array(headers))
  .map(([version, status, lines]) => {
    const line = `${version} ${String(status).padStart(3, '0')} X`;
    return `${[line, ...lines].join('\r\n')}\r\n\r\n`;
  });
const pieces = fc.oneof(
  { weight: 4, arbitrary: heads },
  {
    weight: 2,
    arbitrary: fc.constantFrom(ok, '5\r\nhello\r\n', '0\r\n\r\n', 'zz\r\n', '\r\n', '\n', '\0', 'H'),
  },
  { weight: 1, arbitrary: fc.tuple(heads, fc.nat(9)).map(([head, count]) => head.repeat(count)) },
  { weight: 1, arbitrary: fc.nat(200_000).map((length) => 'x'.repeat(length)) },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 300 }) },
);

/** What a receiver does with one request: bytes, whole or cut short, at once or drop by drop, and an end. */
const acts = fc.record({
  bytes: fc.array(pieces, { maxLength: 5 }).map((all) => all.join('')),
  share: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
  drops: fc.constantFrom(1, 2, 50),
  ending: fc.constantFrom('end', 'reset', 'stay'),
});
type Act = typeof acts extends fc.Arbitrary<infer T> ? T : never;

function perform(socket: Socket, { bytes, share, drops, ending }: Act): void {
  const whole = Buffer.from(bytes, 'latin1');
  const text = whole.subarray(0, Math.ceil(whole.length * share));
  const size = Math.max(1, Math.ceil(text.length / drops));
  const send = (at: number) => {
    if (socket.destroyed) return;
    if (at < text.length) socket.write(text.subarray(at, at + size), () => setImmediate(send, at + size));
    else if (ending === 'end') socket.end();
    else if (ending === 'reset') socket.resetAndDestroy();
  };
  send(0);
}

const timeoutMs = 150;

test('whatever a receiver sends, every request ends once, in time, and the process continues', async () => {
  const transport = startTransport();
  const healthy = await startByteReceiver((socket) => socket.write(ok));
  const scripts = fc.array(fc.tuple(fc.boolean(), acts), { minLength: 50, maxLength: 50 });
  await fc.assert(
    fc.asyncProperty(scripts, async (batch) => {
      // Each meets a fresh connection or one that has served before, at the same time as the others.
      const outcomes = batch.map(async ([isReused, act]) => {
        const { url, sockets } = await startByteReceiver((socket, { connection, request }) => {
          if (isReused && connection === 1 && request === 1) socket.write(ok);
          else perform(socket, act);
        });
        if (isReused) {
          await post(transport, url);
          await new Promise((turned) => setImmediate(() => setImmediate(turned)));
        }
        const outcome = await post(transport, url, { timeoutMs });
        for (const socket of sockets) socket.destroy();
        return outcome;
      });
      for (const outcome of await Promise.all(outcomes)) {
        if (outcome.kind === 'no_response') expect(attemptErrors).toContain(outcome.error);
        else expect(outcome).toMatchObject({ kind: 'response', httpStatus: expect.any(Number) });
        if (outcome.kind === 'response') expect(outcome.httpStatus).toBeGreaterThanOrEqual(200);
        expect('durationMs' in outcome && outcome.durationMs).toBeLessThan(20 * timeoutMs);
      }
      expect(await post(transport, healthy.url)).toMatchObject({ kind: 'response', response: 'hi' });
      expect(uncaught).toEqual([]);
    }),
    { numRuns: 10 },
  );
});

test('a request whose start throws ends, and the connection serves the next', async () => {
  const { url, arrivals } = await startByteReceiver((socket) => socket.write(ok));
  const transport = startTransport();
  const mayStart = () => {
    throw new Error('a bug of the caller');
  };
  expect(await post(transport, url, { mayStart })).toMatchObject({ kind: 'no_response' });
  expect(arrivals).toEqual([]);
  expect(await post(transport, url)).toMatchObject({ kind: 'response', httpStatus: 200 });
  expect(uncaught).toEqual([]);
});
