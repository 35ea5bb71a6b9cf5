import { judgeUrlHost, publicOnly } from '../values/address.js';
import { cut, type Evidence } from './outcome.js';
import { wordsOf } from './response-words.js';
import { parseRetryAfterMs } from './retry-schedule.js';

/** What follows a delivery attempt: another attempt at a given time, one when the webhook is active, or none. */
export type NextAttempt = { kind: 'due' | 'made'; at: Date } | { kind: 'held' | 'none' };

/** Tests and verifications are single attempts. */
type Purpose =
  | { purpose: 'test' }
  /** `isAtCreation`: by the request that created the webhook. */
  | { purpose: 'verification'; isAtCreation?: boolean }
  | { purpose: 'delivery'; next: NextAttempt };

/** What is known about a failed attempt. */
export type FailedAttempt = Purpose & {
  attempted_at: Date;
  /** Null if no status arrived. */
  http_status: number | null;
  /** Null if a status arrived. */
  error: string | null;
  duration_ms: number | null;
  response: string | null;
  evidence?: Evidence | null | undefined;
  /** The current URL of the webhook, for attempts without evidence. */
  url: string;
  /** The delivery ID that the receiver got and may have logged. */
  deliveryId?: string | undefined;
  bodyBytes?: number | undefined;
  secretRotatedAt?: Date | null;
};

const quoteLengthMax = 120;
const placeLengthMax = 120;
/** The latest time that a sentence spells out. Later ones, whose year has five digits, become `for thousands of years`. */
const lastTimeMs = Date.UTC(9999, 11, 31);

/** What the sentences about an attempt can contain, by the name that stands for it. */
export const facts = {
  status: ({ http_status }) => String(http_status),
  host: hostOf,
  /** Host and port. */
  place: (attempt) => {
    const { port, protocol } = sentTo(attempt);
    return `${hostOf(attempt)}:${port || (protocol === 'http:' ? '80' : '443')}`;
  },
  path: (attempt) => cut(sentTo(attempt).pathname, placeLengthMax),
  target: (attempt) => redirectTarget(attempt) ?? '',
  address: ({ evidence }) => evidence?.address ?? '',
  /** The address that was tried, if the URL has a name. */
  tried: (attempt) => {
    const { address } = attempt.evidence ?? {};
    const isNamed = hostOf(attempt).replace(/^\[|\]$/g, '') !== address;
    return address !== undefined && isNamed ? ` (address ${address})` : '';
  },
  server: ({ evidence }) => cut(evidence?.headers?.server ?? '', placeLengthMax),
  reason: ({ evidence }) => (evidence?.message ? `: ${evidence.message}` : ''),
  names: ({ evidence }) => namesIn(evidence?.names),
  onDay: ({ evidence }) => onDay(evidence?.ended),
  time: ({ duration_ms }) => {
    const ms = duration_ms ?? 0;
    return ms < 950 ? `${Math.round(ms / 100) * 100} ms` : `${Math.round(ms / 1_000)} s`;
  },
  at: ({ attempted_at }) => timeText(attempted_at),
  /** What the receiver has to respond with. A verification requires exactly 200. */
  success: ({ purpose }) => (purpose === 'verification' ? '200' : '2xx'),
  anySuccess: ({ purpose }) => (purpose === 'verification' ? 'Only 200' : 'Any 2xx'),
  says: (attempt) => responseClause(attempt, 'says'),
  begins: (attempt) => responseClause(attempt, 'begins'),
  delivery: ({ deliveryId }) =>
    deliveryId === undefined ? '' : `; the request had X-Service-Delivery ${deliveryId}`,
  size: ({ bodyBytes: bytes }) => {
    if (bytes === undefined) return 'of this size';
    return bytes < 1_000 ? `of ${bytes} bytes` : `of ${Math.round(bytes / 1_000)} kB`;
  },
  /** If a connection without TLS failed, the port may expect TLS. */
  tlsHint: (attempt) =>
    sentTo(attempt).protocol === 'http:' ? ' If this port expects TLS, use https in the URL.' : '',
  rightPort: (attempt) =>
    allowsPlainHttp(hostOf(attempt))
      ? 'Use http:// in the URL, correct its port'
      : 'Correct the port in the URL',
  wait: (attempt) => {
    const untilMs = askedUntilMs(attempt);
    if (untilMs !== undefined)
      return `The receiver asked the service to wait ${untilMs > lastTimeMs ? 'for thousands of years' : `until ${timeText(new Date(untilMs))}`}`;
    return `The receiver ${attempt.http_status === 429 ? 'gets more requests than it can handle' : 'is not available'}`;
  },
  /** A clause with the time of the next attempt if that is earlier than the receiver asked for. */
  sooner: (attempt) => {
    const untilMs = askedUntilMs(attempt);
    if (attempt.purpose !== 'delivery' || !('at' in attempt.next) || untilMs === undefined) return '';
    const { kind, at } = attempt.next;
    if (at.getTime() > untilMs - 1_000) return '';
    return `; the next attempt ${kind === 'due' ? 'is due' : 'was made'} at ${timeText(at)}`;
  },
  waitRemedy: (attempt) => waitRemedy(attempt, askedUntilMs(attempt) === undefined ? 'later' : 'after that'),
} satisfies Record<string, (attempt: FailedAttempt) => string>;

function hostOf(attempt: FailedAttempt): string {
  return cut(sentTo(attempt).hostname, placeLengthMax);
}

