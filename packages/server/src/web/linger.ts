import type { FastifyReply, FastifyRequest } from 'fastify';

const idleMs = 1_000;
const totalMs = 10_000;

/**
 * Reads the rest of a request that is refused before all of it has arrived, and closes the connection only then. A
 * client that sends everything before it reads would otherwise see a broken connection instead of the response. If the
 * connection stays open, Node reads the rest anyway.
 */
export function linger({ raw }: FastifyRequest, reply: FastifyReply): void {
  const response = reply.raw;
  const isClosing = !response.shouldKeepAlive || reply.getHeader('connection') === 'close';
  if (raw.complete || !isClosing) return;
  reply.removeHeader('connection');
  // Without these two, Node closes the connection as soon as the response is written.
  response.shouldKeepAlive = true;
  response.removeHeader('connection');
  const close = () => {
    clearTimeout(idle);
    clearTimeout(total);
    if (response.writableFinished) raw.socket.destroySoon();
    else response.once('finish', () => raw.socket.destroySoon());
  };
  const idle = setTimeout(close, idleMs);
  const total = setTimeout(close, totalMs);
  raw.on('data', () => idle.refresh());
  raw.once('end', close).once('close', close).resume();
}
