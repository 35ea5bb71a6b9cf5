import { connect, type Socket } from 'node:net';

export interface RawResponse {
  status: number;
  headers: Record<string, string>;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses of every shape
  body: any;
}

/** A TCP connection to a listener, open. */
export function openSocket(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    socket.once('connect', () => resolve(socket)).once('error', reject);
  });
}

/** All that arrives until the other side closes. */
export function readToEnd(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  return new Promise((resolve, reject) => {
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.once('error', reject).once('close', () => resolve(Buffer.concat(chunks)));
  });
}

/** Sends bytes as they are and reads the one response to them; the other side must close after it. */
export async function sendRaw(url: string, ...parts: (string | Uint8Array)[]): Promise<RawResponse> {
  const socket = await openSocket(url);
  for (const part of parts) socket.write(part);
  return parseResponse(await readToEnd(socket));
}

/** Sends the start of a request. Hangs up once the response arrives: the service waits a second for the rest. */
export async function sendStart(url: string, start: string): Promise<RawResponse> {
  const socket = await openSocket(url);
  socket.once('data', () => socket.end());
  socket.write(start);
  return parseResponse(await readToEnd(socket));
}

export function parseResponse(bytes: Buffer): RawResponse {
  const text = bytes.toString('utf8');
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const content = text.slice(end + 4);
  const isJson = /json/.test(headers['content-type'] ?? '') && content.startsWith('{');
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]),
    headers,
    text: content,
    body: isJson ? JSON.parse(content) : undefined,
  };
}
