import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How many requests of a connection may wait for their turn. Clients that pipeline at all send a few at a time. */
const waitingMax = 100;
/** The size of the heads of all waiting requests of a connection. Node keeps them in memory. */
const waitingBytesMax = 64 * 1024;

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
