import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { type AddressInfo, createServer, Socket } from 'node:net';
import tls from 'node:tls';
import { buildConnector, Client } from 'undici';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  BlockedAddressError,
  createGuardedConnector,
  type GuardOptions,
  NameNotResolvedError,
} from '../../src/sending/guard.js';
import type { ResolveName } from '../../src/sending/resolver.js';
import { createAddressPolicy, parseCidrs } from '../../src/values/address.js';
import { endSharedService } from '../support/service.js';
import { post, startTransport } from '../support/transport.js';

await endSharedService();

const policyFor = (text: string) => createAddressPolicy(parseCidrs(text)!);

const strict = policyFor('');
const loopback = policyFor('127.0.0.0/8,::1/128');

/** Resolves each look-up to the next list of addresses, and to the last one from then on. */
function resolvesTo(...rounds: string[][]) {
  let round = 0;
  return vi.fn<ResolveName>(async () => rounds[Math.min(round++, rounds.length - 1)] ?? []);
}

/** Stands in for the network: no socket it returns was ever connected. */
function recorder(outcome: (address: string) => Error | Socket | undefined = () => new Socket()) {
  const dialled: buildConnector.Options[] = [];
  const connect: buildConnector.connector = (target, callback) => {
    dialled.push(target);
    const result = outcome(target.hostname);
    if (result instanceof Error) callback(result, null);
    else if (result !== undefined) callback(null, result);
  };
  return { connect, dialled, addresses: () => dialled.map((target) => target.hostname) };
}

function open(options: Partial<GuardOptions>, origin: string, servername?: string): Promise<Socket> {
  const { protocol, hostname, host, port } = new URL(origin);
  const connector = createGuardedConnector({ policy: strict, timeoutMs: 10_000, ...options });
  // As undici's client calls it: the brackets of an IPv6 literal are gone.
  const target = {
    protocol,
    host,
    port,
    hostname: hostname.replace(/^\[|\]$/g, ''),
    servername: servername ?? '',
  };
  return new Promise((resolve, reject) => {
    connector(target, (error, socket) => (error ? reject(error) : resolve(socket)));
  });
}

const connectFailure = (code: string) => Object.assign(new Error(code), { code, syscall: 'connect' });

describe('addresses', () => {
  test('a resolver that changes its result cannot redirect the connection', async () => {
    const resolve = resolvesTo(['93.184.215.14'], ['127.0.0.1']);
    const { connect, addresses } = recorder();
    await open({ resolve, connect }, 'https://rebind.test');
    expect(addresses()).toEqual(['93.184.215.14']);
    expect(resolve).toHaveBeenCalledTimes(1);
  });

  test('the next connection uses the next result', async () => {
    const resolve = resolvesTo(['93.184.215.14'], ['169.254.169.254']);
    const { connect, addresses } = recorder();
    await open({ resolve, connect }, 'https://rebind.test');
    await expect(open({ resolve, connect }, 'https://rebind.test')).rejects.toThrow(BlockedAddressError);
    expect(addresses()).toEqual(['93.184.215.14']);
  });

  test.each([
    ['the only address', ['10.0.0.1']],
    ['the first of several', ['127.0.0.1', '93.184.215.14']],
    ['the last of several', ['93.184.215.14', '2606:4700:4700::1111', 'fd00::1']],
    ['a mapped address', ['::ffff:169.254.169.254']],
    ['a scoped address', ['fe80::1%eth0']],
    ['beyond those that would be tried', ['1.1.1.1', '1.0.0.1', '8.8.8.8', '8.8.4.4', '10.0.0.1']],
    ['no address but a name', ['localhost']],
  ])('a single address that is not allowed, %s, refuses all of them', async (_, addresses) => {
    const { connect, dialled } = recorder();
    const attempt = open({ resolve: resolvesTo(addresses), connect }, 'https://mixed.test');
    await expect(attempt).rejects.toMatchObject({ name: 'BlockedAddressError', code: 'blocked_address' });
    expect(dialled).toEqual([]);
  });

  test.each([
    'https://127.0.0.1',
    'https://[::1]',
    'https://[::ffff:127.0.0.1]',
    'https://2130706433',
    'http://8.8.8.8',
  ])('%s is refused without a lookup', async (origin) => {
    const resolve = resolvesTo(['93.184.215.14']);
    const { connect, dialled } = recorder();
    await expect(open({ resolve, connect }, origin)).rejects.toThrow(BlockedAddressError);
    expect(resolve).not.toHaveBeenCalled();
    expect(dialled).toEqual([]);
  });

  test('that only the machine or its network knows are not shown', async () => {
    const internal = Object.assign(['10.0.0.1'], { areInternal: true });
    const blocked = (addresses: string[]) =>
      open({ resolve: resolvesTo(addresses), ...recorder() }, 'https://vault.test').catch((error) => error);
    expect(await blocked(internal)).toMatchObject({ code: 'blocked_address', address: undefined });
    expect(String(await blocked(internal))).not.toContain('10.0.0.1');
    expect(await blocked(['10.0.0.1'])).toMatchObject({ code: 'blocked_address', address: '10.0.0.1' });
  });

  test('a public address in the URL is used directly', async () => {
    const { connect, addresses } = recorder();
    await open({ connect }, 'https://8.8.8.8');
    await open({ connect }, 'https://[2606:4700:4700::1111]:8443');
    expect(addresses()).toEqual(['8.8.8.8', '2606:4700:4700::1111']);
  });

  test('plain http needs every address to be listed', async () => {
    const { connect, addresses } = recorder();
    const through = (addresses: string[]) =>
      open({ policy: loopback, resolve: resolvesTo(addresses), connect }, 'http://a.test');
    await expect(through(['93.184.215.14'])).rejects.toThrow(BlockedAddressError);
    await expect(through(['127.0.0.1', '93.184.215.14'])).rejects.toThrow(BlockedAddressError);
    await through(['127.0.0.1']);
    expect(addresses()).toEqual(['127.0.0.1']);
  });
});

