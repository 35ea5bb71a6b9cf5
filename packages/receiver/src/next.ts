import type { Receiver } from './receiver.js';
import { type WebHandlerOptions, webHandler } from './web.js';

export type { WebHandlerOptions as NextRouteOptions } from './web.js';

/**
 * Returns a route handler for a receiver: `export const { POST } = nextRoute(receiver)` in `app/…/route.ts`. With
 * `respondFirst`, pass `after` from `next/server` as `waitUntil`.
 */
export function nextRoute(
  receiver: Receiver,
  options: WebHandlerOptions = {},
): { POST: (request: Request) => Promise<Response> } {
  return { POST: webHandler(receiver, options) };
}
