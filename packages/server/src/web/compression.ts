import compress from '@fastify/compress';
import type { FastifyInstance } from 'fastify';
import { markEncoding } from './etag.js';

/**
 * Answers over 1 KiB are compressed for whoever asks. An encoded form is tagged as such, and HEAD goes the
 * same way as GET: Fastify would drop its body, and with it the encoding's headers, before.
 */
export async function installCompression(app: FastifyInstance): Promise<void> {
  await app.register(compress, {
    threshold: 1024,
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