describe('names', () => {
  test('that cannot be looked up because no file can be opened do not count as unknown', async () => {
    const full = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });
    const resolve: ResolveName = async () => {
      throw Object.assign(new Error('queryA ECONNREFUSED'), { code: 'ECONNREFUSED' });
    };
    const { connect, dialled } = recorder();
    const openFile = () => Promise.reject(full);
    const attempt = open({ resolve, connect, openFile }, 'https://receiver.test');
    await expect(attempt).rejects.toMatchObject({ code: 'EMFILE' });
    expect(dialled).toEqual([]);
  });

  test('TLS uses the name in the URL, whatever the Host header says', async () => {
    const { connect, dialled } = recorder();
    await open({ resolve: resolvesTo(['8.8.8.8']), connect }, 'https://receiver.test.:8443', 'other.test');
    expect(dialled[0]).toMatchObject({ hostname: '8.8.8.8', servername: 'receiver.test', port: '8443' });
    await open({ connect }, 'https://8.8.8.8', 'other.test');
    expect(dialled[1]).toMatchObject({ hostname: '8.8.8.8', servername: '' });
  });

  test.each<[string, ResolveName]>([
    ['fails', () => Promise.reject(Object.assign(new Error('ENOTFOUND'), { code: 'ENOTFOUND' }))],
    ['is empty', async () => []],
    ['does not come', () => new Promise(() => {})],
  ])('a result that %s is a DNS failure', async (_, resolve) => {
    const { connect, dialled } = recorder();
    const attempt = open({ resolve, connect, timeoutMs: 20 }, 'https://missing.test');
    await expect(attempt).rejects.toThrow(NameNotResolvedError);
    await expect(attempt).rejects.toMatchObject({ code: 'dns' });
    expect(dialled).toEqual([]);
  });
});

test('an exception of the caller ends the connection, not the process', async () => {
  const socket = new Socket();
  const { connect } = recorder(() => socket);
  const closed = once(socket, 'close');
  const guarded = createGuardedConnector({ policy: strict, timeoutMs: 10_000, connect });
  const target = { protocol: 'https:', hostname: '8.8.8.8', host: '8.8.8.8', port: '' };
  guarded(target, () => {
    throw new Error('a bug of undici');
  });
  await closed;
  expect(socket.destroyed).toBe(true);
});

