import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { afterFile } from './cleanup.js';
import { fixture } from './transport.js';

/** A request that came: both numbers count from 1, the second on its connection. */
export interface Arrival {
  connection: number;
  request: number;
}

/** A receiver that speaks bytes and not HTTP: the test writes whatever it likes to the socket. */
export interface ByteReceiver {
  url: string;
  /** Every request so far, in order. */
  arrivals: Arrival[];
  /** The server's end of every connection so far, in order. */
  sockets: Socket[];
}

export const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';

/** Starts a receiver that calls `respond` for every whole request of `post`; closed after the file. */
export async function startByteReceiver(
  respond: (socket: Socket, arrival: Arrival) => unknown,
  tls?: TlsOptions,
): Promise<ByteReceiver> {
  const arrivals: Arrival[] = [];
  const sockets: Socket[] = [];
  const serve = (socket: Socket) => {
    const connection = sockets.push(socket);
    let [request, text] = [0, ''];
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (!text.endsWith('\r\n\r\n{}')) return;
      text = '';
      request += 1;
      arrivals.push({ connection, request });
      respond(socket, { connection, request });
    });
  };
  const identity = { key: fixture('receiver.key'), cert: fixture('receiver.cert') };
  const server = tls === undefined ? createServer(serve) : createTlsServer({ ...identity, ...tls }, serve);
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterFile(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const url = tls === undefined ? `http://127.0.0.1:${port}/` : `https://receiver.test:${port}/`;
  return { url, arrivals, sockets };
}
