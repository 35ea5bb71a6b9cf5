import { Agent, request as httpRequest } from 'node:http';
import { request as httpsRequest, Agent as SecureAgent } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { invalid } from './command.js';
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
export function targetUrl(text: string, option: string): URL {
  const whole = withoutScheme.test(text) ? `http://${text}` : text;
  if (/^https?:\/\//i.test(whole) && URL.canParse(whole)) return new URL(whole);
  throw invalid(option, text, 'a URL such as http://localhost:3000/hooks');
}

/** Returns whether a receiver accepted the request. */
export function isAccepted({ status }: ForwardResult): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** Returns where a request went and its result, as `--json` prints them. */
export function forwardedJson(url: URL, { status, durationMs, response, failure }: ForwardResult) {
  const error = failure?.error ?? null;
  return { forwarded_to: url.href, http_status: status, duration_ms: durationMs, response, error };
}

/** Sends a request as the service does: one POST, no redirects, 10 seconds. Returns failures as values. */
export function forward(url: URL, { headers, body }: WebhookRequest): Promise<ForwardResult> {
  const startedMs = performance.now();
  return new Promise((resolve) => {
    const end = (result: Partial<ForwardResult>) => {
      clearTimeout(timer);
      const durationMs = Math.round(performance.now() - startedMs);
      resolve({ status: null, response: '', location: null, failure: null, ...result, durationMs });
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
    request.on('error', (error: NodeJS.ErrnoException) => end({ failure: late ?? explainError(error, url) }));
    request.on('response', (response) => {
      const kept: Buffer[] = [];
      let read = 0;
      const done = () => {
        const { statusCode: status = null, headers } = response;
        const text = Buffer.concat(kept).subarray(0, keptBytes).toString();
        end({ status, response: text, location: redirectTarget(status, headers.location, url) });
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

/** Why a request got no response, in a sentence without its period, and what to do about it. */
export interface ForwardFailure {
  error: string;
  remedy: string;
}

const say = (error: string, remedy: string): ForwardFailure => ({ error, remedy });

const checkTls = 'Check that this port speaks TLS, and that any proxy in front of the receiver is working.';

/** Explains a request that took too long, given how far its connection got. */
export function explainTimeout(socket: Socket | null, { host }: URL, time: string): ForwardFailure {
  if (socket === null || socket.connecting)
    return say(
      `no connection to ${host} within ${time}`,
      'Check the host and the port in the URL. A firewall may be dropping the requests.',
    );
  if (socket instanceof TLSSocket && socket.getPeerFinished() === undefined)
    return say(
      `${host} accepted the connection, but the TLS handshake did not finish within ${time}`,
      checkTls,
    );
  return say(`no response within ${time}`, 'Store the event, respond with 2xx, then do the slow work.');
}

const tls = '^(ERR_TLS|ERR_SSL|ERR_OSSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)';

/**
 * What errors of Node's HTTP client mean, by code and reason, in the words that the service uses for deliveries, and
 * what to do about them.
 */
const meanings: readonly (readonly [RegExp, error: string, remedy: string])[] = [
  [
    /^ECONNREFUSED /,
    'connection refused: nothing is listening on {host}',
    'Start the receiver, or correct the port in the URL.',
  ],
  [/^(ENOTFOUND|EAI_AGAIN) /, '{hostname} does not resolve', 'Check the host name.'],
  [/^E(HOST|NET)(UNREACH|DOWN) /, 'there is no route to {host}', 'Check that the receiver is online.'],
  [
    /^(ECONNRESET|EPIPE) .*before secure TLS connection/s,
    '{host} closed the connection during the TLS handshake',
    checkTls,
  ],
  [
    /^(ECONNRESET|EPIPE) /,
    'the receiver closed the connection without a response',
    'Check whether the receiver, or a proxy in front of it, crashed or restarted.',
  ],
  [
    /^HPE_HEADER_OVERFLOW /,
    'the headers of the response are larger than 16 KiB',
    'Send fewer or shorter headers, for example fewer cookies.',
  ],
  [
    /^HPE_/,
    'the response was not HTTP/1.1 ({message})',
    'Check that the port belongs to the web server, and that the server sends a valid status line and headers.',
  ],
  [
    new RegExp(`${tls}.*(wrong version|packet length|http request)`, 'is'),
    '{host} does not use TLS',
    'Send to an http URL, or correct the port in the URL.',
  ],
  [
    new RegExp(tls),
    'the TLS connection to {host} failed: {reason}',
    'Check the certificate of {hostname}. To trust it, set NODE_EXTRA_CA_CERTS to a PEM file with it or with the ' +
      'certificate of its authority, or send to an http URL.',
  ],
  [/^/, '{message}', 'Check that the URL is correct and that the receiver is running.'],
];

/** Explains an error of Node's HTTP client. */
export function explainError(
  { code = '', message, reason = message }: NodeJS.ErrnoException & { reason?: string },
  url: URL,
): ForwardFailure {
  if (code === 'ETIMEDOUT') return explainTimeout(null, url, 'the time that the system allows');
  const { host, hostname } = url;
  const values = { host, hostname, reason, message: message || code || 'unknown error' };
  const filled = (text: string) =>
    text.replace(/\{(\w+)\}/g, (_, name) => values[name as keyof typeof values]);
  const [, error, remedy] = meanings.find(([pattern]) => pattern.test(`${code} ${reason}`))!;
  return say(filled(error), filled(remedy));
}
