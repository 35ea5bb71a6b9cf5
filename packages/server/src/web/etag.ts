import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

export function etagOf(body: string | Buffer): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
}

/** Returns whether If-None-Match contains the tag, compared weakly and in any encoding. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  return findMatch(header, etag) !== undefined;
}

/**
 * Adjusts tags in an `onSend` hook. Different bytes must not share a strong tag, so the tag of a compressed
 * response names its encoding. A 304 has the tag that the client sent and no `Content-Length`, because that
 * would be the length of the omitted body.
 */
export function markEncoding(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: (error: Error | null, payload: unknown) => void,
): void {
  if (reply.statusCode === 304) reply.removeHeader('content-length');
  if (!reply.hasHeader('vary')) reply.header('Vary', 'accept-encoding');
  const etag = reply.getHeader('etag');
  const encoding = reply.getHeader('content-encoding');
  if (typeof etag === 'string' && !etag.startsWith('W/')) {
    if (typeof encoding === 'string') reply.header('ETag', `${etag.slice(0, -1)}-${encoding}"`);
    else if (reply.statusCode === 304)
      reply.header('ETag', findMatch(request.headers['if-none-match'], etag));
  }
  done(null, payload);
}

/** Returns the first tag in the header that matches `etag`, as a strong tag. */
function findMatch(header: string | undefined, etag: string): string | undefined {
  for (const given of (header ?? '').split(',').map((tag) => tag.trim())) {
    if (given === '*') return etag;
    if (plain(given) === plain(etag)) return strong(given);
  }
  return undefined;
}

const strong = (etag: string) => etag.replace(/^W\//, '');
const plain = (etag: string) => strong(etag).replace(/-(br|gzip|deflate)"$/, '"');
