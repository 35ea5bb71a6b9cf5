import { TOO_LARGE } from './raw-body.js';
import type { Receiver } from './receiver.js';
import type { Body } from './signing.js';

export type WaitUntil = ((work: Promise<void>) => void) | undefined;

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

export function textResponse(status: number, text: string, headers = {}): Response {
  return new Response(text, { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers } });
}
