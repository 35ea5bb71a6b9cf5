import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { inTurn } from '../../src/web/connections.js';
import { afterFile } from '../support/cleanup.js';
import { openSocket, readToEnd } from '../support/raw-http.js';

/** A server whose responses are sent by the test. */
async function startServer() {
  const started: { path: string; response: ServerResponse }[] = [];
  const server = createServer(
    inTurn((request, response) => {
      started.push({ path: request.url!, response });
      server.emit('started');
    }),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterFile(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { started, url, next: () => once(server, 'started') };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

test('the requests of a connection are handled one after another, those of others meanwhile', async () => {
  const { started, url, next } = await startServer();
  const [one, other] = [await openSocket(url), await openSocket(url)];
  const first = next();
  one.write(get('/1') + get('/2') + get('/3'));
  await first;
  const second = next();
  other.write(get('/other'));
  await second;
  expect(started.map(({ path }) => path)).toEqual(['/1', '/other']);
  const respond = (path: string) => started.find((each) => each.path === path)!.response.end();
  const third = next();
  respond('/1');
  await third;
  expect(started.map(({ path }) => path)).toEqual(['/1', '/other', '/2']);
  const fourth = next();
  respond('/2');
  await fourth;
  expect(started.map(({ path }) => path)).toEqual(['/1', '/other', '/2', '/3']);
  for (const socket of [one, other]) socket.destroy();
});

test('a connection on which a hundred requests wait is closed by the next one', async () => {
  const { started, url } = await startServer();
  const socket = await openSocket(url);
  const all = readToEnd(socket);
  socket.on('error', () => undefined);
  socket.write(Array.from({ length: 102 }, (_, index) => get(`/${index}`)).join(''));
  await all.catch(() => undefined);
  expect(started.map(({ path }) => path)).toEqual(['/0']);
});

test('a connection on which requests of 64 KiB wait is closed by the next one', async () => {
  const { started, url } = await startServer();
  const socket = await openSocket(url);
  const all = readToEnd(socket);
  socket.on('error', () => undefined);
  socket.write(Array.from({ length: 6 }, (_, index) => get(`/${index}${'x'.repeat(15_000)}`)).join(''));
  await all.catch(() => undefined);
  expect(started).toHaveLength(1);
});

test('what waits on a connection is dropped with it', async () => {
  const { started, url, next } = await startServer();
  const socket = await openSocket(url);
  const first = next();
  socket.write(get('/1') + get('/2'));
  await first;
  const closed = once(started[0]!.response, 'close');
  socket.destroy();
  await closed;
  expect(started.map(({ path }) => path)).toEqual(['/1']);
});

test('what waits behind a response that closes the connection is not handled', async () => {
  const { started, url, next } = await startServer();
  const socket = await openSocket(url);
  const all = readToEnd(socket);
  const first = next();
  socket.write(get('/1') + get('/2'));
  await first;
  started[0]!.response.setHeader('Connection', 'close').end();
  expect((await all).toString().match(/HTTP/g)).toHaveLength(1);
  expect(started.map(({ path }) => path)).toEqual(['/1']);
});
