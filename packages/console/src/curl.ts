import type { SentRequest } from './api/types';

/** Quotes text for a POSIX shell, whatever it contains. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Headers that curl sets itself, or that belong to the first sending only. */
const leftOut = /^(content-length|host|accept-encoding|connection|transfer-encoding)$/i;

/** Returns a command that sends the request again. Signatures are not in it, because the console has none. */
export function curlOfRequest(request: SentRequest): string {
  const headers = Object.entries(request.headers)
    .filter(([name, value]) => value !== null && !leftOut.test(name))
    .map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)} \\\n`);
  return `curl ${quoted(request.url)} \\\n${headers.join('')}  --data-binary ${quoted(request.body ?? '')}`;
}

/** Returns a command that reads a path of the API. The token comes from the environment. */
export function curlOfPath(path: string): string {
  return `curl -H "Authorization: Bearer $POSTHORN_TOKEN" ${quoted(location.origin + path)}`;
}
