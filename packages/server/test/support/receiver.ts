import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterFile } from './cleanup.js';

/** A request that a receiver got. */
export interface Received {
  method: string;
  /** Path and query, as they were sent. */
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into envelopes of every shape
  envelope: any;
}

interface FullResponse {
  status: number;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** A status, a whole response, or whatever the test does with the response. */
export type Reply = number | FullResponse | ((response: ServerResponse, request: Received) => unknown);

/** Never responds. */
export const hangs: Reply = () => undefined;
/** Breaks the connection off without a byte. */
export const resets: Reply = (response) => response.socket?.resetAndDestroy();
/** Responds with something that is not HTTP. */
export const babbles: Reply = (response) => response.socket?.end('220 mail.example ESMTP\r\n');
/** Responds that it continues in another protocol, which nobody requested. */
export const switchesProtocols: Reply = (response) =>
  response.socket?.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n');

/** What came, in order, and whoever waits for more. */
class Inbox {
  readonly all: Received[] = [];
  #waiting: { n: number; arrived: (request: Received) => void }[] = [];

  /** The n-th request, counted from 1, now or once it comes. */
  nth(n: number): Promise<Received> {
    const there = this.all[n - 1];
    if (there) return Promise.resolve(there);
    return new Promise((arrived) => this.#waiting.push({ n, arrived }));
  }

  /** The next request to come. */
  next(): Promise<Received> {
    return this.nth(this.all.length + 1);
  }

  get count(): number {
    return this.all.length;
  }

  get last(): Received {
    return this.all[this.all.length - 1]!;
  }

  add(request: Received): void {
    this.all.push(request);
    for (const { arrived } of this.#waiting.filter(({ n }) => n === this.all.length)) arrived(request);
    this.#waiting = this.#waiting.filter(({ n }) => n > this.all.length);
  }
}

/** A real HTTP server that records what it gets, responds as the test says, and can be waited for. */
export class Receiver {
  readonly verifications = new Inbox();
  /** Everything but verifications: deliveries and tests. */
  readonly deliveries = new Inbox();
  /** How it responds from now on. */
  onVerification: Reply = 200;
  onDelivery: Reply = 200;
  readonly #server: Server;

  constructor() {
    this.#server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      try {
        for await (const chunk of request) chunks.push(chunk as Buffer);
      } catch {
        // The sender was killed in the middle of it.
        return;
      }
      const body = Buffer.concat(chunks);
      const envelope = JSON.parse(body.toString());
      const { method = '', url: path = '', headers } = request;
      const received = { method, path, headers, body, envelope };
      const isVerification = envelope.type === 'webhook.verification';
      // Added before the response: whoever waits for a request may act while it is on the wire.
      (isVerification ? this.verifications : this.deliveries).add(received);
      respond(isVerification ? this.onVerification : this.onDelivery, response, received);
    });
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  /** From now on connections are refused. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

function respond(reply: Reply, response: ServerResponse, request: Received): void {
  if (typeof reply === 'function') {
    reply(response, request);
    return;
  }
  const { status, headers = {}, body } = typeof reply === 'number' ? { status: reply } : reply;
  response.writeHead(status, headers).end(body);
}

/** Holds responses back until the test lets them go. */
export class Held {
  readonly #responses: ServerResponse[] = [];

  readonly reply: Reply = (response) => {
    this.#responses.push(response);
  };

  release(status: number): void {
    for (const response of this.#responses.splice(0)) response.writeHead(status).end();
  }
}

/** A receiver on a free port, closed after the file. */
export async function startReceiver(
  script: { onVerification?: Reply; onDelivery?: Reply } = {},
): Promise<Receiver> {
  const receiver = Object.assign(new Receiver(), script);
  await receiver.start();
  afterFile(() => receiver.close());
  return receiver;
}