describe('several addresses', () => {
  const four = ['2606:4700:4700::1111', '2606:4700:4700::1001', '1.1.1.1', '1.0.0.1'];

  test('are tried in their order until one connects', async () => {
    const socket = new Socket();
    const { connect, addresses } = recorder((ip) =>
      ip === '1.1.1.1' ? socket : connectFailure('ENETUNREACH'),
    );
    expect(await open({ resolve: resolvesTo(four), connect }, 'https://a.test')).toBe(socket);
    expect(addresses()).toEqual(four.slice(0, 3));
  });

  test('are given up after the fourth, with its error', async () => {
    const { connect, addresses } = recorder((ip) =>
      connectFailure(ip === '1.0.0.1' ? 'ETIMEDOUT' : 'ECONNREFUSED'),
    );
    const attempt = open({ resolve: resolvesTo([...four, '8.8.8.8']), connect }, 'https://a.test');
    await expect(attempt).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    expect(addresses()).toEqual(four);
  });

  test('stop at the first that responds, even with a bad certificate', async () => {
    const untrusted = Object.assign(new Error('self-signed'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    const { connect, addresses } = recorder(() => untrusted);
    await expect(open({ resolve: resolvesTo(four), connect }, 'https://a.test')).rejects.toBe(untrusted);
    expect(addresses()).toEqual(four.slice(0, 1));
  });

  describe('that drop packets', () => {
    beforeEach(() => void vi.useFakeTimers());
    afterEach(() => void vi.useRealTimers());

    test('cost two seconds, and a connection that opens too late is closed', async () => {
      const [late, socket] = [new Socket(), new Socket()];
      const connect: buildConnector.connector = (target, callback) => {
        setTimeout(() => callback(null, target.hostname === '1.1.1.1' ? late : socket), 2_500);
      };
      const attempt = open({ resolve: resolvesTo(['1.1.1.1', '1.0.0.1']), connect }, 'https://a.test');
      await vi.advanceTimersByTimeAsync(4_499);
      expect(late.destroyed).toBe(true);
      await vi.advanceTimersByTimeAsync(1);
      expect(await attempt).toBe(socket);
      expect(socket.destroyed).toBe(false);
    });

    test('never take longer than the timeout', async () => {
      const { connect, addresses } = recorder(() => undefined);
      const attempt = open({ resolve: resolvesTo(four), connect, timeoutMs: 5_000 }, 'https://a.test');
      const refused = expect(attempt).rejects.toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT' });
      await vi.advanceTimersByTimeAsync(5_000);
      await refused;
      expect(addresses()).toEqual(four.slice(0, 3));
    });
  });
});

describe('a receiver on loopback', () => {
  const pem = (name: string) => readFileSync(new URL(`../fixtures/${name}.pem`, import.meta.url));
  const cert = pem('receiver.cert');
  const key = pem('receiver.key');
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function listen(server: http.Server | https.Server): Promise<number> {
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    closers.push(() => new Promise((done) => server.close(done)));
    return (server.address() as AddressInfo).port;
  }

  async function post(origin: string, options: Partial<GuardOptions> = {}) {
    const resolve = resolvesTo(['127.0.0.1']);
    const guarded = createGuardedConnector({ policy: loopback, timeoutMs: 5_000, resolve, ...options });
    const client = new Client(origin, { connect: guarded });
    closers.push(() => client.destroy());
    const response = await client.request({ method: 'POST', path: '/', body: '{}' });
    await response.body.dump();
    return response.statusCode;
  }

  test('gets plain http with the requested name', async () => {
    const hosts: (string | undefined)[] = [];
    const server = http.createServer((request, response) => {
      hosts.push(request.headers.host);
      response.end();
    });
    const port = await listen(server);
    expect(await post(`http://receiver.test:${port}`)).toBe(200);
    expect(await post(`http://127.0.0.1:${port}`)).toBe(200);
    expect(hosts).toEqual([`receiver.test:${port}`, `127.0.0.1:${port}`]);
  });

  test('is reached if it listens on one of two addresses', async () => {
    const port = await listen(http.createServer((_, response) => response.end()));
    expect(await post(`http://receiver.test:${port}`, { resolve: resolvesTo(['::1', '127.0.0.1']) })).toBe(
      200,
    );
  });

  test('gets nothing if it is not allowed', async () => {
    const connected = vi.fn();
    const port = await listen(http.createServer().on('connection', connected));
    await expect(post(`http://receiver.test:${port}`, { policy: strict })).rejects.toThrow(
      BlockedAddressError,
    );
    await expect(post(`https://127.0.0.1:${port}`, { policy: strict })).rejects.toThrow(BlockedAddressError);
    expect(connected).not.toHaveBeenCalled();
  });

  test('gets nothing with an untrusted certificate, whatever the environment says', async () => {
    const requested = vi.fn();
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const port = await listen(https.createServer({ cert, key }, requested));
    closers.push(() => vi.unstubAllEnvs());
    closers.push(() => warned.mockRestore());
    for (const setting of ['1', '0']) {
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', setting);
      const attempt = post(`https://receiver.test:${port}`);
      await expect(attempt).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    }
    expect(requested).not.toHaveBeenCalled();
  });

  test('is verified by its name, not by its address', async () => {
    const server = https.createServer({ cert, key }, (_, response) => response.end());
    const names: unknown[] = [];
    server.on('secureConnection', (socket) => names.push(socket.servername));
    const port = await listen(server);
    const connect = () => buildConnector({ ca: cert });
    expect(await post(`https://receiver.test:${port}`, { connect: connect() })).toBe(200);
    for (const host of ['other.test', '127.0.0.1']) {
      const attempt = post(`https://${host}:${port}`, { connect: connect() });
      await expect(attempt).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    }
    expect(names[0]).toBe('receiver.test');
  });

  test('gets nothing over TLS 1.1, even if Node is configured for it', async () => {
    const weak = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;
    const port = await listen(https.createServer({ cert, key, ...weak }));
    const { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS } = tls;
    Object.assign(tls, { DEFAULT_MIN_VERSION: 'TLSv1.1', DEFAULT_CIPHERS: weak.ciphers });
    closers.push(() => Object.assign(tls, { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS }));
    const attempt = post(`https://receiver.test:${port}`);
    await expect(attempt).rejects.toMatchObject({ code: expect.stringMatching(/PROTOCOL/) });
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
