import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterFile } from './cleanup.js';

/** Stands between the service and its PostgreSQL, and can part them. */
export class PostgresProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #state: 'open' | 'refusing' | 'silent' | 'mute' = 'open';
  #loseFrom: string | undefined;
  url = '';

  private constructor(
    target: { path: string } | { host: string; port: number },
    turnsAway: RegExp | undefined,
  ) {
    this.#server = createServer((inbound) => {
      this.#hold(inbound);
      inbound.once('data', (startup) => turnsAway?.test(startup.toString('latin1')) && inbound.destroy());
      if (this.#state === 'refusing') inbound.destroy();
      // A network that drops packets accepts nothing either; a connection that stays mute comes near enough.
      if (this.#state !== 'open') return;
      const outbound = this.#hold(connect(target as { path: string }));
      inbound.on('data', (chunk) => ['open', 'mute'].includes(this.#state) && outbound.write(chunk));
      outbound.on('data', (chunk) => {
        if (this.#loseFrom !== undefined && chunk.includes(this.#loseFrom)) this.loseResponses();
        if (this.#state === 'open') inbound.write(chunk);
      });
      inbound.once('close', () => outbound.destroy());
      outbound.once('close', () => inbound.destroy());
    });
  }

  /** A proxy for this database, closed after the test file. `turnsAway`: whose start-up message has this. */
  static async open(databaseUrl: string, turnsAway?: RegExp): Promise<PostgresProxy> {
    const [, user = '', address = '', name = '', rest = ''] =
      /^postgres(?:ql)?:\/\/([^/?]*@)?([^/?]*)\/([^?]*)(?:\?(.*))?$/.exec(databaseUrl) ?? [];
    const parameters = new URLSearchParams(rest);
    const [hostName, hostPort] = address.split(':');
    const host = parameters.get('host') ?? (hostName || '127.0.0.1');
    const port = Number(parameters.get('port') ?? hostPort ?? 5432);
    const proxy = new PostgresProxy(
      host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port },
      turnsAway,
    );
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    const { port: ownPort } = proxy.#server.address() as { port: number };
    proxy.url = `postgres://${user}127.0.0.1:${ownPort}/${name}`;
    afterFile(() => proxy.#close());
    return proxy;
  }

  /** Breaks all connections and refuses new ones. */
  cut(): void {
    this.#state = 'refusing';
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Lets nothing through any more, without a word. */
  silence(): void {
    this.#state = 'silent';
  }

  /** Statements still arrive and are carried out; what the database returns is lost. */
  loseResponses(): void {
    this.#state = 'mute';
  }

  /** The same, from the first response that contains this text. */
  loseResponsesFrom(text: string): void {
    this.#loseFrom = text;
  }

  heal(): void {
    this.#state = 'open';
    this.#loseFrom = undefined;
    for (const socket of this.#sockets) socket.destroy();
  }

  #hold(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }

  #close(): Promise<void> {
    this.cut();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}
