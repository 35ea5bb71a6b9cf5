import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { matchesEtag } from './etag.js';

/** Quality 5 compresses Scalar's 3.6 MB to 0.9 MB in 0.3 s. Quality 11 would save another 0.1 MB and take 22 s. */
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

const encoders = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, brotli),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
};
type Encoding = keyof typeof encoders;
const encodings = Object.keys(encoders) as Encoding[];

/** The cache header for a path that contains a hash of the content, which therefore never changes. */
export const immutable = 'public, max-age=31536000, immutable';

/** The types worth compressing. Images and fonts are already compressed. */
const compressible = /^(text\/|application\/(json|manifest\+json)|image\/svg)/;

/** A file that does not change while the process runs. It is compressed once, not per request. */
export class CompressedFile {
  /** Identifies the content, for a path that browsers can cache forever. */
  readonly hash: string;
  readonly #location: URL;
  readonly #type: string;
  readonly #cacheControl: string;
  readonly #compressed = new Map<Encoding, Promise<Buffer>>();

  constructor(location: URL, type: string, cacheControl: string) {
    this.#location = location;
    this.#type = type;
    this.#cacheControl = cacheControl;
    this.hash = createHash('sha256').update(readFileSync(location)).digest('hex').slice(0, 16);
  }

  /** Sends the file in the encoding that the client prefers. The route calls `markEncoding`. */
  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const etag = `"${this.hash}"`;
    reply.header('ETag', etag).header('Cache-Control', this.#cacheControl);
    if (matchesEtag(request.headers['if-none-match'], etag)) return reply.status(304).send();
    const accepted = compressible.test(this.#type) ? (request.headers['accept-encoding'] ?? '') : '';
    const encoding = negotiate(accepted, encodings);
    if (encoding) reply.header('Content-Encoding', encoding);
    const bytes = await (encoding ? this.#compress(encoding) : readFile(this.#location));
    return reply.type(this.#type).send(bytes);
  }

  #compress(encoding: Encoding): Promise<Buffer> {
    const known = this.#compressed.get(encoding);
    if (known) return known;
    const bytes = readFile(this.#location).then(encoders[encoding]);
    bytes.catch(() => this.#compressed.delete(encoding));
    this.#compressed.set(encoding, bytes);
    return bytes;
  }
}
