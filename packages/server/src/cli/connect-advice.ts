const authorityCodes = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * Returns what to do if TLS, the login or the name of the database is why connecting failed. `source` names the setting
 * or option with the URL.
 */
export function connectAdvice(error: unknown, source: string): string | undefined {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (authorityCodes.has(code))
    return `If a private authority issued PostgreSQL's certificate, add sslrootcert=/path/to/ca.pem to ${source}.`;
  if (message.includes('does not support SSL'))
    return `Turn on TLS in PostgreSQL, or remove the TLS parameters, such as sslmode, from ${source}.`;
  if (message.includes('pg_hba.conf')) return `Allow the connection in pg_hba.conf, or correct ${source}.`;
  if (code === '28P01' || code === '28000') return `Correct the user or password in ${source}.`;
  if (code === '3D000') return `Create the database, or correct its name in ${source}.`;
  return undefined;
}
