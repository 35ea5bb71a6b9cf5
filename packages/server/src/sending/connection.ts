import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { Client, type Dispatcher } from 'undici';
import { ContinueFilter } from './continue-filter.js';
import type { GuardedConnector } from './guard.js';

/** After this time, a request on a reused socket is assumed to have reached the receiver, even without a response. */
export const connectionLimits: { readonly staleMs: number } = { staleMs: 1_000 };

/** A request on its way through undici. */
export interface ConnectionRequest extends Dispatcher.DispatchOptions {
  /** The connection that took the request. undici does not pass it to handlers. */
  connection?: Connection;
}

/**
 * One connection to an origin. When its socket is closed, the next request opens another one. Unlike undici's client,
 * it knows what happened to the latest request on its socket.
 */
export class Connection extends Client {
  #socket: Socket | undefined;
  #requests = 0;
  #beganMs = 0;
  #bytesReadBefore = 0;
  #firstError: Error | undefined;
  #wantsCertificate = false;
  readonly #filter = new ContinueFilter();
  readonly #progress = { inTls: false };

  constructor(origin: URL, options: Omit<Client.Options, 'connect'> & { connect: GuardedConnector }) {
    const { connect } = options;
    super(origin, {
      ...options,
      connect: (target, callback) => {
        this.#forget();
        connect({ ...target, progress: this.#progress }, (...result) => {
          if (result[1]) this.#watch(result[1]);
          callback(...result);
        });
      },
    });
    // undici reports exceptions from handlers here. Without a listener, they would end the process.
    (this as EventEmitter).on('error', () => undefined);
  }

  override dispatch(request: ConnectionRequest, handler: Dispatcher.DispatchHandler): boolean {
    request.connection = this;
    return super.dispatch(request, handler);
  }

  /** Notes that a request is about to be written. */
  begin(): void {
    this.#requests += 1;
    this.#beganMs = performance.now();
    this.#bytesReadBefore = this.#socket?.bytesRead ?? 0;
    this.#filter.open();
  }

  /**
   * Returns whether the receiver had probably closed its idle socket before the latest request arrived: the socket was
   * used before, no byte came back, and the request was sent only a moment ago.
   */
  get wasStale(): boolean {
    const isRecent = performance.now() - this.#beganMs < connectionLimits.staleMs;
    return this.#requests > 1 && !this.#hasReceived && isRecent;
  }

  /**
   * Returns whether the receiver asked for a client certificate and then never sent a byte. With TLS 1.3, a server
   * refuses a client only after the handshake, and the reset that follows can overtake the alert.
   */
  get wasRefused(): boolean {
    return this.#wantsCertificate && this.#requests === 1 && !this.#hasReceived;
  }

  /** Returns whether the latest TCP connection is open, but its TLS handshake has not finished. */
  get isInTlsHandshake(): boolean {
    return this.#progress.inTls && this.#socket === undefined;
  }

  /** Returns the error that broke the socket. undici may report a later one, such as a disconnect after a TLS alert. */
  get firstError(): Error | undefined {
    return this.#firstError;
  }

  get #hasReceived(): boolean {
    return (this.#socket?.bytesRead ?? 0) > this.#bytesReadBefore;
  }

  #forget(): void {
    this.#socket = undefined;
    this.#requests = 0;
    this.#firstError = undefined;
    this.#wantsCertificate = false;
    this.#progress.inTls = false;
  }

  #watch(socket: Socket): void {
    this.#socket = socket;
    socket.once('error', (error) => {
      this.#firstError = error;
    });
    this.#wantsCertificate = socket instanceof TLSSocket && wantsCertificate(socket);
    const read = socket.read;
    socket.read = (size) => {
      const chunk = read.call(socket, size);
      if (chunk !== null) this.#filter.pass(chunk);
      return chunk;
    };
  }
}

/** Returns whether the receiver asked for a certificate: only then are shared signature algorithms known. */
function wantsCertificate(socket: TLSSocket): boolean {
  // Null after the socket is destroyed, despite its type.
  const shared: string[] | null = socket.getSharedSigalgs();
  return shared !== null && shared.length > 0;
}
