import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

export function etagOf(body: string | Buffer): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
}

/** If-None-Match compares weakly, and any encoding of what we have is as good as another. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  return findMatch(header, etag) !== undefined;
}

/**
 * An `onSend` hook. Bytes that differ must not share a strong tag, so a compressed answer's tag names its
 * encoding; a 304 carries the tag of the form that the client has, and no length: it would be the body's.
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

/** The first tag of the header that stands for `etag`, as a strong one. */
function findMatch(header: string | undefined, etag: string): string | undefined {
  for (const given of (header ?? '').split(',').map((tag) => tag.trim())) {
    if (given === '*') return etag;
    if (plain(given) === plain(etag)) return strong(given);
  }
  return undefined;
}

const strong = (etag: string) => etag.replace(/^W\//, '');
const plain = (etag: string) => strong(etag).replace(/-(br|gzip|deflate)"$/, '"');
