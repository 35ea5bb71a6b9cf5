import { createAddressPolicy, judgeUrlHost } from '../values/address.js';
import type { Evidence } from './evidence.js';

/** Describes what happened and what to do. */
type Sentences = readonly [detail: string, remedy: string];

const say = (...sentences: Sentences): Sentences => sentences;

const fromAuthority = 'Use a certificate from a public certificate authority.';

/** Explains why TLS failed and what to do about it. */
export function explainTls(evidence: Evidence | null, host: string, place: string): Sentences {
  const { code = '', message } = evidence ?? {};
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return say(`The certificate of ${host} expired${onDay(evidence?.ended)}.`, 'Renew the certificate.');
    case 'CERT_NOT_YET_VALID':
      return say(
        `The certificate of ${host} is not valid yet.`,
        'Use the previous certificate until the new one is valid, or check the clock of the server that issued it.',
      );
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
      return say(`The certificate of ${host} is self-signed.`, fromAuthority);
    case 'SELF_SIGNED_CERT_IN_CHAIN':
      return say(`The certificate of ${host} was issued by a private certificate authority.`, fromAuthority);
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return say(
        `The certificate of ${host} was issued by an unknown certificate authority, or its chain is incomplete.`,
        'Configure the server to send the full chain, including intermediate certificates.',
      );
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return say(
        `The certificate is for ${namesIn(evidence?.names)}, not for ${host}.`,
        `Use a certificate for ${host}, or correct the host in the URL.`,
      );
    case 'CERT_REVOKED':
      return say(`The certificate of ${host} was revoked.`, 'Replace the certificate.');
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
    case 'ERR_SSL_HTTP_REQUEST':
      return say(
        `${place} does not use TLS. It probably expects plain HTTP.`,
        allowsPlainHttp(host)
          ? 'Use http:// in the URL, correct its port, or enable TLS on that port.'
          : 'Correct the port in the URL, or enable TLS on that port.',
      );
  }
  // A receiver that requires a client certificate may also close the connection before its TLS alert arrives.
  if (/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/.test(code)) {
    return say(
      `${place} closed the connection during the TLS handshake.`,
      `Check that the server behind it is running, that it has a certificate for ${host}, and that it requires no client certificate.`,
    );
  }
  if (/ALERT_.*CERTIFICATE/.test(code)) {
    return say(
      `${place} requires a client certificate.`,
      'Do not require a client certificate for webhooks: requests are signed instead.',
    );
  }
  if (/PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|VERSION_TOO_LOW/.test(code)) {
    return say(`${place} offers only TLS versions that are no longer secure.`, 'Enable TLS 1.2 or 1.3.');
  }
  if (/HANDSHAKE_FAILURE|NO_SHARED_CIPHER|NO_CIPHERS/.test(code)) {
    return say(
      `${place} refused the TLS handshake: it supports none of the offered ciphers, or it requires a client certificate.`,
      'Allow the standard TLS 1.2 and 1.3 ciphers, and do not require a client certificate.',
    );
  }
  const reason = message === undefined || message === '' ? '' : `: ${message}`;
  return say(
    `The TLS connection to ${place} failed${reason}.`,
    `Check the TLS settings and the certificate of ${host}, for example with openssl s_client.`,
  );
}

/** Explains a connection whose TLS handshake took too long. */
export function explainTlsTimeout(place: string, time: string): Sentences {
  return say(
    `${place} accepted the connection, but the TLS handshake did not finish within ${time}.`,
    'Check that this port speaks TLS, and that any proxy in front of the receiver is working.',
  );
}

/** Returns a sentence for the remedy if a connection without TLS failed: the port may expect TLS. */
export function tlsHint(url: URL): string {
  return url.protocol === 'http:' ? ' If this port expects TLS, use https in the URL.' : '';
}

/** What nginx, Apache and Go respond with if a request without TLS arrives on a port that expects TLS. */
const expectsTls =
  /plain HTTP request was sent to HTTPS port|speaking plain HTTP to an SSL-enabled|HTTP request to an HTTPS server/i;

/** Returns what to do if the response says that the port expects TLS. */
export function tlsRemedy(url: URL, response: string | null): string | undefined {
  return url.protocol === 'http:' && expectsTls.test(response ?? '')
    ? 'This port expects TLS. Use https in the URL.'
    : undefined;
}

const nothingListed = createAddressPolicy([]);

/**
 * Returns whether the operator is known to allow plain http for a host that the service connected to. A host that is
 * not public can be reached only if it is on the operator's list, and plain http is allowed for every address there.
 */
function allowsPlainHttp(host: string): boolean {
  return judgeUrlHost(host, nothingListed) === 'blocked';
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
