import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterFile } from './cleanup.js';
import { sendRequest } from './client.js';
import type { Receiver, Reply } from './receiver.js';
import { platformToken } from './service.js';
import { eventually } from './tenant.js';

const dripEveryMs = 1_000;

/** Sends the text one byte a second and never comes to an end, until the other side has enough. */
function drip(socket: Socket, text: string): void {
  let next = 0;
  const timer = setInterval(() => {
    socket.write(text[next % text.length] ?? '.');
    next += 1;
  }, dripEveryMs);
  socket.once('close', () => clearInterval(timer));
}

/** The status line itself never gets complete. */
export const dripsStatus: Reply = (response) => drip(response.socket!, 'HTTP/1.1 200 '.repeat(10));

/** A status line of success, and then headers without end. */
export const dripsHeaders: Reply = (response) => {
  response.socket?.write('HTTP/1.1 200 OK\r\nX-Slow: ');
  drip(response.socket!, 'z');
};

/** A whole head, and then a body without end. */
export const dripsBody: Reply = (response) => {
  response.socket?.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nfirst ');
  drip(response.socket!, 'z');
};

/** Takes the request and hangs up without a word. */
export const hangsUp: Reply = (response) => response.socket?.destroy();

/** Half a response, and then the connection breaks. */
export const breaksOff: Reply = (response) => {
  response.socket?.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this', () =>
    response.socket?.resetAndDestroy(),
  );
};

/** Turns the connection into something that nobody requested. */
export const switchesProtocols: Reply = (response) =>
  response.socket?.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');

/** More header than any response needs. */
export const bragsInHeaders: Reply = (response) =>
  response.socket?.end(`HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(1_000_000)}\r\n\r\n`);

/** Hints that precede the response proper. */
export const hintsFirst: Reply = (response) =>
  response.socket?.write(
    'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n',
  );

export function redirectsTo(location: string): Reply {
  return { status: 307, headers: { location } };
}

/** Responds with a body of that many bytes, as fast as it is taken, and notes how many were. */
export class Flood {
  readonly #bytes: number;
  /** Bytes handed to the kernel, for each response that has come to its end. */
  readonly sent: number[] = [];

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  readonly reply: Reply = (response) => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    let written = 0;
    response.writeHead(200, { 'content-length': this.#bytes });
    const more = () => {
      while (written < this.#bytes) {
        const size = Math.min(chunk.length, this.#bytes - written);
        written += size;
        if (!response.write(size < chunk.length ? chunk.subarray(0, size) : chunk)) {
          response.once('drain', more);
          return;
        }
      }
      response.end();
    };
    response.once('close', () => this.sent.push(written - response.writableLength));
    more();
  };
}

/** An HTTPS receiver whose certificate nobody vouches for; counts the requests that got through to it. */
export async function startSelfSignedReceiver(): Promise<{ url: string; requests: () => number }> {
  let requests = 0;
  const fixture = (name: string) => readFileSync(new URL(`../fixtures/${name}.pem`, import.meta.url));
  const server = createHttpsServer(
    { key: fixture('receiver.key'), cert: fixture('receiver.cert') },
    (_request, response) => {
      requests += 1;
      response.end();
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`, requests: () => requests };
}

/** Where nobody listens. */
export async function refusingUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}/`;
}

/** How many deliveries a service has in its memory: waiting for their turn, and in flight. */
export async function inMemory(platformUrl: string): Promise<{ queued: number; inFlight: number }> {
  const { text } = await sendRequest(`${platformUrl}/metrics`, { token: platformToken });
  const read = (state: string) =>
    Number(new RegExp(`posthorn_deliveries_in_memory{state="${state}"} (\\d+)`).exec(text)?.[1]);
  return { queued: read('queued'), inFlight: read('in_flight') };
}

/** Keeps every request waiting for its response until the test has one for it. */
export class Standstill {
  readonly #held: ServerResponse[] = [];

  readonly reply = (response: ServerResponse): void => {
    this.#held.push(response);
  };

  /** Resolves once all that this service has in flight has arrived and is held. Returns how many. */
  async reached(platformUrl: string, receiver: Receiver): Promise<number> {
    await receiver.deliveries.nth(1);
    await eventually(
      async () => (await inMemory(platformUrl)).inFlight,
      (inFlight) => inFlight === this.#held.length,
    );
    return this.#held.length;
  }

  /** Responds to all that is held, and from now on at once. */
  end(receiver: Receiver, status: number): void {
    receiver.onDelivery = status;
    for (const response of this.#held.splice(0)) response.writeHead(status).end();
  }
}
