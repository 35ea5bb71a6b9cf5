import type { FastifyReply, FastifyRequest } from 'fastify';
import { etagOf, matchesEtag } from './etag.js';

/**
 * Text, or the bytes of an image, that does not change while the process runs. A browser revalidates it and gets a 304.
 */
export class StaticContent {
  readonly #type: string;
  readonly #content: string | Buffer;
  readonly #etag: string;

  constructor(type: string, content: string | Buffer) {
    this.#type = type;
    this.#content = content;
    this.#etag = etagOf(content);
  }

  send(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.header('ETag', this.#etag).header('Cache-Control', 'no-cache');
    if (matchesEtag(request.headers['if-none-match'], this.#etag)) return reply.status(304).send();
    return reply.type(this.#type).send(this.#content);
  }
}
