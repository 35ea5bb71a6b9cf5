import { hash } from 'node:crypto';
import { constants } from 'node:zlib';
import compress from '@fastify/compress';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const thresholdBytes = 1024;
/**
 * Bodies up to this size are compressed synchronously. For a page of 25 events, this blocks the event loop for half a
 * millisecond, and a stream would take twice as long.
 */
const syncBytesMax = 128 * 1024;
/** Take half as long as the defaults, 4 and 6. Compressed JSON is at most 12% larger than with those. */
const brotliQuality = 2;
const gzipLevel = 3;

/**
 * Compresses responses over 1 KiB if the client accepts it. The ETag names the encoding. For HEAD, the body is
 * compressed before Fastify drops it, so that the response has the same headers as for GET.
 */
export async function installCompression(app: FastifyInstance): Promise<void> {
  await app.register(compress, {
    threshold: thresholdBytes,
    syncThreshold: syncBytesMax,
    brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } },
    zlibOptions: { level: gzipLevel },
    encodings: ['br', 'gzip', 'deflate'],
    globalDecompression: false,
  });
  app.addHook('onRoute', (route) => {
    if (route.compress === false) return;
    const compressing = [route.onSend ?? []].flat();
    if (route.method === 'HEAD') compressing.reverse();
    route.onSend = [...compressing, markEncoding];
  });
}

export function etagOf(body: string | Buffer): string {
  return `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;
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
