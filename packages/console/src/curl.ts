import type { SentRequest } from '@posthorn/client';

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
  return `curl ${quoted(request.url ?? '')} \\\n${headers.join('')}  --data-binary ${quoted(request.body ?? '')}`;
}

/** Returns a command that posts JSON, one member a line. The header is quoted by the caller, as it may hold a command. */
export function jsonCurl(url: string, quotedHeader: string, body: unknown): string {
  return `curl ${quoted(url)} \\
  -H ${quotedHeader} \\
  -H 'Content-Type: application/json' \\
  -d ${quoted(membersPerLine(body))}`;
}

function membersPerLine(body: unknown): string {
  const members = Object.entries(body as object).map(
    ([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)}`,
  );
  return `{\n${members.join(',\n')}\n  }`;
}

/** Returns a command that reads a path of the API. The token comes from the environment. */
export function curlOfPath(path: string): string {
  return `curl -H "Authorization: Bearer $POSTHORN_TOKEN" ${quoted(location.origin + path)}`;
}
