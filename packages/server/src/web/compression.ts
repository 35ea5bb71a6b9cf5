import { constants } from 'node:zlib';
import compress from '@fastify/compress';
import type { FastifyInstance } from 'fastify';
import { markEncoding } from './etag.js';

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
