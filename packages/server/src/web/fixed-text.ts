import type { FastifyReply, FastifyRequest } from 'fastify';
import { etagOf, matchesEtag } from './etag.js';

/** A text that stays the same while the process runs: a browser asks again, and is told it has it already. */
export class FixedText {
  readonly #type: string;
  readonly #text: string;
  readonly #etag: string;

  constructor(type: string, text: string) {
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
