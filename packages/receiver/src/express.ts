import type { IncomingMessage, ServerResponse } from 'node:http';
import { nodeHandler } from './node.js';

export type { NodeHandlerOptions as ExpressHandlerOptions } from './node.js';

/**
 * Returns a request handler for a receiver. Register it before `express.json()`. If that is not possible, give the
 * parser `keepRawBody`.
 */
export const expressHandler: typeof nodeHandler = nodeHandler;

/** Keeps the bytes that a parser reads: `app.use(express.json({ verify: keepRawBody, limit: '10mb' }))`. */
export function keepRawBody(request: IncomingMessage, _response: ServerResponse, bytes: Buffer): void {
  Object.assign(request, { rawBody: bytes });
}
