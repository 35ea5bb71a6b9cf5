import { publicOnly } from '../values/address.js';

/** The delivery errors: why an attempt got no HTTP status. */
export const attemptErrors = [
  'dns',
  'connect',
  'tls',
  'timeout',
  'reset',
  'protocol',
  'blocked_address',
] as const;
export type AttemptError = (typeof attemptErrors)[number];

/** The outcome of one attempt. */
export type Outcome =
  | {
      kind: 'response';
      httpStatus: number;
      durationMs: number;
      /** The beginning of the response body, as text. */
      response: string | null;
      headers: RawHeaders;
      retryAfterMs: number | undefined;
    }
  | { kind: 'no_response'; error: AttemptError; durationMs: number; detail?: FailureDetail | undefined };

/** Response headers as undici returns them. */
export type RawHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * What the network or TLS reported when no status arrived. It is meant for the operator: it can contain internal
 * addresses that a name resolves to.
 */
export interface FailureDetail {
  /**
   * The error code from Node, OpenSSL or undici, such as `CERT_HAS_EXPIRED`, `ECONNRESET` or `UND_ERR_SOCKET`. We add
   * five: `connect_timeout` if no connection opened in time, `tls_timeout` if the TLS handshake did not finish in time,
   * `plain_http` if the URL uses http and the operator does not allow that for the address, `blocked_address` if the
   * guard refused the address, and `dns` if the name did not resolve.
   */
  code?: string | undefined;
  message: string;
  /** The names in a certificate that was issued for another host. */
  altNames?: string | undefined;
  /** When a rejected certificate expires. */
  validTo?: string | undefined;
  /** The address that the guard refused, or to which the connection failed. */
  address?: string | undefined;
}

/**
 * An attempt that does not count. The webhook changed before the first byte was sent (`recalled`), this machine has no
 * file descriptor or memory left for a connection (`out_of_resources`), or this node stopped before the attempt ended
 * (`shutdown`).
 */
export interface Withheld {
  kind: 'withheld';
  reason: 'recalled' | 'out_of_resources' | 'shutdown';
}

export function isDelivered(outcome: Outcome): boolean {
  return outcome.kind === 'response' && outcome.httpStatus >= 200 && outcome.httpStatus <= 299;
}

/** The response headers that are stored for a failed attempt, because they help to explain it. */
const keptNames = ['content-type', 'location', 'retry-after', 'server'] as const;
type KeptName = (typeof keptNames)[number];
export type ResponseHeaders = Readonly<Partial<Record<KeptName, string>>>;

/**
 * What is stored about a failed attempt in addition to its status, error and response. Network messages are left out,
 * because they can contain internal addresses.
 */
export interface Evidence {
  /** The URL that the request was sent to, without the query. The webhook's URL may have changed since then. */
  url: string;
  headers?: ResponseHeaders;
  /** From `FailureDetail`: `names` is its `altNames`, and `ended` is its `validTo`. */
  code?: string;
  message?: string;
  names?: string;
  ended?: string;
  /**
   * For `blocked_address`, the address that was refused. For `connect`, the address that was tried, if it is public or
   * the URL itself says that it is this machine: the addresses of private names are internal.
   */
  address?: string;
  /** The scheme that the response asks to log in with, such as `Basic`. */
  challenge?: string;
  /** The content encoding of the response, such as `gzip`. */
  encoding?: string;
}

const urlLengthMax = 300;
const valueLengthMax = 512;
const detailLengthMax = 200;

/** Returns what the API shows of an outcome, with its evidence. */
export function factsOf(outcome: Outcome, url: URL) {
  const [http_status, response, error] =
    outcome.kind === 'response' ? [outcome.httpStatus, outcome.response, null] : [null, null, outcome.error];
  return {
    http_status,
    error,
    duration_ms: outcome.durationMs,
    response,
    evidence: evidenceOf(outcome, url),
  };
}

/** Returns what is stored about a failed attempt. */
export function evidenceOf(outcome: Outcome, url: URL): Evidence {
  const evidence: Evidence = { url: evidenceUrl(url.origin + url.pathname) };
  if (outcome.kind === 'response') {
    const headers = keptHeaders(outcome.headers);
    if (Object.keys(headers).length > 0) evidence.headers = headers;
    const [challenge] = firstOf(outcome.headers['www-authenticate']).split(' ');
    if (challenge) evidence.challenge = short(challenge);
    const encoding = firstOf(outcome.headers['content-encoding']);
    if (encoding !== '') evidence.encoding = short(encoding);
  } else if (outcome.detail) Object.assign(evidence, keptDetail(outcome.error, outcome.detail, url));
  return evidence;
}

/** Shortens a URL to the length that is stored. The caller has removed the query. */
export const evidenceUrl = (url: string) => cut(url, urlLengthMax);

/** Returns the headers that are stored, each shortened and without control characters. */
export function keptHeaders(headers: RawHeaders): ResponseHeaders {
  const kept: Partial<Record<KeptName, string>> = {};
  for (const name of keptNames) {
    const value = firstOf(headers[name]);
    if (value !== '') kept[name] = cut(printable(value), valueLengthMax);
  }
  return kept;
}

const firstOf = (given: string | string[] | undefined) => (Array.isArray(given) ? given[0] : given) ?? '';

/** Returns whether an address may be shown to those who chose the URL. */
function mayShow(address: string, { hostname }: URL): boolean {
  return /(^|\.)localhost$/.test(hostname) || publicOnly.judge(address) === 'public';
}

/** Returns the details that are stored. Leaves out messages about the network, which can contain addresses. */
function keptDetail(error: AttemptError, detail: FailureDetail, url: URL): Partial<Evidence> {
  const kept: Partial<Evidence> = {};
  const { code, message, altNames, validTo, address } = detail;
  if (code !== undefined) kept.code = short(code);
  if (error === 'tls' || error === 'protocol') kept.message = short(message);
  if (altNames !== undefined) kept.names = short(altNames);
  if (validTo !== undefined) kept.ended = short(validTo);
  const isKept = error === 'blocked_address' || (error === 'connect' && address && mayShow(address, url));
  if (isKept && address !== undefined) kept.address = short(address);
  return kept;
}

const short = (text: string) => cut(printable(text), detailLengthMax);

/** Returns text as one line: control characters and other non-text characters become spaces. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]+/gu, ' ').trim();
}

/** Returns at most `max` characters, without cutting a surrogate pair in half. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
