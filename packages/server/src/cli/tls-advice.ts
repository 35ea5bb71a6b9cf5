const authorityCodes = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Returns what to do if TLS is why connecting failed. `source` names the setting or option with the URL. */
export function tlsAdvice(error: unknown, source: string): string | undefined {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (authorityCodes.has(code))
    return `If a private authority issued PostgreSQL's certificate, add sslrootcert=/path/to/ca.pem to ${source}.`;
  if (message.includes('does not support SSL'))
    return `Turn on TLS in PostgreSQL, or remove the TLS parameters, such as sslmode, from ${source}.`;
  return undefined;
}
