import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandFailure } from './command.js';
import type { WebhookRequest } from './webhook-request.js';

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
