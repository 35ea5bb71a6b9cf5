import { Server, type Socket } from 'node:net';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { within } from '../signals/within.js';
import { Problem } from '../values/problem.js';

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Stops accepting connections, while requests on open ones are still served. Each response then closes its
     * connection, so that the client opens one to another process. Resolves when all are closed, or after `ms`.
     */
    withdraw: (ms: number) => Promise<void>;
  }
}

export interface Drain {
  /** Refuses a request that arrives after the listener began to close. */
  refuseWhileStopping: () => void;
  /** Closes the connection after this response if the listener has withdrawn. */
  closeIfWithdrawn: (reply: FastifyReply) => void;
}

const drainMsMax = 6_000;

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
      throw new Problem('unavailable', 'This node is stopping. Try again.', {
        headers: { 'Retry-After': '1' },
      });
    },
    closeIfWithdrawn(reply) {
      if (state === 'withdrawn') reply.header('Connection', 'close');
    },
  };
}
