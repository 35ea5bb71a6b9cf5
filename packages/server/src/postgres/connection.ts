import { connect } from 'node:net';
import pg from 'pg';
import type { Logger } from 'pino';

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

const jsonOid = 114;
const bigintOid = 20;
const timestamptzOid = 1184;

/** Returns a parser for timestamps. All rows of a batch have the same time, so the parser caches its last result. */
function timeParser(): (text: string) => Date {
  const parse = pg.types.getTypeParser(timestamptzOid) as (text: string) => Date;
  let last = { text: '', date: new Date(0) };
  return (text) => {
    if (text !== last.text) last = { text, date: parse(text) };
    return last.date;
  };
}

const parseTime = timeParser();

/** How the values of a row are read. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') => {
    // Payloads are returned exactly as recorded; parsing would round numbers and reorder keys.
    if (oid === jsonOid) return (text: string) => text;
    if (oid === bigintOid) return Number;
    if (oid === timestamptzOid) return parseTime;
    return pg.types.getTypeParser(oid, format);
  }) as pg.CustomTypesConfig['getTypeParser'],
};

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

const againMs = 1_000;
const connectMsMax = 2_000;

/**
 * Listens for notifications on its own connection. If it cannot connect, there are no notifications. Logs when such a
 * failure begins and when it ends.
 */
export class NotificationListener {
  readonly #target: pg.ClientConfig;
  readonly #channel: string;
  readonly #onNotification: (payload: string) => void;
  readonly #logger: Logger | undefined;
  #isFailing = false;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(
    target: pg.ClientConfig,
    channel: string,
    onNotification: (payload: string) => void,
    logger?: Logger,
  ) {
    this.#logger = logger;
    this.#target = target;
    this.#channel = channel;
    this.#onNotification = onNotification;
  }

  async start(): Promise<void> {
    if (this.#stopped) return;
    const client = new pg.Client({
      ...this.#target,
      application_name: 'posthorn listener',
      ...keepAlive,
      connectionTimeoutMillis: connectMsMax,
    });
    this.#client = client;
    client.on('error', () => undefined);
    client.on('notification', ({ payload }) => this.#onNotification(payload ?? ''));
    client.on('end', () => this.#retry());
    try {
      await client.connect();
      await client.query(`listen ${pg.escapeIdentifier(this.#channel)}`);
      // Something may have been announced before we were listening.
      this.#onNotification('');
      if (this.#isFailing) this.#logger?.info('notifications are being received again');
      this.#isFailing = false;
    } catch (error) {
      const { message: reason } = error as Error;
      if (!this.#isFailing && !this.#stopped)
        this.#logger?.warn(
          { reason },
          'notifications cannot be received; check POSTHORN_DIRECT_DATABASE_URL',
        );
      this.#isFailing = true;
      await client.end().catch(() => undefined);
    }
  }

  #retry(): void {
    if (this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.start(), againMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#client?.end().catch(() => undefined);
  }
}
