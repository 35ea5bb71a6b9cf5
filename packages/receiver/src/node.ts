import type { IncomingMessage, ServerResponse } from 'node:http';
import { collectBytes, MAX_BYTES, TOO_LARGE } from './raw-body.js';
import type { Receiver } from './receiver.js';
import type { Body } from './signing.js';

export interface NodeHandlerOptions {
  /** Longer bodies get 413. Default 10 MiB. */
  maxBytes?: number | undefined;
}

/** A request, and what body parsers and hosts leave on it. */
type Request = IncomingMessage & { body?: unknown; rawBody?: unknown };

/**
 * Returns a request listener for a receiver, for `node:http` and every framework that passes on its request and
 * response objects. It reads the body itself and needs no body parser.
 */
export function nodeHandler(
  receiver: Receiver,
  { maxBytes = MAX_BYTES }: NodeHandlerOptions = {},
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    if (request.method !== 'POST') return respond(response, 405, 'Send a POST request.', { allow: 'POST' });
    try {
      const body = await bodyOf(request, maxBytes);
      if (body === TOO_LARGE) return respond(response, 413, TOO_LARGE, { connection: 'close' });
      const { status, text } = await receiver.receive(body as Body, request.headers, { isRaw: true });
      respond(response, status, text);
    } catch {
      // The request was aborted, so there is no one to respond to.
      response.destroy();
    }
  };
}

/** Returns the body. If a parser has already read it and kept only its result, returns that result. */
async function bodyOf(request: Request, maxBytes: number): Promise<unknown> {
  const { rawBody, body } = request;
  if (typeof rawBody === 'string' || ArrayBuffer.isView(rawBody)) return rawBody;
  if (request.readableDidRead) return body;
  if (Number(request.headers['content-length']) > maxBytes) return TOO_LARGE;
  return (await collectBytes(request, maxBytes)) ?? TOO_LARGE;
}

function respond(response: ServerResponse, status: number, text: string, headers = {}): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(text);
}
