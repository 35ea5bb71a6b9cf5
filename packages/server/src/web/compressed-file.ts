import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { StaticContent } from './static-content.js';

/** The cache header for a path that contains a hash of the content, which therefore never changes. */
export const immutable = 'public, max-age=31536000, immutable';

/**
 * A file that does not change while the process runs. The constructor reads it only to compute its hash. The content is
 * kept in memory, and compressed, from the first request on.
 */
export class CompressedFile extends StaticContent {
  /** Identifies the content, for a path that browsers can cache forever. */
  readonly hash: string;

  constructor(location: URL, type: string, cacheControl: string) {
    const hash = createHash('sha256').update(readFileSync(location)).digest('hex').slice(0, 16);
    super({ type, etag: `"${hash}"`, cacheControl, read: () => readFile(location) });
    this.hash = hash;
  }
}
