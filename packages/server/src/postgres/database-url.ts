import pg from 'pg';

/**
 * A URL without a fragment, whose path is only a database name. If a password contains an unescaped /, ? or #, the driver
 * takes the user for the host.
 */
const shape = /^postgres(ql)?:\/\/(?=\S)[^\s/?#]*(\/[^\s/?#@]*)?(\?[^\s#@]*)?$/;

/** Returns whether the driver can use this URL. Reads the certificate files that the URL names. */
export function isDatabaseUrl(text: string): boolean {
  if (!shape.test(text)) return false;
  try {
    const { host } = new pg.Client({ connectionString: text });
    return !host.includes(',');
  } catch {
    return false;
  }
}
