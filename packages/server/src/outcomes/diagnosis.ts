import { cut, type Evidence, printable } from './evidence.js';
import { parseRetryAfterMs } from './outcome.js';
import { accessRemedy, refusalRemedy } from './receiver-refusal.js';
import { wordsOf } from './response-words.js';
import { explainTls, explainTlsTimeout, tlsHint, tlsRemedy } from './tls-diagnosis.js';

/** Explains why an attempt failed and what to do about it, in one or two sentences each. */
export interface Diagnosis {
  error_detail: string;
  remedy: string;
}

/** What follows a delivery attempt: another attempt at a given time, one when the webhook is verified, or none. */
export type NextAttempt = { kind: 'due' | 'made'; at: Date } | { kind: 'held' | 'none' };

/** Tests and verifications are single attempts. */
type Purpose = { purpose: 'test' | 'verification' } | { purpose: 'delivery'; next: NextAttempt };

/** What is known about a failed attempt. */
export type FailedAttempt = Purpose & {
  attemptedAt: Date;
  /** Null if no status arrived. */
  httpStatus: number | null;
  /** Null if a status arrived. */
  error: string | null;
  durationMs: number | null;
  response: string | null;
  /** The current URL of the webhook, for attempts without evidence. */
  url: string;
  evidence: Evidence | null;
  /** The delivery ID that the receiver got and may have logged. */
  deliveryId?: string | undefined;
  bodyBytes?: number | undefined;
};

const textLengthMax = 500;
const quoteLengthMax = 120;
const placeLengthMax = 120;
/** The latest time that a sentence spells out. Later ones, whose year has five digits, become `for thousands of years`. */
const lastTimeMs = Date.UTC(9999, 11, 31);

/**
 * Explains what happened in a failed attempt and what to do about it. The API, the console, the command line and the
 * docs all show these sentences. The receiver's response is quoted, shortened and put on one line.
 */
export function diagnose(attempt: FailedAttempt): Diagnosis {
  const { error_detail, remedy } =
    attempt.httpStatus === null ? explainError(attempt) : explainStatus(attempt, attempt.httpStatus);
  return {
    error_detail: cut(printable(error_detail), textLengthMax),
    remedy: cut(printable(remedy), textLengthMax),
  };
}

const say = (error_detail: string, remedy: string): Diagnosis => ({ error_detail, remedy });

/** Returns what the receiver has to respond with. A verification requires exactly 200. */
const successOf = ({ purpose }: FailedAttempt) => (purpose === 'verification' ? '200' : '2xx');

function explainError(attempt: FailedAttempt): Diagnosis {
  const { evidence } = attempt;
  const { host, place, url } = placeOf(attempt);
  switch (attempt.error) {
    case 'dns':
      return say(
        `${host} does not resolve.`,
        'Check the host name. A new DNS record can take a few minutes to propagate.',
      );
    case 'connect':
      return explainConnection(evidence?.code, place);
    case 'tls':
      return say(...explainTls(evidence, host, place));
    case 'timeout':
      return explainTimeout(attempt, place);
    case 'reset':
      return say(
        `The connection to ${place} was closed before a response arrived.`,
        `Check whether the receiver, or a proxy in front of it, crashed or restarted, or rejects large requests.${tlsHint(url)}`,
      );
    case 'protocol':
      return explainProtocol(evidence, place);
    case 'blocked_address':
      return explainBlocked(evidence, host);
    default:
      return say('The attempt got no response.', 'Check that the receiver is running.');
  }
}

function explainTimeout({ evidence, durationMs, purpose }: FailedAttempt, place: string): Diagnosis {
  const time = secondsText(durationMs ?? 0);
  switch (evidence?.code) {
    case 'connect_timeout':
      return say(
        `No connection to ${place} within ${time}.`,
        'A firewall may be dropping the requests. Allow the addresses that the service sends from.',
      );
    case 'tls_timeout':
      return say(...explainTlsTimeout(place, time));
    default:
      return say(
        `No response within ${time}.`,
        purpose === 'verification'
          ? 'Respond with 200 before you do anything slow.'
          : 'Store the event, respond with 2xx, then do the slow work.',
      );
  }
}

function explainProtocol(evidence: Evidence | null, place: string): Diagnosis {
  if (evidence?.code === 'UND_ERR_HEADERS_OVERFLOW') {
    return say(
      `The headers of the response from ${place} are larger than 16 KiB.`,
      'Send fewer or shorter headers, for example fewer cookies.',
    );
  }
  // The HTTP client's message for a 101 response.
  if (evidence?.message === 'bad upgrade') {
    return say(
      `The receiver at ${place} asked to switch protocols (status 101).`,
      'Respond with a final status. Webhook requests never ask for another protocol.',
    );
  }
  return say(
    `The response from ${place} was not HTTP/1.1.`,
    'Check that the port belongs to the web server, and that the server sends a valid status line and headers.',
  );
}

