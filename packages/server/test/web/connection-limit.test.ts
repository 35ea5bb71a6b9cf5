import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { limitConnections } from '../../src/web/connections.js';

test('a listener uses half of the files that the process may open, and says once that it refuses more', async () => {
  const refused: number[] = [];
  const server = createServer((_request, response) => response.end('served'));
  limitConnections(server, (max) => refused.push(max), 5);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const open = async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const [what] = await Promise.race([
      once(socket, 'data').then(([chunk]) => [String(chunk)]),
      once(socket, 'close').then(() => ['closed']),
    ]);
    return { socket, what };
  };
  const first = await open();
  expect([first.what, (await open()).what]).toEqual(Array(2).fill(expect.stringContaining('served')));
  expect([(await open()).what, (await open()).what]).toEqual(['closed', 'closed']);
  expect(refused).toEqual([2]);
  first.socket.destroy();
  await expect.poll(async () => (await open()).what).toContain('served');
});
