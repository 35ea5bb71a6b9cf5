import type { FastifyPluginCallback } from 'fastify';
import { MAX_BYTES } from './raw-body.js';
import type { Receiver } from './receiver.js';

export interface FastifyReceiverOptions {
  receiver: Receiver;
  /** Path of the endpoint. Default `/webhooks`. */
  url?: string | undefined;
  /** Longer bodies get 413. Default 10 MiB. */
  maxBytes?: number | undefined;
}

/**
 * Adds an endpoint for a receiver: `app.register(fastifyReceiver, { receiver })`. The parser that keeps the bytes
 * applies to this endpoint only. Other routes get parsed JSON as before.
 */
export const fastifyReceiver: FastifyPluginCallback<FastifyReceiverOptions> = (app, options, done) => {
  const { receiver, url = '/webhooks', maxBytes = MAX_BYTES } = options;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: maxBytes }, (_request, body, parsed) =>
    parsed(null, body),
  );
  app.post<{ Body: Buffer | undefined }>(url, { bodyLimit: maxBytes }, async (request, reply) => {
    const { status, text } = await receiver.receive(request.body ?? '', request.headers, { isRaw: true });
    return reply.code(status).type('text/plain; charset=utf-8').send(text);
  });
  app.addHook('onClose', () => receiver.idle());
  done();
};
