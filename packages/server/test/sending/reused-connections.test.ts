import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { connectionLimits } from '../../src/sending/connection.js';
import type { Transport } from '../../src/sending/transport.js';
import { type Arrival, ok, startByteReceiver } from '../support/byte-receiver.js';
import { endSharedService } from '../support/service.js';
import { post, startTransport, trustingConnect } from '../support/transport.js';

// Some tests fake timers.
await endSharedService();

const okFor = (seconds: number) => ok.replace('\r\n\r\n', `\r\nKeep-Alive: timeout=${seconds}\r\n\r\n`);

/** Responds to the first request on each connection, and does this with the second. */
function onSecond(act: (socket: Socket) => unknown) {
  return (socket: Socket, { request }: Arrival) => (request === 1 ? socket.write(ok) : act(socket));
}

/** Leaves an idle connection behind: undici gives one out again a turn after its response. */
async function warmUp(transport: Transport, url: string): Promise<void> {
  expect(await post(transport, url)).toMatchObject({ kind: 'response', httpStatus: 200 });
  await setImmediate();
  await setImmediate();
}

const first = { connection: 1, request: 1 };
const stale = { connection: 1, request: 2 };
const again = { connection: 2, request: 1 };

describe('a request that fails on a reused connection before the first byte of a response', () => {
  test.each([
    ['is closed', undefined, (socket: Socket) => socket.destroy()],
    ['is reset', undefined, (socket: Socket) => socket.resetAndDestroy()],
    ['is closed under TLS 1.2', 'TLSv1.2' as const, (socket: Socket) => socket.end()],
    ['is closed under TLS 1.3', 'TLSv1.3' as const, (socket: Socket) => socket.end()],
    ['breaks under TLS 1.3', 'TLSv1.3' as const, (socket: Socket) => socket.destroy()],
  ])('because it %s is sent again on a new one, in the same attempt', async (_, version, act) => {
    const tls = version && { minVersion: version, maxVersion: version };
    const { url, arrivals } = await startByteReceiver(onSecond(act), tls);
    const transport = startTransport({ connect: trustingConnect() });
    await warmUp(transport, url);
    expect(await post(transport, url)).toMatchObject({ kind: 'response', httpStatus: 200, response: 'hi' });
    expect(arrivals).toEqual([first, stale, again]);
  });

  test('is sent again at most once', async () => {
    const { url, arrivals } = await startByteReceiver((socket, { connection, request }) =>
      connection === 1 && request === 1 ? socket.write(ok) : socket.destroy(),
    );
    const transport = startTransport();
    await warmUp(transport, url);
    expect(await post(transport, url)).toMatchObject({ kind: 'no_response', error: 'reset' });
    expect(arrivals).toEqual([first, stale, again]);
  });

  test('is sent on a new connection even if others are idle, because they may be closed, too', async () => {
    const width = 4;
    const held: Socket[] = [];
    const { url, arrivals, sockets } = await startByteReceiver((socket, { connection, request }) => {
      if (connection > width) return socket.write(ok);
      if (request > 1) return socket.destroy();
      held.push(socket);
      if (held.length === width) for (const each of held.splice(0)) each.write(ok);
    });
    const transport = startTransport();
    await Promise.all(Array.from({ length: width }, () => warmUp(transport, url)));
    expect(await post(transport, url)).toMatchObject({ kind: 'response', httpStatus: 200 });
    expect(arrivals.slice(width)).toEqual([
      { connection: 1, request: 2 },
      { connection: width + 1, request: 1 },
    ]);
    expect(sockets).toHaveLength(width + 1);
  });

  test('leaves the new connection for the next request', async () => {
    const { url, arrivals } = await startByteReceiver((socket, { connection, request }) =>
      connection === 1 && request === 2 ? socket.destroy() : socket.write(ok),
    );
    const transport = startTransport();
    for (const _ of [1, 2, 3]) await warmUp(transport, url);
    expect(arrivals).toEqual([first, stale, again, { connection: 2, request: 2 }]);
  });

  test('is not sent again if it may no longer start', async () => {
    const { url, arrivals } = await startByteReceiver(onSecond((socket) => socket.destroy()));
    const transport = startTransport();
    await warmUp(transport, url);
    const mayStart = vi
      .fn(() => true)
      .mockReturnValueOnce(true)
      .mockReturnValueOnce(false);
    expect(await post(transport, url, { mayStart })).toEqual({ kind: 'withheld', reason: 'recalled' });
    expect(mayStart).toHaveBeenCalledTimes(2);
    expect(arrivals).toEqual([first, stale]);
  });

  test('has the time of one attempt for both requests', async () => {
    const held = new EventEmitter();
    const { url, arrivals } = await startByteReceiver((socket, { connection, request }) => {
      if (connection === 1 && request === 1) socket.write(ok);
      else held.emit('request', socket);
    });
    const nextHeld = async (): Promise<Socket> => (await once(held, 'request'))[0];
    const transport = startTransport();
    await warmUp(transport, url);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const reused = nextHeld();
    const outcome = post(transport, url, { timeoutMs: 10_000 });
    const oldSocket = await reused;
    await vi.advanceTimersByTimeAsync(5_000);
    const renewed = nextHeld();
    oldSocket.destroy();
    const newSocket = await renewed;
    await vi.advanceTimersByTimeAsync(5_000);
    // With a time limit of its own, the second request would still be waiting, and fail because of this.
    newSocket.destroy();
    expect(await outcome).toMatchObject({ kind: 'no_response', error: 'timeout' });
    expect(arrivals).toEqual([first, stale, again]);
  });

  test('fails like the second request fails', async () => {
    let dialled = 0;
    const open = trustingConnect();
    const { url } = await startByteReceiver(onSecond((socket) => socket.destroy()));
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const transport = startTransport({
      connect: (target, callback) => {
        dialled += 1;
        if (dialled === 1) open(target, callback);
        else callback(refused, null);
      },
    });
    await warmUp(transport, url);
    expect(await post(transport, url)).toMatchObject({ kind: 'no_response', error: 'connect' });
    expect(dialled).toBe(2);
  });

  test('ends with the transport', async () => {
    const signals = new EventEmitter();
    const { url } = await startByteReceiver(onSecond(() => signals.emit('hangs')));
    const transport = startTransport();
    await warmUp(transport, url);
    const attempt = post(transport, url);
    await once(signals, 'hangs');
    await transport.close();
    expect(await attempt).toMatchObject({ kind: 'no_response', error: 'reset' });
  });
});

