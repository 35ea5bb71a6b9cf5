import type { Context } from 'hono';
import { MAX_BYTES } from './raw-body.js';
import type { Receiver } from './receiver.js';
import { tooLarge, type WaitUntil, webHandler, webReply } from './web.js';

export interface HonoHandlerOptions {
  /** Longer bodies get 413. Default 10 MiB. */
  maxBytes?: number | undefined;
}

/** Returns a handler for a receiver. Middleware may read the body first, because Hono keeps the bytes. */
export function honoHandler(
  receiver: Receiver,
  { maxBytes = MAX_BYTES }: HonoHandlerOptions = {},
): (context: Context) => Promise<Response> {
  return async (context) => {
    const waitUntil = waitUntilOf(context);
    const request = context.req.raw;
    if (!request.bodyUsed) return webHandler(receiver, { maxBytes, waitUntil })(request);
    const body = await context.req.arrayBuffer();
    return body.byteLength > maxBytes ? tooLarge() : webReply(receiver, body, request.headers, waitUntil);
  };
}

// The getter throws on hosts without an execution context, such as Node.
function waitUntilOf(context: Context): WaitUntil {
  try {
    const { executionCtx } = context;
    return (work) => executionCtx.waitUntil(work);
  } catch {
    return undefined;
  }
}
