import type { FastifyReply, FastifyRequest } from 'fastify';
import { Encodings } from './encodings.js';
import { etagOf, markEncoding, matchesEtag } from './etag.js';

/** The options of a route that sends static content. */
export const encodedRoute = { compress: false as const, onSend: markEncoding };

export interface StaticOptions {
  type: string;
  etag: string;
  cacheControl: string;
  read: () => Promise<Buffer>;
}

/** Bytes that do not change while the process runs. The route that sends them must have the options `encodedRoute`. */
export class StaticContent {
  readonly #options: StaticOptions;
  readonly #encodings: Encodings;

  constructor(options: StaticOptions) {
    this.#options = options;
    this.#encodings = new Encodings(options.type, options.read);
  }

  /** Creates content from text or the bytes of an image. Browsers revalidate it before each use and get a 304. */
  static of(type: string, content: string | Buffer): StaticContent {
    const bytes = Buffer.from(content as string);
    return new StaticContent({
      type,
      etag: etagOf(bytes),
      cacheControl: 'no-cache',
      read: async () => bytes,
    });
  }

  /** Sends the content in the encoding that the client prefers. */
  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { type, etag, cacheControl } = this.#options;
    reply.header('ETag', etag).header('Cache-Control', cacheControl);
    if (matchesEtag(request.headers['if-none-match'], etag)) return reply.status(304).send();
    const { bytes, encoding } = await this.#encodings.best(request.headers['accept-encoding']);
    if (encoding) reply.header('Content-Encoding', encoding);
    return reply.type(type).send(bytes);
  }
}
