import type { FastifyReply, FastifyRequest } from 'fastify';
import { etagOf, matchesEtag } from './etag.js';

/**
 * Text, or the bytes of an image, that does not change while the process runs. A browser revalidates it and gets a 304.
 */
export class FixedText {
  readonly #type: string;
  readonly #text: string | Buffer;
  readonly #etag: string;

  constructor(type: string, text: string | Buffer) {
    this.#type = type;
    this.#text = text;
    this.#etag = etagOf(text);
  }

  send(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.header('ETag', this.#etag).header('Cache-Control', 'no-cache');
    if (matchesEtag(request.headers['if-none-match'], this.#etag)) return reply.status(304).send();
    return reply.type(this.#type).send(this.#text);
  }
}