function explainConnection(code: string | undefined, place: string): Diagnosis {
  if (code === 'ECONNREFUSED') {
    return say(`Nothing is listening on ${place}.`, 'Start the receiver, or correct the port in the URL.');
  }
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH' || code === 'EHOSTDOWN' || code === 'ENETDOWN') {
    return say(
      `There is no route to ${place}.`,
      'Check that the receiver is online and that its address in DNS is current.',
    );
  }
  return say(
    `Could not connect to ${place}.`,
    'Check that the receiver is running and can be reached from the internet.',
  );
}

function explainBlocked(evidence: Evidence | null, host: string): Diagnosis {
  if (evidence?.code === 'plain_http') {
    return say(`The URL uses http, which the operator does not allow for ${host}.`, 'Use an https URL.');
  }
  const address = evidence?.address;
  const remedy = 'Use a public address, or ask the operator to allow that network.';
  if (address === undefined) return say(`${host} resolves to an address that is not public.`, remedy);
  return address === host.replace(/^\[|\]$/g, '')
    ? say(`${address} is not a public address.`, remedy)
    : say(`${host} resolves to ${address}, which is not a public address.`, remedy);
}

function explainStatus(attempt: FailedAttempt, status: number): Diagnosis {
  if (status >= 200 && status <= 299) {
    return say(
      `Verification needs exactly 200, but the receiver responded with ${status}.`,
      'Respond with 200 to webhook.verification.',
    );
  }
  if (status >= 300 && status <= 399) return explainRedirect(attempt, status);
  const named = explainKnownStatus(attempt, status);
  if (named) return named;
  if (status >= 400 && status <= 499) {
    return say(
      `The receiver rejected the request with ${status}${responseClause(attempt, 'says')}.`,
      refusalRemedy(attempt.response) ??
        tlsRemedy(placeOf(attempt).url, attempt.response) ??
        `Check what the receiver expects in a request. ${successOf(attempt) === '200' ? 'Only 200' : 'Any 2xx'} counts as success.`,
    );
  }
  if (status >= 500 && status <= 599) {
    return say(
      `The receiver failed with ${status}${responseClause(attempt, 'begins')}.`,
      refusalRemedy(attempt.response) ??
        `Look at its logs around ${timeText(attempt.attemptedAt)}${deliveryClause(attempt)}.`,
    );
  }
  return say(
    `The receiver responded with ${status}, which is not an HTTP status.`,
    `Respond with ${successOf(attempt)} when the request is accepted.`,
  );
}

function explainKnownStatus(attempt: FailedAttempt, status: number): Diagnosis | undefined {
  switch (status) {
    case 401:
    case 403:
      return say(
        `The receiver refused the request with ${status}${responseClause(attempt, 'says')}.`,
        refusalRemedy(attempt.response) ?? accessRemedy(status),
      );
    case 404:
    case 405:
      return say(
        `There is no handler for POST ${placeOf(attempt).path} (status ${status}).`,
        status === 404
          ? 'Correct the path in the URL, or add a handler for it.'
          : 'Accept POST requests at this path, or correct the path in the URL.',
      );
    case 408:
      return say(
        'The receiver gave up waiting for the request (status 408).',
        'Raise the timeout for reading a request in the receiver or its proxy.',
      );
    case 410:
      return attempt.purpose === 'delivery'
        ? say(
            'The receiver responded with 410 Gone, which disables a webhook.',
            'If the receiver still exists, correct its response or the URL, then activate the webhook.',
          )
        : say(
            'The receiver responded with 410 Gone.',
            'If the receiver still exists, correct its response or the URL.',
          );
    case 413:
      return say(
        `The receiver does not accept a body ${sizeText(attempt.bodyBytes)} (status 413).`,
        'Raise the limit for request bodies in the receiver and in any proxy in front of it.',
      );
    case 415:
      return say(
        'The receiver does not accept application/json (status 415).',
        'Accept requests with the content type application/json.',
      );
    case 429:
    case 503:
      return explainWait(attempt, status);
    default:
      return undefined;
  }
}

