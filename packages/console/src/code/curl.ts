import type { SentRequest } from '@posthorn/client';

/** Quotes text for a POSIX shell, whatever it contains. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Headers that curl sets itself, or that apply only to the original request. */
const leftOut = /^(content-length|host|accept-encoding|connection|transfer-encoding)$/i;

/** Returns a command that sends the request again, without signatures, which the console does not have. */
export function curlOfRequest(request: SentRequest): string {
  const headers = Object.entries(request.headers)
    .filter(([name, value]) => value !== null && !leftOut.test(name))
    .map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)} \\\n`);
  return `curl ${quoted(request.url ?? '')} \\\n${headers.join('')}  --data-binary ${quoted(request.body ?? '')}`;
}

/** Returns the commands that send an event with a signature. The user adds the secret, which the console does not have. */
export const triggerCommands = (eventId: string, url: string) => [
  `curl -O ${location.origin}/cli/posthorn.mjs`,
  'node posthorn.mjs login',
  `node posthorn.mjs trigger ${eventId} --to ${quoted(url)} --secret whsec_…`,
];

/**
 * Returns a command that posts JSON, with one member per line. The caller quotes the URL and the header, because they
 * may contain a variable or a shell command.
 */
export function jsonCurl(quotedUrl: string, quotedHeader: string, body: unknown): string {
  return `curl ${quotedUrl} \\
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
