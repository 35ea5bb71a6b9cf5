import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Encodings } from './encodings.js';
import { matchesEtag } from './etag.js';

/** The cache header for a path that contains a hash of the content, which therefore never changes. */
export const immutable = 'public, max-age=31536000, immutable';

/** A file that does not change while the process runs. It is compressed once, not per request. */
export class CompressedFile {
  /** Identifies the content, for a path that browsers can cache forever. */
  readonly hash: string;
  readonly #type: string;
  readonly #cacheControl: string;
  readonly #encodings: Encodings;

  constructor(location: URL, type: string, cacheControl: string) {
    this.#type = type;
    this.#cacheControl = cacheControl;
    this.#encodings = new Encodings(type, () => readFile(location));
    this.hash = createHash('sha256').update(readFileSync(location)).digest('hex').slice(0, 16);
  }

  /** Sends the file in the encoding that the client prefers. Its route has the options `encodedRoute`. */
  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const etag = `"${this.hash}"`;
    reply.header('ETag', etag).header('Cache-Control', this.#cacheControl);
    if (matchesEtag(request.headers['if-none-match'], etag)) return reply.status(304).send();
    const { bytes, encoding } = await this.#encodings.best(request.headers['accept-encoding']);
    if (encoding) reply.header('Content-Encoding', encoding);
    return reply.type(this.#type).send(bytes);
  }
}
