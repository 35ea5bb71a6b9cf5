import type { AttemptError, FailureDetail } from '../outcomes/outcome.js';
import { BlockedAddressError, NameNotResolvedError } from './guard.js';

/** Error codes for problems on this machine, not at the receiver. */
const outOfResourcesCodes = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);
const connectCodes = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EHOSTDOWN',
  'ENETDOWN',
]);
const timeoutCodes = new Set([
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);
const tlsCode =
  /^(ERR_TLS|ERR_SSL|ERR_OSSL|EPROTO|CERT_|CRL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|ERROR_IN_C|UNSUITABLE_|UNSPECIFIED)/;
const protocolCode = /^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_|UND_ERR_RESPONSE|UND_ERR_INFO)/;

/** Returns whether this machine has no file descriptor or memory left for another connection. */
export function isOutOfResources(error: Error): boolean {
  return outOfResourcesCodes.has(codeOf(error));
}

/** Returns the error code that the API shows for an attempt that got no status. */
export function attemptError(error: Error): AttemptError {
  if (error instanceof BlockedAddressError) return 'blocked_address';
  if (error instanceof NameNotResolvedError) return 'dns';
  const code = codeOf(error);
  if (timeoutCodes.has(code)) return 'timeout';
  if (connectCodes.has(code)) return 'connect';
  if (tlsCode.test(code) || /TLS|SSL/.test(error.message)) return 'tls';
  if (protocolCode.test(code) || error.name === 'HTTPParserError') return 'protocol';
  // undici's messages for a 101 or 100 response that was not requested.
  if (/^bad (upgrade|response)$/.test(error.message)) return 'protocol';
  if (error instanceof AggregateError && error.errors[0] instanceof Error)
    return attemptError(error.errors[0]);
  return 'reset';
}

/** What Node attaches to TLS errors in addition to the code. */
interface TlsError extends NodeJS.ErrnoException {
  reason?: string;
  cert?: { subjectaltname?: string; valid_to?: string };
}

/** Returns what the network or TLS reported, to explain the failure later. */
export function failureDetail(error: Error): FailureDetail {
  const { message, reason, cert } = error as TlsError;
  return {
    code: codeOf(error) || undefined,
    // OpenSSL's message contains memory addresses and source lines. Its reason is the readable part.
    message: reason ?? message,
    altNames: cert?.subjectaltname,
    validTo: cert?.valid_to,
    address: error instanceof BlockedAddressError ? error.address : undefined,
  };
}

/** Time ran out before a TCP connection was open, so the receiver never saw the request. */
export const connectTimeout: FailureDetail = {
  code: 'connect_timeout',
  message: 'no connection in time',
  altNames: undefined,
  validTo: undefined,
  address: undefined,
};

/** Time ran out during the TLS handshake: there was a TCP connection, but the receiver never saw the request. */
export const tlsTimeout: FailureDetail = {
  ...connectTimeout,
  code: 'tls_timeout',
  message: 'no TLS handshake in time',
};

function codeOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}
