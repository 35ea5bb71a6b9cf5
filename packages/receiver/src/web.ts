import { collectBytes, MAX_BYTES, TOO_LARGE } from './raw-body.js';
import type { Receiver } from './receiver.js';
import type { Body } from './signing.js';

export type WaitUntil = ((work: Promise<void>) => void) | undefined;

export interface WebHandlerOptions {
  /** Longer bodies get 413. Default 10 MiB. */
  maxBytes?: number | undefined;
  /**
   * Keeps the host running until a promise settles. A serverless host needs this with `respondFirst`, because it may
   * stop after the response.
   */
  waitUntil?: WaitUntil;
}

/** Returns a function from `Request` to `Response` for a receiver. It reads the body itself. */
export function webHandler(
  receiver: Receiver,
  { maxBytes = MAX_BYTES, waitUntil }: WebHandlerOptions = {},
): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.method !== 'POST') return textResponse(405, 'Send a POST request.', { allow: 'POST' });
    // A body that was already read is gone. The receiver reports this.
    if (request.bodyUsed) return webReply(receiver, undefined as never, request.headers, waitUntil);
    if (Number(request.headers.get('content-length')) > maxBytes) return tooLarge();
    const body = await collectBytes(chunksOf(request), maxBytes);
    return body ? webReply(receiver, body, request.headers, waitUntil) : tooLarge();
  };
}

async function* chunksOf(request: Request): AsyncGenerator<Uint8Array> {
  if (request.body) yield* request.body;
}

/** Passes a request to the receiver, and tells the host about the work that continues after the response. */
export async function webReply(
  receiver: Receiver,
  body: Body | ArrayBuffer,
  headers: Headers,
  waitUntil: WaitUntil,
): Promise<Response> {
  const { status, text, work } = await receiver.receive(body, headers, { isRaw: true });
  if (work) waitUntil?.(work);
  return textResponse(status, text);
}

export const tooLarge = (): Response => textResponse(413, TOO_LARGE);

function textResponse(status: number, text: string, headers = {}): Response {
  return new Response(text, { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers } });
}
