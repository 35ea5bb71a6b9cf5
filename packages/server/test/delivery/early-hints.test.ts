import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { createAddressPolicy, parseCidrs } from '../../src/domain/address.js';
import { Transport } from '../../src/sending/transport.js';

const loopback = parseCidrs('127.0.0.0/8');
const policy = createAddressPolicy(loopback.ok ? loopback.value : []);
const transport = new Transport({ policy, timeoutMs: 10_000 });
afterAll(() => transport.close());

async function answerAfterHints(hints: number) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      const early = 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(hints);
      socket.end(`${early}HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const outcome = await transport.post({
    url: new URL(`http://127.0.0.1:${port}/`),
    headers: [],
    body: Buffer.from('{}'),
    timeoutMs: 10_000,
    mayStart: () => true,
  });
  server.close();
  return outcome;
}

test('a receiver may send a hint or two before its status', async () => {
  expect(await answerAfterHints(2)).toMatchObject({ kind: 'answered', httpStatus: 200 });
});

test('a receiver that sends hints without end is not listened to', async () => {
  expect(await answerAfterHints(100)).toMatchObject({ kind: 'unanswered', error: 'protocol' });
});
