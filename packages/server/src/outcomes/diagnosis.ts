import * as attempts from './failed-attempt.js';
import { cut, printable } from './outcome.js';
import { checkSecretAndBody, newSecret, refusalRemedy, rotatedSecret } from './response-words.js';

/** Explains why an attempt failed and what to do about it, in one or two sentences each. */
export interface Diagnosis {
  error_detail: string;
  remedy: string;
}

/** Which attempts a row of the table explains, and how. `{name}` stands for one of the `facts` of the attempt. */
interface Row {
  /** A delivery error, alone or with the code in the evidence, a status, or a range of statuses. Absent: anything. */
  on?: string | RegExp | number | readonly [first: number, last: number];
  when?: (attempt: attempts.FailedAttempt) => boolean;
  detail: string;
  remedy: string;
  /** Whether a reason in the response decides what to do, if there is one. */
  listens?: true;
}

const fromAuthority = 'Use a certificate from a public certificate authority.';
const publicAddress = 'Use a public address, or ask the operator to allow that network.';
const correctGone = 'If the receiver still exists, correct its response or the URL';
const redirected = 'The receiver redirected to {target} (status {status}). Redirects are not followed.';
const refused = 'The receiver refused the request with {status}{says}.';
const rejected = 'The receiver rejected the request with {status}{says}.';