/** Returns the URL that the request was sent to. */
export function sentTo({ evidence, url }: FailedAttempt): URL {
  return new URL(evidence?.url ?? url);
}

/** Returns where a redirect leads, or undefined if that is not valid. */
export function redirectTarget(attempt: FailedAttempt): string | undefined {
  const location = attempt.evidence?.headers?.location;
  if (location === undefined || !URL.canParse(location, sentTo(attempt).href)) return undefined;
  return cut(new URL(location, sentTo(attempt)).href, quoteLengthMax * 2);
}

/** What nginx, Apache and Go respond with if a request without TLS arrives on a port that expects TLS. */
const tlsWanted =
  /plain HTTP request was sent to HTTPS port|speaking plain HTTP to an SSL-enabled|HTTP request to an HTTPS server/i;

/** Returns whether the response says that the port expects TLS. */
export function expectsTls(attempt: FailedAttempt): boolean {
  return sentTo(attempt).protocol === 'http:' && tlsWanted.test(attempt.response ?? '');
}

const proxies =
  /nginx|openresty|apache|envoy|traefik|caddy|haproxy|varnish|cloudflare|cloudfront|awselb|akamai|google frontend/i;

/**
 * Returns whether a proxy responded in place of the application. Many proxies also name themselves in responses of the
 * application, so a 503 with JSON or a time to wait is taken for the application's own.
 */
export function isFromProxy(attempt: FailedAttempt): boolean {
  if (!proxies.test(attempt.evidence?.headers?.server ?? '')) return false;
  const isOwn = askedUntilMs(attempt) !== undefined || /^\s*[{[]/.test(attempt.response ?? '');
  return attempt.http_status !== 503 || !isOwn;
}

/** Returns until when the receiver asked the service to wait. */
function askedUntilMs({ attempted_at, evidence }: FailedAttempt): number | undefined {
  const atMs = attempted_at.getTime();
  const waitMs = parseRetryAfterMs(evidence?.headers?.['retry-after'], atMs) ?? 0;
  return waitMs > 0 ? atMs + waitMs : undefined;
}

function waitRemedy(attempt: FailedAttempt, when: 'later' | 'after that'): string {
  switch (attempt.purpose) {
    case 'verification':
      return `Verify the webhook again ${when}, or increase the capacity of the receiver.`;
    case 'test':
      return `A test makes one attempt and is not retried. Test again ${when}, or increase the capacity of the receiver.`;
    case 'delivery': {
      const slower = 'increase the capacity of the receiver or set a rate limit for this webhook';
      if (attempt.next.kind === 'none')
        return `There will be no further attempts. To deliver the event, ${slower}, then redeliver it.`;
      if (attempt.next.kind === 'held')
        return `The service will try again when the webhook is active. If this persists, ${slower}.`;
      return `You do not need to do anything: the service ${attempt.next.kind === 'due' ? 'will try' : 'tried'} again. If this persists, ${slower}.`;
    }
  }
}

/** Quotes the text of the response. Adds no quotation marks if the text already contains some. */
function responseClause({ response, evidence }: FailedAttempt, verb: 'says' | 'begins'): string {
  const { text, isBinary, isPart } = wordsOf(response);
  if (isBinary) {
    const type = evidence?.headers?.['content-type'];
    if (evidence?.encoding !== undefined) return `; its response is compressed (${evidence.encoding})`;
    return `; its response is binary data${type === undefined ? '' : ` (${cut(type, quoteLengthMax)})`}`;
  }
  if (text === '') return '';
  const words = cut(text, quoteLengthMax);
  return `; its response ${isPart ? 'says' : verb} ${words.includes('"') ? words : `"${words}"`}`;
}

/** Formats a time as `16 Nov 2026 21:04:07 UTC`, with the date and the zone because readers can be anywhere. */
function timeText(at: Date): string {
  const [, day, month, year, time] = at.toUTCString().split(' ');
  return `${Number(day)} ${month} ${year} ${time} UTC`;
}

/**
 * Returns whether the operator is known to allow plain http for a host that the service connected to. A host that is
 * not public can be reached only if it is on the operator's list, and plain http is allowed for every address there.
 */
function allowsPlainHttp(host: string): boolean {
  return judgeUrlHost(host, publicOnly) === 'blocked';
}

function onDay(validTo: string | undefined): string {
  const at = new Date(validTo ?? Number.NaN);
  if (Number.isNaN(at.getTime())) return '';
  const [, day, month, year] = at.toUTCString().split(' ');
  return ` on ${Number(day)} ${month} ${year}`;
}

/**
 * Returns the first two hosts in a list such as `DNS:a.test, DNS:b.test`, which are enough to identify the certificate.
 */
function namesIn(altNames: string | undefined): string {
  const names = (altNames ?? '')
    .split(', ')
    .map((name) => name.replace(/^(DNS|IP Address):/, ''))
    .filter((name) => name !== '');
  if (names.length === 0) return 'another host';
  return names.length > 2 ? `${names.slice(0, 2).join(', ')} and others` : names.join(' and ');
}

/** For how long after a rotation a receiver that refuses the signature probably still has the secret before it. */
const newSecretMs = 60 * 60_000;

/** Returns whether the secret was rotated shortly before the attempt. */
export function isSecretNew({ attempted_at, secretRotatedAt }: FailedAttempt): boolean {
  const ageMs = attempted_at.getTime() - (secretRotatedAt?.getTime() ?? Number.POSITIVE_INFINITY);
  return ageMs >= 0 && ageMs < newSecretMs;
}
