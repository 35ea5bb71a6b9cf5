import type { Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { buildConnector } from 'undici';
import { describe, expect, test } from 'vitest';
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