/** The first row that matches explains the attempt. */
const table: readonly Row[] = [
  {
    on: 'dns',
    detail: '{host} does not resolve.',
    remedy: 'Check the host name. A new DNS record can take a few minutes to propagate.',
  },
  {
    on: /^connect ECONNREFUSED$/,
    detail: 'Nothing is listening on {place}{tried}.',
    remedy: 'Start the receiver, or correct the port in the URL.',
  },
  {
    on: /^connect E(HOST|NET)(UNREACH|DOWN)$/,
    detail: 'There is no route to {place}.',
    remedy: 'Check that the receiver is online and that its address in DNS is current.',
  },
  {
    on: 'connect',
    detail: 'Could not connect to {place}.',
    remedy: 'Check that the receiver is running and can be reached from the internet.',
  },
  {
    on: /^tls CERT_HAS_EXPIRED$/,
    detail: 'The certificate of {host} expired{onDay}.',
    remedy: 'Renew the certificate.',
  },
  {
    on: /^tls CERT_NOT_YET_VALID$/,
    detail: 'The certificate of {host} is not valid yet.',
    remedy:
      'Use the previous certificate until the new one is valid, or check the clock of the server that issued it.',
  },
  {
    on: /^tls DEPTH_ZERO_SELF_SIGNED_CERT$/,
    detail: 'The certificate of {host} is self-signed.',
    remedy: fromAuthority,
  },
  {
    on: /^tls SELF_SIGNED_CERT_IN_CHAIN$/,
    detail: 'The certificate of {host} was issued by a private certificate authority.',
    remedy: fromAuthority,
  },
  {
    on: /^tls UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?)$/,
    detail:
      'The certificate of {host} was issued by an unknown certificate authority, or its chain is incomplete.',
    remedy: 'Configure the server to send the full chain, including intermediate certificates.',
  },
  {
    on: /^tls ERR_TLS_CERT_ALTNAME_INVALID$/,
    detail: 'The certificate is for {names}, not for {host}.',
    remedy: 'Use a certificate for {host}, or correct the host in the URL.',
  },
  {
    on: /^tls CERT_REVOKED$/,
    detail: 'The certificate of {host} was revoked.',
    remedy: 'Replace the certificate.',
  },
  {
    on: /^tls ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)$/,
    detail: '{place} does not use TLS. It probably expects plain HTTP.',
    remedy: '{rightPort}, or enable TLS on that port.',
  },
  // A receiver that requires a client certificate may also close the connection before its TLS alert arrives.
  {
    on: /^tls (ECONNRESET|EPIPE|UND_ERR_SOCKET)$/,
    detail: '{place} closed the connection during the TLS handshake.',
    remedy:
      'Check that the server behind it is running, that it has a certificate for {host}, and that it requires no client certificate.',
  },
  {
    on: /^tls .*ALERT_.*CERTIFICATE/,
    detail: '{place} requires a client certificate.',
    remedy: 'Do not require a client certificate for webhooks: requests are signed instead.',
  },
  {
    on: /^tls .*(PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|VERSION_TOO_LOW)/,
    detail: '{place} offers only TLS versions that are no longer secure.',
    remedy: 'Enable TLS 1.2 or 1.3.',
  },
  {
    on: /^tls .*(HANDSHAKE_FAILURE|NO_SHARED_CIPHER|NO_CIPHERS)/,
    detail:
      '{place} refused the TLS handshake: it supports none of the offered ciphers, or it requires a client certificate.',
    remedy: 'Allow the standard TLS 1.2 and 1.3 ciphers, and do not require a client certificate.',
  },
  {
    on: 'tls',
    detail: 'The TLS connection to {place} failed{reason}.',
    remedy: 'Check the TLS settings and the certificate of {host}, for example with openssl s_client.',
  },
  {
    on: /^timeout connect_timeout$/,
    detail: 'No connection to {place} within {time}.',
    remedy: 'A firewall may be dropping the requests. Allow the addresses that the service sends from.',
  },
  {
    on: /^timeout tls_timeout$/,
    detail: '{place} accepted the connection, but the TLS handshake did not finish within {time}.',
    remedy: 'Check that this port speaks TLS, and that any proxy in front of the receiver is working.',
  },
  {
    on: 'timeout',
    when: ({ purpose }) => purpose === 'verification',
    detail: 'No response within {time}.',
    remedy: 'Respond with 200 before you do anything slow.',
  },
  {
    on: 'timeout',
    detail: 'No response within {time}.',
    remedy: 'Store the event, respond with 2xx, then do the slow work.',
  },
  {
    on: 'reset',
    detail: 'The connection to {place} was closed before a response arrived.',
    remedy:
      'Check whether the receiver, or a proxy in front of it, crashed or restarted, or rejects large requests.{tlsHint}',
  },
  {
    on: /^protocol UND_ERR_HEADERS_OVERFLOW$/,
    detail: 'The headers of the response from {place} are larger than 16 KiB.',
    remedy: 'Send fewer or shorter headers, for example fewer cookies.',
  },
  {
    on: 'protocol',
    // The HTTP client's message for a 101 response.
    when: ({ evidence }) => evidence?.message === 'bad upgrade',
    detail: 'The receiver at {place} asked to switch protocols (status 101).',
    remedy: 'Respond with a final status. Webhook requests never ask for another protocol.',
  },
  {
    on: 'protocol',
    detail: 'The response from {place} was not HTTP/1.1.',
    remedy:
      'Check that the port belongs to the web server, and that the server sends a valid status line and headers.',
  },
  {
    on: /^blocked_address plain_http$/,
    detail: 'The URL uses http, which the operator does not allow for {host}.',
    remedy: 'Use an https URL.',
  },
  {
    on: 'blocked_address',
    when: ({ evidence }) => evidence?.address === undefined,
    detail: '{host} resolves to an address that is not public.',
    remedy: publicAddress,
  },
  {
    on: 'blocked_address',
    when: (attempt) => attempt.evidence?.address === attempts.facts.host(attempt).replace(/^\[|\]$/g, ''),
    detail: '{address} is not a public address.',
    remedy: publicAddress,
  },
  {
    on: 'blocked_address',
    detail: '{host} resolves to {address}, which is not a public address.',
    remedy: publicAddress,
  },
  {
    on: [200, 299],
    detail: 'Verification needs exactly 200, but the receiver responded with {status}.',
    remedy: 'Respond with 200 to webhook.verification.',
  },
  {
    on: [300, 399],
    when: (attempt) => attempts.redirectTarget(attempt) === undefined,
    detail:
      'The receiver responded with {status} but without a valid redirect target. Redirects are not followed.',
    remedy: 'Respond with {success} at this URL.',
  },
  {
    on: [300, 399],
    when: (attempt) => attempts.redirectTarget(attempt) === attempts.sentTo(attempt).href,
    detail: redirected,
    remedy: 'That is the URL of the webhook. Respond with {success} instead of a redirect.',
  },
  {
    on: [300, 399],
    when: (attempt) =>
      /\/(log-?in|sign-?in|sso|oauth2?|auth)\b/i.test(attempts.redirectTarget(attempt) ?? ''),
    detail: redirected,
    remedy: 'Do not require a login for the URL of the webhook: requests are signed instead.',
  },
  { on: [300, 399], detail: redirected, remedy: 'Change the URL to that address.' },
  {
    on: 401,
    when: ({ evidence }) => /^basic$/i.test(evidence?.challenge ?? ''),
    detail: 'A proxy or the server asks for a login (status 401, WWW-Authenticate: Basic).',
    remedy:
      'Exempt this path from the login: requests are signed instead. Or give the webhook an Authorization header.',
  },
  { on: 401, listens: true, detail: refused, remedy: checkSecretAndBody },
  {
    on: 403,
    listens: true,
    detail: refused,
    remedy: `${checkSecretAndBody} If a login check, a CSRF check or a firewall refused the request, exempt this path from it.`,
  },
  {
    on: 404,
    detail: 'There is no handler for POST {path} (status 404).',
    remedy: 'Correct the path in the URL, or add a handler for it.',
  },
  {
    on: 405,
    detail: 'There is no handler for POST {path} (status 405).',
    remedy: 'Accept POST requests at this path, or correct the path in the URL.',
  },
  {
    on: 408,
    detail: 'The receiver gave up waiting for the request (status 408).',
    remedy: 'Raise the timeout for reading a request in the receiver or its proxy.',
  },
  {
    on: 410,
    when: ({ purpose }) => purpose === 'delivery',
    detail: 'The receiver responded with 410 Gone, which disables a webhook.',
    remedy: `${correctGone}, then activate the webhook.`,
  },
  { on: 410, detail: 'The receiver responded with 410 Gone.', remedy: `${correctGone}.` },
  {
    on: 413,
    detail: 'The receiver does not accept a body {size} (status 413).',
    remedy:
      'Raise the limit for request bodies in the receiver and in any proxy in front of it, then resend the event.',
  },
  {
    on: 415,
    detail: 'The receiver does not accept application/json (status 415).',
    remedy: 'Accept requests with the content type application/json.',
  },
  ...[502, 503, 504].map((on) => ({
    on,
    when: attempts.isFromProxy,
    detail:
      'The proxy ({server}) responded with {status}: the application behind it is down or does not respond.',
    remedy: 'Start the application, or correct the address to which the proxy forwards requests.',
  })),
  ...[429, 503].map((on) => ({ on, detail: '{wait} (status {status}){sooner}.', remedy: '{waitRemedy}' })),
  {
    on: [400, 499],
    when: attempts.expectsTls,
    listens: true,
    detail: rejected,
    remedy: 'This port expects TLS. Use https in the URL.',
  },
  {
    on: [400, 499],
    listens: true,
    detail: rejected,
    remedy: 'Check what the receiver expects in a request. {anySuccess} counts as success.',
  },
  {
    on: [500, 599],
    listens: true,
    detail: 'The receiver failed with {status}{begins}.',
    remedy: 'Look at its logs around {at}{delivery}.',
  },
  {
    on: [0, Number.POSITIVE_INFINITY],
    detail: 'The receiver responded with {status}, which is not an HTTP status.',
    remedy: 'Respond with {success} when the request is accepted.',
  },
  { detail: 'The attempt got no response.', remedy: 'Check that the receiver is running.' },
];

