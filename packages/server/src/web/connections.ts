import { readFileSync } from 'node:fs';
import type { Server as HttpServer, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Server, type Socket } from 'node:net';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { within } from '../signals/timers.js';
import { unavailable } from '../values/problem.js';

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Stops accepting connections, while requests on open ones are still served. Each response then closes its
     * connection, so that the client opens one to another process. Resolves when all are closed, or after `ms`.
     */
    withdraw: (ms: number) => Promise<void>;
  }
}

const drainMsMax = 6_000;
/** How many requests of a connection may wait for their turn. Clients that pipeline at all send a few at a time. */
const waitingMax = 100;
/** The size of the heads of all waiting requests of a connection. Node keeps them in memory. */
const waitingBytesMax = 64 * 1024;
/** Enough for any load of one process. An idle connection takes about 10 kB. */
const connectionsMax = 10_000;
const warnEveryMs = 60_000;

export interface Drain {
  /** Refuses a request that arrives after the listener began to close. */
  refuseWhileStopping: () => void;
  /** Closes the connection after this response if the listener has withdrawn. */
  closeIfWithdrawn: (reply: FastifyReply) => void;
}

/**
 * Lets requests in flight finish when the listener closes, and refuses new ones. Closes connections as soon as they
 * are idle: Node closes only those that are already idle when the listener closes, and would wait for the keep-alive
 * timeout of the others. Requests that never finish are cut off.
 */
export function drainOnClose(app: FastifyInstance, msMax = drainMsMax): Drain {
  let state: 'open' | 'withdrawn' | 'closing' = 'open';
  let cutOff: NodeJS.Timeout | undefined;
  const sockets = new Set<Socket>();
  let whenClosed: () => void = () => undefined;
  const allClosed = () =>
    new Promise<void>((resolve) => {
      whenClosed = resolve;
      if (sockets.size === 0) resolve();
    });
  app.server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0) whenClosed();
    });
  });
  app.decorate('withdraw', async (ms: number) => {
    state = 'withdrawn';
    // The HTTP server's own `close` also closes idle connections, on which a request may already be on its way.
    if (app.server.listening) Server.prototype.close.call(app.server);
    await within(ms, allClosed());
  });
  app.addHook('preClose', async () => {
    const isWithdrawn = state === 'withdrawn';
    state = 'closing';
    // Browsers and fetch open connections in advance. Node does not count them as idle and would wait for them.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    cutOff = setTimeout(() => app.server.closeAllConnections(), msMax);
    if (!isWithdrawn) return;
    // Fastify waits only for the connections of a server that is listening.
    app.server.closeIdleConnections();
    await allClosed();
  });
  app.addHook('onResponse', (_request, _reply, done) => {
    if (state === 'closing') app.server.closeIdleConnections();
    done();
  });
  app.addHook('onClose', async () => clearTimeout(cutOff));
  return {
    refuseWhileStopping() {
      if (state !== 'closing') return;
      throw unavailable('This node is stopping. Try again.');
    },
    closeIfWithdrawn(reply) {
      if (state === 'withdrawn') reply.header('Connection', 'close');
    },
  };
}

/**
 * Handles the requests of a connection one after another. Node parses all that arrive together, and would start all of
 * them: a thousand requests fit into a few packets, and their responses wait in memory for each other. A connection on
 * which too many are waiting is closed.
 */
export function inTurn(handle: RequestListener): RequestListener {
  type Exchange = [request: IncomingMessage, response: ServerResponse];
  const waiting = new WeakMap<Socket, { exchanges: Exchange[]; bytes: number }>();

  function start(socket: Socket, queue: { exchanges: Exchange[]; bytes: number }, exchange: Exchange): void {
    const [request, response] = exchange;
    response.once('close', () => {
      const next = queue.exchanges.shift();
      if (next) queue.bytes -= headBytes(next[0]);
      if (next && socket.writable) start(socket, queue, next);
      else waiting.delete(socket);
    });
    handle(request as Parameters<RequestListener>[0], response as Parameters<RequestListener>[1]);
  }

  return (request, response) => {
    const { socket } = request;
    const queue = waiting.get(socket);
    if (!queue) {
      const empty = { exchanges: [], bytes: 0 };
      waiting.set(socket, empty);
      start(socket, empty, [request, response]);
      return;
    }
    queue.bytes += headBytes(request);
    if (queue.exchanges.length < waitingMax && queue.bytes <= waitingBytesMax)
      queue.exchanges.push([request, response]);
    else socket.destroy();
  };
}

function headBytes({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((bytes, { length }) => bytes + length, url.length);
}

/**
 * Limits how many connections a listener accepts, so that clients without a token can exhaust neither the memory of the
 * process nor the files that it may open: deliveries, the database and the other listener keep half of them. Closes
 * further connections at once, and calls `onRefused` with the limit at most once a minute.
 */
export function limitConnections(
  server: HttpServer,
  onRefused: (max: number) => void,
  files = filesMax(),
): void {
  const max = Math.min(connectionsMax, Math.floor(files / 2));
  server.maxConnections = max;
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  server.on('drop', () => {
    if (performance.now() - warnedAtMs < warnEveryMs) return;
    warnedAtMs = performance.now();
    onRefused(max);
  });
}

/** Returns how many files this process may open, or infinity if the system does not say. */
function filesMax(): number {
  try {
    const [, max] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return max === undefined ? Number.POSITIVE_INFINITY : Number(max);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
