import pg from 'pg';
import type { Logger } from 'pino';
import { keepAlive } from './connection.js';
import type { DatabaseTarget } from './database.js';

const againMs = 1_000;
const connectMsMax = 2_000;

/**
 * Listens for notifications on its own connection. If it cannot connect, there are no notifications. Logs when such a
 * failure begins and when it ends.
 */
export class NotificationListener {
  readonly #target: DatabaseTarget;
  readonly #channel: string;
  readonly #onNotification: (payload: string) => void;
  readonly #logger: Logger | undefined;
  #isFailing = false;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(
    target: DatabaseTarget,
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
