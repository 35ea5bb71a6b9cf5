import { randomUUID } from 'node:crypto';
import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../values/problem.js';
import { problemBody } from './problems.js';

/** Responds to input that is not HTTP with an error in the usual format, then closes the connection. */
export class MalformedHttp {
  /** The response that each connection waits for, or got last. */
  readonly #latest = new WeakMap<Socket, ServerResponse>();

  /** Returns a handler that also remembers which response a connection waits for. */
  watch(handle: RequestListener): RequestListener {
    return (request, response) => {
      this.#latest.set(request.socket, response);
      handle(request, response);
    };
  }

  respond(error: NodeJS.ErrnoException, socket: Socket): void {
    const response = this.#latest.get(socket);
    const isBeingWritten = response?.headersSent === true && !response.writableFinished;
    if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable || isBeingWritten) {
      socket.destroy();
      return;
    }
    // The rest of a request that has been refused gets no second response.
    if (response?.headersSent === true && !response.req.complete) {
      socket.destroySoon();
      return;
    }
    const { status, phrase, detail } = kindOf(error);
    const requestId = randomUUID();
    const body = problemBody(new Problem('malformed_request', detail), '/', requestId);
    const text = body.replace('"status":400', `"status":${status}`);
    socket.end(
      `HTTP/1.1 ${status} ${phrase}\r\nContent-Type: application/problem+json\r\nX-Request-Id: ${requestId}\r\n` +
        `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
    );
  }
}

function kindOf({ code }: NodeJS.ErrnoException): { status: number; phrase: string; detail: string } {
  if (code === 'HPE_HEADER_OVERFLOW')
    return {
      status: 431,
      phrase: 'Request Header Fields Too Large',
      detail: 'The headers are too large.',
    };
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, phrase: 'Request Timeout', detail: 'The request did not arrive in time.' };
  return { status: 400, phrase: 'Bad Request', detail: 'The request is not well-formed HTTP.' };
}
