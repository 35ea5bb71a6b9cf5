import type { AttemptError, FailureDetail, Outcome, RawHeaders } from './outcome.js';

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
  /** Only for `blocked_address`: the address that was refused. */
  address?: string;
}

const urlLengthMax = 300;
const valueLengthMax = 512;
const detailLengthMax = 200;

/** Returns what is stored about a failed attempt. */
export function evidenceOf(outcome: Outcome, url: URL): Evidence {
  const evidence: Evidence = { url: evidenceUrl(url.origin + url.pathname) };
  if (outcome.kind === 'response') {
    const headers = keptHeaders(outcome.headers);
    if (Object.keys(headers).length > 0) evidence.headers = headers;
  } else if (outcome.detail) Object.assign(evidence, keptDetail(outcome.error, outcome.detail));
  return evidence;
}

/** Shortens a URL to the length that is stored. The caller has removed the query. */
export const evidenceUrl = (url: string) => cut(url, urlLengthMax);

/** Returns the headers that are stored, each shortened and without control characters. */
export function keptHeaders(headers: RawHeaders): ResponseHeaders {
  const kept: Partial<Record<KeptName, string>> = {};
  for (const name of keptNames) {
    const given = headers[name];
    const value = Array.isArray(given) ? given[0] : given;
    if (value !== undefined && value !== '') kept[name] = cut(printable(value), valueLengthMax);
  }
  return kept;
}

/** Returns the details that are stored. Leaves out messages about the network, which can contain addresses. */
function keptDetail(error: AttemptError, detail: FailureDetail): Partial<Evidence> {
  const kept: Partial<Evidence> = {};
  const { code, message, altNames, validTo, address } = detail;
  if (code !== undefined) kept.code = short(code);
  if (error === 'tls' || error === 'protocol') kept.message = short(message);
  if (altNames !== undefined) kept.names = short(altNames);
  if (validTo !== undefined) kept.ended = short(validTo);
  if (error === 'blocked_address' && address !== undefined) kept.address = short(address);
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
