import { readdirSync } from 'node:fs';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { immutable, StaticContent } from '../web/static-content.js';

/** The files of the console by their path below `/console/`. */
export type ConsoleFiles = ReadonlyMap<string, StaticContent>;

/** The names of the files in this folder contain a hash of their content. */
export const hashedFolder = 'assets/';

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

/** Returns where the build of `@posthorn/console` is, or undefined if the package is not installed. */
export function consoleBuild(): URL | undefined {
  try {
    return new URL('dist/', import.meta.resolve('@posthorn/console/package.json'));
  } catch {
    return undefined;
  }
}

/**
 * Finds all files of a build. Files are served by name from this list, so no path can lead outside it. Returns
 * undefined if there is no build.
 */
export function findConsoleFiles(build: URL | undefined): ConsoleFiles | undefined {
  if (build === undefined) return undefined;
  const files = new Map<string, StaticContent>();
  for (const entry of entriesOf(build)) {
    const path = entry.replaceAll('\\', '/');
    const type = types[extname(path)];
    if (type === undefined) continue;
    const location = new URL(pathToFileURL(`/${path}`).pathname.slice(1), build);
    files.set(
      path,
      StaticContent.file(location, type, path.startsWith(hashedFolder) ? immutable : 'no-cache'),
    );
  }
  return files.has('index.html') ? files : undefined;
}

function entriesOf(build: URL): readonly string[] {
  try {
    return readdirSync(build, { recursive: true, encoding: 'utf8' });
  } catch {
    return [];
  }
}
