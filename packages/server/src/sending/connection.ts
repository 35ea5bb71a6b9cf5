import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { Client, type Dispatcher } from 'undici';
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

const digitOne = 0x31;
const digitTwo = 0x32;
const cr = 0x0d;
const lf = 0x0a;

/** `HTTP/1.1 ` comes before the three digits of the status. */
const statusAt = 9;
const statusEnd = statusAt + 3;

/**
 * Turns `100 Continue` into `102 Processing` in the bytes before a response. undici closes a connection on an
 * unexpected 100 but skips a 102, and some receivers and proxies send a 100. One digit changes in place, so nothing
 * is buffered and the bytes may be split anywhere.
 */
export class ContinueFilter {
  /** False once the status is final: the bytes after it are not examined. */
  #isOpen = false;
  /** Bytes of the current head seen so far, up to the end of its status. */
  #seen = 0;
  #status = 0;
  /** How many bytes of the blank line that ends a head have been seen in a row. */
  #blank = 0;

  /** Expects the response to a new request. */
  open(): void {
    this.#isOpen = true;
    this.#nextHead();
  }

  pass(chunk: Buffer): void {
    for (let index = 0; this.#isOpen && index < chunk.length; index += 1) {
      const byte = chunk[index] as number;
      if (this.#seen === statusEnd) {
        this.#blank = byte === (this.#blank % 2 === 0 ? cr : lf) ? this.#blank + 1 : Number(byte === cr);
        if (this.#blank === 4) this.#nextHead();
        continue;
      }
      if (this.#seen === statusAt) this.#isOpen = byte === digitOne;
      if (this.#seen >= statusAt) this.#status = this.#status * 10 + byte - 0x30;
      this.#seen += 1;
      if (this.#seen === statusEnd && this.#status === 100) chunk[index] = digitTwo;
    }
  }

  #nextHead(): void {
    this.#seen = 0;
    this.#status = 0;
    this.#blank = 0;
  }
}