const textLengthMax = 500;

/**
 * Explains what happened in a failed attempt and what to do about it. The API, the console, the command line and the
 * docs all show these sentences. The receiver's response is quoted, shortened and put on one line.
 */
export function diagnose(attempt: attempts.FailedAttempt): Diagnosis {
  const row = table.find((one) => explains(one, attempt))!;
  const given = (row.listens && refusalRemedy(attempt.response)) || row.remedy;
  const isAtCreation = attempt.purpose === 'verification' && attempt.isAtCreation;
  const likely = isAtCreation ? newSecret : attempts.isSecretNew(attempt) ? rotatedSecret : given;
  const remedy = given.startsWith(checkSecretAndBody) ? likely : given;
  return { error_detail: filled(row.detail, attempt), remedy: filled(remedy, attempt) };
}

function explains({ on, when }: Row, attempt: attempts.FailedAttempt): boolean {
  const { http_status, error, evidence } = attempt;
  const isMeant =
    on instanceof RegExp
      ? on.test(`${error} ${evidence?.code}`)
      : typeof on === 'object'
        ? http_status !== null && http_status >= on[0] && http_status <= on[1]
        : on === undefined || on === (http_status ?? error);
  return isMeant && (when?.(attempt) ?? true);
}

function filled(text: string, attempt: attempts.FailedAttempt): string {
  const full = text.replaceAll(/\{(\w+)\}/g, (_, name: keyof typeof attempts.facts) =>
    attempts.facts[name](attempt),
  );
  return cut(printable(full), textLengthMax);
}
