import { Agent, request as httpRequest } from 'node:http';
import { request as httpsRequest, Agent as SecureAgent } from 'node:https';
import { UsageError } from './command.js';
import { explainError, explainTimeout, type ForwardFailure } from './forward-failure.js';
import type { WebhookRequest } from './webhook-request.js';

export interface ForwardResult {
  /** Null if there was no response. */
  status: number | null;
  durationMs: number;
  /** The first 1 KiB of the response body. */
  response: string;
  /** Where the response redirects to. Null if it does not. */
  location: string | null;
  /** Why there was no response. Null if there was one. */
  failure: ForwardFailure | null;
}

// Like the service, reuse connections.
const agent = new Agent({ keepAlive: true });
const secureAgent = new SecureAgent({ keepAlive: true });
const timeoutMs = 10_000;
const keptBytes = 1_024;
const readBytesMax = 64 * 1_024;
const locationMax = 240;

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
    const end = (result: Pick<ForwardResult, 'status' | 'response' | 'location' | 'failure'>) => {
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
    let late: ForwardFailure | undefined;
    const timer = setTimeout(() => {
      late = explainTimeout(request.socket, url, `${timeoutMs / 1000} s`);
      request.destroy(new Error('timeout'));
    }, timeoutMs);
    request.on('error', (error: NodeJS.ErrnoException) =>
      end({ status: null, response: '', location: null, failure: late ?? explainError(error, url) }),
    );
    request.on('response', (response) => {
      const kept: Buffer[] = [];
      let read = 0;
      const done = () => {
        const text = Buffer.concat(kept).subarray(0, keptBytes).toString();
        const { statusCode: status = null, headers } = response;
        end({
          status,
          response: text,
          location: redirectTarget(status, headers.location, url),
          failure: null,
        });
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

function redirectTarget(status: number | null, location: string | undefined, url: URL): string | null {
  if (status === null || status < 300 || status > 399 || location === undefined) return null;
  return URL.canParse(location, url) ? new URL(location, url).href.slice(0, locationMax) : null;
}
