import fc from 'fast-check';
import { anyCharacter } from './any-character.js';

const anyPart = fc.string({ unit: anyCharacter, maxLength: 30 }).map(encodeURIComponent);

/** A URL with a path and a query. `fc.webUrl` takes seconds to build its table of percent-encoded characters. */
export const anyUrl = fc
  .record({
    scheme: fc.constantFrom('https', 'http'),
    host: fc.domain(),
    path: fc.array(anyPart, { maxLength: 4 }),
    query: fc.option(anyPart, { nil: undefined }),
  })
  .map(({ scheme, host, path, query }) => {
    const ending = query === undefined ? '' : `?${query}`;
    return `${scheme}://${host}/${path.join('/')}${ending}`;
  });
