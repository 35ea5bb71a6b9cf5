import type { FastifyReply, FastifyRequest } from 'fastify';
import { Encodings } from './encodings.js';
import { etagOf, markEncoding, matchesEtag } from './etag.js';

/** The options of a route that sends static content or a compressed file. */
export const encodedRoute = { compress: false as const, onSend: markEncoding };

/**
 * Text, or the bytes of an image, that does not change while the process runs. A browser revalidates it and gets a 304.
 * Its route has the options `encodedRoute`.
 */
export class StaticContent {
  readonly #type: string;
  readonly #encodings: Encodings;
  readonly #etag: string;

  constructor(type: string, content: string | Buffer) {
    const bytes = Buffer.from(content as string);
    this.#type = type;
    this.#encodings = new Encodings(type, async () => bytes);
    this.#etag = etagOf(bytes);
  }

  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    reply.header('ETag', this.#etag).header('Cache-Control', 'no-cache');
    if (matchesEtag(request.headers['if-none-match'], this.#etag)) return reply.status(304).send();
    const { bytes, encoding } = await this.#encodings.best(request.headers['accept-encoding']);
    if (encoding) reply.header('Content-Encoding', encoding);
    return reply.type(this.#type).send(bytes);
  }
}
