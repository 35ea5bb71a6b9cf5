import { Agent, request as httpRequest } from 'node:http';
import { request as httpsRequest, Agent as SecureAgent } from 'node:https';
import { UsageError } from './command.js';
import type { WebhookRequest } from './webhook-request.js';

export interface ForwardResult {
  /** Null if there was no response. */
  status: number | null;
  durationMs: number;
  /** The first 1 KiB of the response body. */
  response: string;
  /** Why there was no response, in a sentence. */
  error: string | null;
}

// Like the service, reuse connections.
const agent = new Agent({ keepAlive: true });
const secureAgent = new SecureAgent({ keepAlive: true });
const timeoutMs = 10_000;
const keptBytes = 1_024;
const readBytesMax = 64 * 1_024;

/** A host with a port, or a name or address of this machine. Anything else without a scheme is most likely a typo. */
const withoutScheme =
  /^(\[[0-9a-f:.]+\]|[\w.-]+):\d+(\/|$)|^(([\w-]+\.)*localhost|127(\.\d+){3}|\[::1\])(\/|$)/i;

/** Returns the URL to forward to. */
export function targetUrl(option: string, text: string): URL {
  const whole = withoutScheme.test(text) ? `http://${text}` : text;
  if (/^https?:\/\//i.test(whole) && URL.canParse(whole)) return new URL(whole);
  throw new UsageError(
    `--${option}: '${text}' is not valid. Expected a URL such as http://localhost:3000/hooks.`,
  );
}

/** Returns whether a receiver accepted the request. */
export function isAccepted({ status }: ForwardResult): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** Sends a request as the service does: one POST, no redirects, 10 seconds. Returns failures as values. */
export function forward(url: URL, { headers, body }: WebhookRequest): Promise<ForwardResult> {
  const startedMs = performance.now();
  return new Promise((resolve) => {
    const end = (result: Pick<ForwardResult, 'status' | 'response' | 'error'>) => {
      clearTimeout(timer);
      resolve({ ...result, durationMs: Math.round(performance.now() - startedMs) });
    };
    const bytes = Buffer.from(body);
    const isSecure = url.protocol === 'https:';
    const request = (isSecure ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      headers: ['Host', url.host, ...headers.flat(), 'Content-Length', String(bytes.length)],
      agent: isSecure ? secureAgent : agent,
    });
    const timer = setTimeout(() => request.destroy(new Error('timeout')), timeoutMs);
    request.on('error', (error: NodeJS.ErrnoException) =>
      end({ status: null, response: '', error: causeOf(error, url) }),
    );
    request.on('response', (response) => {
      const kept: Buffer[] = [];
      let read = 0;
      const done = () => {
        const text = Buffer.concat(kept).subarray(0, keptBytes).toString();
        end({ status: response.statusCode ?? null, response: text, error: null });
        if (!response.complete) response.destroy();
      };
      response.on('data', (chunk: Buffer) => {
        if (read < keptBytes) kept.push(chunk);
        read += chunk.length;
        if (read > readBytesMax) done();
      });
      response.on('end', done).on('error', done);
    });
    request.end(bytes);
  });
}

function causeOf({ code, message }: NodeJS.ErrnoException, url: URL): string {
  if (message === 'timeout') return `no response within ${timeoutMs / 1000} s`;
  if (code === 'ECONNREFUSED') return `connection refused: nothing is listening on ${url.host}`;
  if (code === 'ENOTFOUND') return `the name ${url.hostname} does not exist`;
  if (code === 'ECONNRESET') return 'the receiver closed the connection without a response';
  return message || (code ?? 'unknown error');
}
