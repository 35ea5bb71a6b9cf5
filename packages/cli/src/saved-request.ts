import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandFailure } from './command.js';
import type { WebhookRequest } from './webhook-request.js';

/** A request from a file, as bytes: what is verified must not be changed by decoding. */
export interface SavedRequest {
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/** Returns a request as the text that `verify --request` reads: request line, headers, an empty line, the body. */
export function requestText(url: URL | undefined, { headers, body }: WebhookRequest): string {
  const path = url ? `${url.pathname}${url.search}` : '/';
  const lines = [
    `POST ${path} HTTP/1.1`,
    `Host: ${url?.host ?? 'localhost'}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Writes a request to a file in the directory, whatever characters the name has, and returns its path. */
export async function saveRequest(directory: string, name: string, text: string): Promise<string> {
  const file = join(directory, `${encodeURIComponent(name)}.http`);
  try {
    await mkdir(directory, { recursive: true });
    await writeFile(file, text);
  } catch (error) {
    throw new CommandFailure(
      `Cannot save to ${file}: ${(error as Error).message}. Use another --save directory.`,
    );
  }
  return file;
}

const headerLine = /^(?:> ?)?([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*(.*?)[ \t]*$/;
const requestLine = /^(?:> ?)?[A-Z]+ \S+( HTTP\/[\d.]+)?$/;

/**
 * Reads a saved or pasted request: headers, an empty line and the body, or JSON with `headers` and `body`. Returns
 * undefined if it is neither.
 */
export function readRequest(bytes: Buffer): SavedRequest | undefined {
  const asJson = bytes[0] === 0x7b ? jsonRequest(bytes.toString()) : undefined;
  if (asJson) return asJson;
  const headers: Record<string, string> = {};
  let at = 0;
  let isFirst = true;
  while (at < bytes.length) {
    const end = bytes.indexOf('\n', at);
    const next = end < 0 ? bytes.length : end + 1;
    const line = bytes.toString('utf8', at, end < 0 ? bytes.length : end).replace(/\r$/, '');
    at = next;
    if (/^(> ?)?$/.test(line))
      return Object.keys(headers).length > 0 ? { headers, body: bytes.subarray(at) } : undefined;
    const [, name, value = ''] = headerLine.exec(line) ?? [];
    if (name !== undefined) headers[name.toLowerCase()] = value;
    else if (!isFirst || !requestLine.test(line)) return undefined;
    isFirst = false;
  }
  return Object.keys(headers).length > 0 ? { headers, body: Buffer.alloc(0) } : undefined;
}

function jsonRequest(text: string): SavedRequest | undefined {
  try {
    const { headers, body } = JSON.parse(text) as { headers?: Record<string, string>; body?: unknown };
    if (!headers || typeof body !== 'string') return undefined;
    const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]);
    return { headers: Object.fromEntries(lower), body: Buffer.from(body) };
  } catch {
    return undefined;
  }
}
