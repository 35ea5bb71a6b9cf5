import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Problem } from '../domain/problem.js';

const drainMsMax = 6_000;

/**
 * Lets requests in flight finish when the listener closes, and refuses new ones. Closes connections as soon as they
 * are idle: Node checks only once and would wait for the keep-alive timeout of the others. Requests that never finish
 * are cut off.
 */
export function drainOnClose(app: FastifyInstance, msMax = drainMsMax): { refuseWhileStopping: () => void } {
  let begun = false;
  let cutOff: NodeJS.Timeout | undefined;
  const sockets = new Set<Socket>();
  app.server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  app.addHook('preClose', async () => {
    begun = true;
    // Browsers and fetch open connections in advance. Node does not count them as idle and would wait for them.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    cutOff = setTimeout(() => app.server.closeAllConnections(), msMax);
  });
  app.addHook('onResponse', (_request, _reply, done) => {
    if (begun) app.server.closeIdleConnections();
    done();
  });
  app.addHook('onClose', async () => clearTimeout(cutOff));
  return {
    refuseWhileStopping() {
      if (!begun) return;
      throw new Problem('unavailable', 'This node is stopping. Try again.', {
        headers: { 'Retry-After': '1' },
      });
    },
  };
}
