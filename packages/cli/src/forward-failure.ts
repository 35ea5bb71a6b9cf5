import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** Why a request got no response, in a sentence without its period, and what to do about it. */
export interface ForwardFailure {
  error: string;
  remedy: string;
}

const say = (error: string, remedy: string): ForwardFailure => ({ error, remedy });

/** Explains a request that took too long, given how far its connection got. */
export function explainTimeout(socket: Socket | null, url: URL, time: string): ForwardFailure {
  if (socket === null || socket.connecting)
    return say(
      `no connection to ${url.host} within ${time}`,
      'Check the host and the port in the URL. A firewall may be dropping the requests.',
    );
  if (socket instanceof TLSSocket && socket.getPeerFinished() === undefined)
    return say(
      `${url.host} accepted the connection, but the TLS handshake did not finish within ${time}`,
      'Check that this port speaks TLS, and that any proxy in front of the receiver is working.',
    );
  return say(`no response within ${time}`, 'Store the event, respond with 2xx, then do the slow work.');
}

/** Explains an error of Node's HTTP client, in the words that the service uses for deliveries. */
export function explainError(error: NodeJS.ErrnoException, url: URL): ForwardFailure {
  const { code = '', message } = error;
  switch (code) {
    case 'ECONNREFUSED':
      return say(
        `connection refused: nothing is listening on ${url.host}`,
        'Start the receiver, or correct the port in the URL.',
      );
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return say(`${url.hostname} does not resolve`, 'Check the host name.');
    case 'ETIMEDOUT':
      return explainTimeout(null, url, 'the time that the system allows');
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EHOSTDOWN':
    case 'ENETDOWN':
      return say(`there is no route to ${url.host}`, 'Check that the receiver is online.');
    case 'ECONNRESET':
    case 'EPIPE':
      return message.includes('before secure TLS connection')
        ? say(
            `${url.host} closed the connection during the TLS handshake`,
            'Check that this port speaks TLS, and that any proxy in front of the receiver is working.',
          )
        : say(
            'the receiver closed the connection without a response',
            'Check whether the receiver, or a proxy in front of it, crashed or restarted.',
          );
    case 'HPE_HEADER_OVERFLOW':
      return say(
        'the headers of the response are larger than 16 KiB',
        'Send fewer or shorter headers, for example fewer cookies.',
      );
  }
  if (code.startsWith('HPE_'))
    return say(
      `the response was not HTTP/1.1 (${message})`,
      'Check that the port belongs to the web server, and that the server sends a valid status line and headers.',
    );
  return (
    explainTls(error, url) ??
    say(message || code || 'unknown error', 'Check that the URL is correct and that the receiver is running.')
  );
}

const trusting = (what: string) =>
  `Set NODE_EXTRA_CA_CERTS to a PEM file with ${what}, or send to an http URL.`;

/** What Node adds to TLS errors. */
interface TlsError extends NodeJS.ErrnoException {
  reason?: string;
  cert?: { subjectaltname?: string };
}

function explainTls(
  { code = '', message, reason = message, cert }: TlsError,
  { host, hostname }: URL,
): ForwardFailure | undefined {
  switch (code) {
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
      return say(`the certificate of ${hostname} is self-signed`, trusting('this certificate'));
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return say(
        `the certificate of ${hostname} was issued by a certificate authority that this machine does not trust, or its chain is incomplete`,
        trusting('the certificate of that authority'),
      );
    case 'CERT_HAS_EXPIRED':
      return say(`the certificate of ${hostname} has expired`, 'Renew the certificate.');
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return say(
        `the certificate is for ${namesIn(cert?.subjectaltname)}, not for ${hostname}`,
        `Use a certificate for ${hostname}, or correct the host in the URL.`,
      );
  }
  if (!/^(ERR_TLS|ERR_SSL|ERR_OSSL|EPROTO|CERT_)/.test(code)) return undefined;
  return /wrong version|packet length|http request/i.test(reason)
    ? say(`${host} does not use TLS`, 'Send to an http URL, or correct the port in the URL.')
    : say(`the TLS connection to ${host} failed: ${reason}`, `Check the TLS settings of ${hostname}.`);
}

function namesIn(altNames: string | undefined): string {
  return altNames?.replaceAll(/\b(DNS|IP Address):/g, '') || 'another host';
}
