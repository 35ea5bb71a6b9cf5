import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { buildConnector } from 'undici';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ok, startByteReceiver } from '../support/byte-receiver.js';
import { startReceiver } from '../support/receiver.js';
import { fixture, post, startTransport, trustingConnect } from '../support/transport.js';

const versions = ['TLSv1.2', 'TLSv1.3'] as const;
const expired = fixture('expired.cert');

const respond = (socket: Socket) => socket.write(ok);

describe.each(versions)('over %s', (version) => {
  const only: TlsOptions = { minVersion: version, maxVersion: version };

  test('a certificate that has expired is a tls error', async () => {
    const { url, arrivals } = await startByteReceiver(respond, { ...only, cert: expired });
    const outcome = await post(startTransport({ connect: buildConnector({ ca: expired }) }), url);
    expect(outcome).toMatchObject({
      ...{ kind: 'no_response', error: 'tls' },
      detail: { code: 'CERT_HAS_EXPIRED', message: 'certificate has expired' },
    });
    expect(arrivals).toEqual([]);
  });

  test('an untrusted certificate is a tls error', async () => {
    const { url, arrivals } = await startByteReceiver(respond, only);
    expect(await post(startTransport(), url)).toMatchObject({
      ...{ kind: 'no_response', error: 'tls' },
      detail: {
        code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
        message: expect.stringContaining('self-signed certificate'),
      },
    });
    expect(arrivals).toEqual([]);
  });

  test('a certificate for another name is a tls error that names it', async () => {
    const { url, arrivals } = await startByteReceiver(respond, only);
    const transport = startTransport({ connect: trustingConnect() });
    expect(await post(transport, url.replace('receiver.test', 'other.test'))).toMatchObject({
      ...{ kind: 'no_response', error: 'tls' },
      detail: {
        code: 'ERR_TLS_CERT_ALTNAME_INVALID',
        altNames: 'DNS:receiver.test',
        validTo: 'Jan  1 00:00:00 2120 GMT',
      },
    });
    expect(arrivals).toEqual([]);
  });

  test('a receiver that requires a client certificate is a tls error', async () => {
    const { url, arrivals } = await startByteReceiver(respond, { ...only, requestCert: true });
    expect(await post(startTransport({ connect: trustingConnect() }), url)).toMatchObject({
      ...{ kind: 'no_response', error: 'tls' },
      detail: { code: expect.stringMatching(/^ERR_SSL_.*ALERT/), message: expect.stringMatching(/ alert /) },
    });
    expect(arrivals).toEqual([]);
  });

  test('a connection that breaks is a tls error only if the receiver asked for a certificate', async () => {
    const breakOff = (socket: Socket) => socket.destroy();
    // A receiver that refuses us looks like this when its reset overtakes the alert.
    const asking = await startByteReceiver(breakOff, {
      ...only,
      requestCert: true,
      rejectUnauthorized: false,
    });
    const silent = await startByteReceiver(breakOff, only);
    const transport = startTransport({ connect: trustingConnect() });
    expect(await post(transport, asking.url)).toMatchObject({ kind: 'no_response', error: 'tls' });
    expect(await post(transport, silent.url)).toMatchObject({ kind: 'no_response', error: 'reset' });
  });
});

test('a receiver that uses plain HTTP on a TLS port is a tls error', async () => {
  const { url } = await startReceiver();
  expect(await post(startTransport(), url.replace('http:', 'https:'))).toMatchObject({
    ...{ kind: 'no_response', error: 'tls' },
    detail: { code: 'ERR_SSL_WRONG_VERSION_NUMBER', message: 'wrong version number' },
  });
});

describe.each([
  ['for the request', { connectMs: 20_000, requestMs: 10_000 }],
  ['for connecting', { connectMs: 10_000, requestMs: 20_000 }],
])('if the time %s runs out, the error is timeout', (_, { connectMs, requestMs }) => {
  /** Starts a request, waits until it is as far as it gets, and lets its time run out. */
  async function outcomeAfter(reached: Promise<unknown>, url: string, options = {}) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const outcome = post(startTransport({ timeoutMs: connectMs, ...options }), url, { timeoutMs: requestMs });
    await reached;
    await vi.advanceTimersByTimeAsync(10_000);
    return outcome;
  }

  test('with a detail that names the TLS handshake if the receiver never finishes it', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const greeted = once(server, 'connection').then(([socket]: Socket[]) => {
      onTestFinished(() => void socket?.destroy());
      return once(socket!, 'data');
    });
    const { port } = server.address() as AddressInfo;
    expect(await outcomeAfter(greeted, `https://receiver.test:${port}/`)).toMatchObject({
      ...{ kind: 'no_response', error: 'timeout' },
      detail: { code: 'tls_timeout' },
    });
  });

  test('with a detail that names the connection if it never opens', async () => {
    const dialing = new EventEmitter();
    const connect = () => void dialing.emit('dial');
    expect(await outcomeAfter(once(dialing, 'dial'), 'https://receiver.test/', { connect })).toMatchObject({
      ...{ kind: 'no_response', error: 'timeout' },
      detail: { code: 'connect_timeout' },
    });
  });
});
