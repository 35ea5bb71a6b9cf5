import { describe, expect, test } from 'vitest';
import { ok, startByteReceiver } from '../support/byte-receiver.js';
import { post, startTransport, trustingConnect } from '../support/transport.js';

const transport = startTransport({ connect: trustingConnect() });
const heads = {
  '100 Continue': 'HTTP/1.1 100 Continue\r\n\r\n',
  '100 with headers': 'HTTP/1.1 100 Continue\r\nContent-Length: 5\r\nVia: 1.1 proxy\r\n\r\n',
  '102 Processing': 'HTTP/1.1 102 Processing\r\n\r\n',
  '103 Early Hints': 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n',
};
const wires: [string, object | undefined][] = [
  ['plain', undefined],
  ['TLS', {}],
];

/** Sends a request to a receiver that responds with these pieces, each once the one before has left. */
async function outcomeOf(pieces: readonly string[], tls?: object) {
  const { url, arrivals } = await startByteReceiver((socket) => {
    socket.setNoDelay(true);
    const [next, ...rest] = pieces;
    const send = (piece: string | undefined, later: readonly string[]) => {
      if (piece !== undefined) socket.write(piece, () => setImmediate(send, later[0], later.slice(1)));
    };
    send(next, rest);
  }, tls);
  return { outcome: await post(transport, url), arrivals };
}

describe.each(wires)('over %s, a receiver may send before its status', (_, tls) => {
  test.each(Object.entries(heads))('%s', async (_, head) => {
    for (const pieces of [[head + ok], [head, ok], [...head, ...ok], [head + head, head + ok]]) {
      const { outcome, arrivals } = await outcomeOf(pieces, tls);
      expect(outcome).toMatchObject({ kind: 'response', httpStatus: 200, response: 'hi' });
      expect(arrivals).toHaveLength(1);
    }
  });

  test('one kind after another', async () => {
    const { outcome } = await outcomeOf([Object.values(heads).join('') + ok], tls);
    expect(outcome).toMatchObject({ kind: 'response', httpStatus: 200, response: 'hi' });
  });
});

test('bytes in a response body that look like 100 Continue stay unchanged', async () => {
  const body = heads['100 Continue'];
  const head = `HTTP/1.1 500 Oops\r\nContent-Length: ${body.length}\r\n\r\n`;
  for (const pieces of [[head + body], [head, body], [heads['100 Continue'] + head + body]]) {
    const { outcome } = await outcomeOf(pieces);
    expect(outcome).toMatchObject({ kind: 'response', httpStatus: 500, response: body });
  }
});

test('the connection can be used again after 100 Continue', async () => {
  const { url, arrivals } = await startByteReceiver((socket) => socket.write(heads['100 Continue'] + ok));
  for (const _ of [1, 2, 3]) {
    expect(await post(transport, url)).toMatchObject({ kind: 'response', httpStatus: 200 });
    // undici gives a connection out again a turn after its response.
    await new Promise((turned) => setImmediate(() => setImmediate(turned)));
  }
  expect(arrivals.map(({ connection }) => connection)).toEqual([1, 1, 1]);
});

test.each(Object.entries(heads))('a receiver that sends %s without end is cut off', async (_, head) => {
  const { outcome } = await outcomeOf([head.repeat(100) + ok]);
  expect(outcome).toMatchObject({ kind: 'no_response', error: 'protocol' });
});

test.each(['000', '001', '099'])('%s is not a status', async (status) => {
  for (const length of [0, 2]) {
    const { outcome } = await outcomeOf([`HTTP/1.1 ${status} Odd\r\nContent-Length: ${length}\r\n\r\nhi`]);
    expect(outcome).toMatchObject({ kind: 'no_response', error: 'protocol' });
  }
});