describe('a request is not sent again', () => {
  test('when the receiver has had it for a while', async () => {
    const usual = { ...connectionLimits };
    Object.assign(connectionLimits, { staleMs: 0 });
    onTestFinished(() => void Object.assign(connectionLimits, usual));
    const { url, arrivals } = await startByteReceiver(onSecond((socket) => socket.resetAndDestroy()));
    const transport = startTransport();
    await warmUp(transport, url);
    expect(await post(transport, url)).toMatchObject({ kind: 'no_response', error: 'reset' });
    expect(arrivals).toEqual([first, stale]);
  });

  test('when its connection was new', async () => {
    const { url, arrivals } = await startByteReceiver((socket) => socket.destroy());
    expect(await post(startTransport(), url)).toMatchObject({ kind: 'no_response', error: 'reset' });
    expect(arrivals).toEqual([first]);
  });

  test('when its connection was new because the previous one had ended', async () => {
    const { url, arrivals, sockets } = await startByteReceiver((socket, { connection }) =>
      connection === 1 ? socket.write(ok) : socket.destroy(),
    );
    const transport = startTransport();
    for (const _ of [1, 2]) await warmUp(transport, url);
    sockets[0]!.end();
    await once(sockets[0]!, 'close');
    expect(await post(transport, url)).toMatchObject({ kind: 'no_response', error: 'reset' });
    expect(arrivals).toEqual([first, stale, again]);
  });

  test('after its time is up', async () => {
    const { url, arrivals, sockets } = await startByteReceiver(onSecond((socket) => socket.destroy()));
    const open = trustingConnect();
    const dialing = new EventEmitter();
    const transport = startTransport({
      connect: (target, callback) => {
        if (sockets.length === 0) open(target, callback);
        else dialing.emit('dial', () => open(target, callback));
      },
    });
    await warmUp(transport, url);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const dialed = once(dialing, 'dial');
    const outcome = post(transport, url);
    const [release] = await dialed;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await outcome).toMatchObject({ kind: 'no_response', error: 'timeout' });
    vi.useRealTimers();
    release();
    await expect.poll(() => sockets.length).toBe(2);
    if (!sockets[1]!.destroyed) await once(sockets[1]!, 'close');
    expect(arrivals).toEqual([first, stale]);
  });

  const died = { kind: 'no_response', error: 'reset' };
  test.each([
    ['the first byte of a response', 'H', died],
    ['a hint', 'HTTP/1.1 103 Early Hints\r\n\r\n', died],
    ['100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n', died],
    ['a status', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n', { kind: 'response', httpStatus: 200 }],
  ])('after %s arrived on a reused connection', async (_, bytes, outcome) => {
    for (const tls of [undefined, {}]) {
      const { url, arrivals } = await startByteReceiver(
        onSecond((socket) => socket.end(bytes)),
        tls,
      );
      const transport = startTransport({ connect: trustingConnect() });
      await warmUp(transport, url);
      expect(await post(transport, url)).toMatchObject(outcome);
      expect(arrivals).toEqual([first, stale]);
    }
  });
});

describe('an idle connection', () => {
  test('is kept as long as the receiver announces, or else for about a second', async () => {
    let respondedMs = 0;
    const [quiet, brief, announcing] = await Promise.all(
      [ok, okFor(1), okFor(30)].map((text) =>
        startByteReceiver((socket) => {
          if (text === ok) respondedMs = performance.now();
          socket.write(text);
        }),
      ),
    );
    const transport = startTransport();
    const receivers = [quiet!, brief!, announcing!];
    await warmUp(transport, brief!.url);
    await Promise.all(receivers.map(({ url }) => warmUp(transport, url)));
    expect(brief!.arrivals).toEqual([first, stale]);
    await once(brief!.sockets[0]!, 'close');
    expect(quiet!.sockets[0]!.destroyed).toBe(false);
    await once(quiet!.sockets[0]!, 'close');
    const keptMs = performance.now() - respondedMs;
    expect(keptMs).toBeGreaterThan(700);
    expect(keptMs).toBeLessThan(3_000);

    await Promise.all(receivers.map(({ url }) => post(transport, url)));
    expect(quiet!.arrivals).toEqual([first, again]);
    expect(announcing!.arrivals).toEqual([first, stale]);
  });
});
