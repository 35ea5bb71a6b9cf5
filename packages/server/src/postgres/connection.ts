import { connect } from 'node:net';
import pg from 'pg';

/**
 * An idle connection that the network has silently dropped is detected soon after this time, not only after the usual
 * two hours.
 */
export const keepAlive: Pick<pg.ClientConfig, 'keepAlive' | 'keepAliveInitialDelayMillis'> = {
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
};

/**
 * The settings that results depend on; the database or the role may have different ones. These settings are part of the
 * message that opens a connection, so they take no round trip, and poolers track them for each client. The order of
 * month and day does not matter to us, but PgBouncer compares this value with the one that PostgreSQL reports.
 */
const settings = { DateStyle: 'ISO, MDY', TimeZone: 'UTC' };

/** The driver's types do not include this method. */
interface StartupClient extends pg.Client {
  getStartupConf(): Record<string, string>;
}

/** A connection whose settings do not depend on those of the database and the role. */
export class SessionClient extends (pg.Client as unknown as new (config?: pg.ClientConfig) => StartupClient) {
  readonly openedAtMs = performance.now();

  override getStartupConf(): Record<string, string> {
    return { ...super.getStartupConf(), ...settings };
  }
}

const cancelRequest = 80_877_102;
const cancelMsMax = 2_000;

/**
 * Asks the server to cancel the running statement of a connection. Closing the connection is not enough: PostgreSQL
 * notices that only when it sends something, so a statement that waits for a lock would keep waiting, and so would
 * every retry of it.
 */
export function cancelStatement(client: pg.Client): void {
  const { host, port, processID, secretKey } = client as pg.Client & { processID: number; secretKey: number };
  const request = Buffer.alloc(16);
  request.writeInt32BE(request.length, 0);
  request.writeInt32BE(cancelRequest, 4);
  request.writeInt32BE(processID, 8);
  request.writeInt32BE(secretKey, 12);
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  // Best effort: if the server cannot be reached, the statement keeps running.
  socket.on('error', () => undefined);
  socket.setTimeout(cancelMsMax, () => socket.destroy());
  socket.end(request);
}

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
