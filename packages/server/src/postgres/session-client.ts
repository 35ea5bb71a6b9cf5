import pg from 'pg';

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