function explainRedirect(attempt: FailedAttempt, status: number): Diagnosis {
  const location = attempt.evidence?.headers?.location;
  const target = location === undefined ? undefined : targetOf(location, attempt);
  if (target === undefined) {
    return say(
      `The receiver responded with ${status} but without a valid redirect target. Redirects are not followed.`,
      `Respond with ${successOf(attempt)} at this URL.`,
    );
  }
  const detail = `The receiver redirected to ${target} (status ${status}). Redirects are not followed.`;
  if (target === new URL(attempt.evidence?.url ?? attempt.url).href)
    return say(
      detail,
      `That is the URL of the webhook. Respond with ${successOf(attempt)} instead of a redirect.`,
    );
  if (/\/(log-?in|sign-?in|sso|oauth2?|auth)\b/i.test(target))
    return say(detail, 'Do not require a login for the URL of the webhook: requests are signed instead.');
  return say(detail, 'Change the URL to that address.');
}

function targetOf(location: string, attempt: FailedAttempt): string | undefined {
  try {
    const { href } = new URL(location, attempt.evidence?.url ?? attempt.url);
    return cut(href, quoteLengthMax * 2);
  } catch {
    return undefined;
  }
}

function explainWait(attempt: FailedAttempt, status: number): Diagnosis {
  const atMs = attempt.attemptedAt.getTime();
  const waitMs = parseRetryAfterMs(attempt.evidence?.headers?.['retry-after'], atMs) ?? 0;
  const untilMs = waitMs > 0 ? atMs + waitMs : undefined;
  const what =
    untilMs === undefined
      ? `The receiver ${status === 429 ? 'gets more requests than it can handle' : 'is not available'}`
      : `The receiver asked the service to wait ${untilMs > lastTimeMs ? 'for thousands of years' : `until ${timeText(new Date(untilMs))}`}`;
  return say(
    `${what} (status ${status})${actualWait(attempt, untilMs)}.`,
    waitRemedy(attempt, untilMs === undefined ? 'later' : 'after that'),
  );
}

/** Returns a clause with the time of the next attempt if that is earlier than the receiver asked for. */
function actualWait(attempt: FailedAttempt, untilMs: number | undefined): string {
  if (attempt.purpose !== 'delivery' || !('at' in attempt.next) || untilMs === undefined) return '';
  const { kind, at } = attempt.next;
  if (at.getTime() > untilMs - 1_000) return '';
  return `; the next attempt ${kind === 'due' ? 'is due' : 'was made'} at ${timeText(at)}`;
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
        return `The service will try again when the webhook is verified. If this persists, ${slower}.`;
      return `You do not need to do anything: the service ${attempt.next.kind === 'due' ? 'will try' : 'tried'} again. If this persists, ${slower}.`;
    }
  }
}

interface Place {
  url: URL;
  host: string;
  /** Host and port. */
  place: string;
  path: string;
}

function placeOf({ evidence, url }: FailedAttempt): Place {
  const sentTo = new URL(evidence?.url ?? url);
  const host = cut(sentTo.hostname, placeLengthMax);
  const port = sentTo.port || (sentTo.protocol === 'http:' ? '80' : '443');
  return { url: sentTo, host, place: `${host}:${port}`, path: cut(sentTo.pathname, placeLengthMax) };
}

/** Quotes the text of the response. Adds no quotation marks if the text already contains some. */
function responseClause({ response, evidence }: FailedAttempt, verb: 'says' | 'begins'): string {
  const { text, isBinary, isPart } = wordsOf(response);
  if (isBinary) {
    const type = evidence?.headers?.['content-type'];
    return `; its response is binary data${type === undefined ? '' : ` (${cut(type, quoteLengthMax)})`}`;
  }
  if (text === '') return '';
  const words = cut(text, quoteLengthMax);
  return `; its response ${isPart ? 'says' : verb} ${words.includes('"') ? words : `"${words}"`}`;
}

function deliveryClause({ deliveryId }: FailedAttempt): string {
  return deliveryId === undefined ? '' : `; the request had X-Service-Delivery ${deliveryId}`;
}

function sizeText(bytes: number | undefined): string {
  if (bytes === undefined) return 'of this size';
  return bytes < 1_000 ? `of ${bytes} bytes` : `of ${Math.round(bytes / 1_000)} kB`;
}

function secondsText(ms: number): string {
  return ms < 950 ? `${Math.round(ms / 100) * 100} ms` : `${Math.round(ms / 1_000)} s`;
}

/** Formats a time as `16 Nov 2026 21:04:07 UTC`, with the date and the zone because readers can be anywhere. */
function timeText(at: Date): string {
  const [, day, month, year, time] = at.toUTCString().split(' ');
  return `${Number(day)} ${month} ${year} ${time} UTC`;
}
