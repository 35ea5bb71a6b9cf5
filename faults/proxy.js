import { connect, createServer } from 'node:net';

/**
 * Stands between the nodes and their PostgreSQL. It can refuse, silence and slow down connections, switch to another
 * server, and stop one connection at a named point of a statement.
 */
export class PostgresProxy {
  #server;
  #links = new Set();
  #state = 'open';
  #watch;
  /** How long each piece of data is delayed, in each direction. */
  delayMs = () => 0;
  /** The socket of the PostgreSQL behind this proxy. */
  target;

  constructor(target) {
    this.target = target;
    this.#server = createServer((inbound) => this.#accept(inbound));
  }

  static async open(target) {
    const proxy = new PostgresProxy(target);
    await new Promise((listening) => proxy.#server.listen(0, '127.0.0.1', listening));
    return proxy;
  }

  get url() {
    return `postgres://posthorn@127.0.0.1:${this.#server.address().port}/posthorn`;
  }

  #accept(inbound) {
    inbound.on('error', () => undefined);
    if (this.#state === 'refusing') {
      inbound.destroy();
      return;
    }
    const link = new Link(inbound, connect(this.target), this);
    this.#links.add(link);
    inbound.once('close', () => this.#links.delete(link));
  }

  get isSilent() {
    return this.#state === 'silent';
  }

  /** Breaks all connections. */
  breakAll() {
    for (const link of this.#links) link.cut();
  }

  /** Breaks all connections and refuses new ones. */
  refuse() {
    this.#state = 'refusing';
    this.breakAll();
  }

  /** Stops forwarding, without closing a connection. */
  silence() {
    this.#state = 'silent';
  }

  /** Breaks all connections and lets new ones through. */
  heal() {
    this.#state = 'open';
    this.delayMs = () => 0;
    this.breakAll();
  }

  /**
   * Waits for the next statement with this name, and stops its connection:
   * - `before`: PostgreSQL has not seen the statement.
   * - `middle`: PostgreSQL has half of it.
   * - `after`: PostgreSQL has committed it, and the node does not know.
   *
   * With `containing`, only a statement that has this text in its values counts.
   */
  stopAt(statement, moment, containing = '') {
    return new Promise((reached) => {
      this.#watch = { statement, moment, containing, reached };
    });
  }

  /** Returns what to stop at if this data starts the statement that is waited for. */
  take(data) {
    const watch = this.#watch;
    if (watch === undefined) return undefined;
    if (!data.includes(`${watch.statement}\0`) || !data.includes(watch.containing)) return undefined;
    this.#watch = undefined;
    return watch;
  }

  async close() {
    this.refuse();
    await new Promise((closed) => this.#server.close(closed));
  }
}

/** One connection of a node. */
class Link {
  #inbound;
  #outbound;
  #proxy;
  #stopped = false;
  /** Set once a statement was passed on whose response is withheld. */
  #withheld;

  constructor(inbound, outbound, proxy) {
    this.#inbound = inbound;
    this.#outbound = outbound;
    this.#proxy = proxy;
    outbound.on('error', () => undefined);
    inbound.once('close', () => outbound.destroy());
    outbound.once('close', () => inbound.destroy());
    inbound.on(
      'data',
      this.#delayed((data) => this.#toServer(data)),
    );
    outbound.on(
      'data',
      this.#delayed((data) => this.#toNode(data)),
    );
  }

  /** Delays data without changing its order. */
  #delayed(pass) {
    let last = Promise.resolve();
    let waiting = 0;
    return (data) => {
      const ms = this.#proxy.delayMs();
      if (ms === 0 && waiting === 0) {
        pass(data);
        return;
      }
      waiting += 1;
      last = last
        .then(() => new Promise((waited) => setTimeout(waited, ms)))
        .then(() => {
          waiting -= 1;
          pass(data);
        });
    };
  }

  #toServer(data) {
    if (this.#stopped || this.#proxy.isSilent) return;
    const watch = this.#proxy.take(data);
    if (watch?.moment === 'after') this.#withheld = { watch, response: Buffer.alloc(0) };
    if (watch === undefined || watch.moment === 'after') {
      this.#outbound.write(data);
      return;
    }
    this.#stopped = true;
    if (watch.moment === 'before') watch.reached(this);
    else this.#outbound.write(data.subarray(0, data.length >> 1), () => watch.reached(this));
  }

  #toNode(data) {
    if (this.#stopped || this.#proxy.isSilent) return;
    if (this.#withheld === undefined) {
      this.#inbound.write(data);
      return;
    }
    const response = Buffer.concat([this.#withheld.response, data]);
    this.#withheld.response = response;
    if (!isComplete(response)) return;
    this.#stopped = true;
    this.#withheld.watch.reached(this);
  }

  /** Breaks the connection on both sides. */
  cut() {
    this.#inbound.destroy();
    this.#outbound.destroy();
  }
}

/** PostgreSQL ends each response with ReadyForQuery, which it sends after the commit. */
function isComplete(response) {
  const tail = response.subarray(-6);
  return tail.length === 6 && tail[0] === 0x5a && tail.readUInt32BE(1) === 5;
}
