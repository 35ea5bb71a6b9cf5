import pg from 'pg';
import type { DatabaseTarget } from './database.js';

const againMs = 1_000;
const connectMsMax = 2_000;

/** Listens for notifications on its own connection. If it cannot connect, there are no notifications. */
export class NotificationListener {
  readonly #target: DatabaseTarget;
  readonly #channel: string;
  readonly #onNotification: (payload: string) => void;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(target: DatabaseTarget, channel: string, onNotification: (payload: string) => void) {
    this.#target = target;
    this.#channel = channel;
    this.#onNotification = onNotification;
  }

  async start(): Promise<void> {
    if (this.#stopped) return;
    const client = new pg.Client({
      ...this.#target,
      application_name: 'posthorn listener',
      keepAlive: true,
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
    } catch {
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
