import { fork } from 'node:child_process';
import { keep } from './processes.js';
import { within } from './waiting.js';

const responseMs = 30_000;

/** Communicates with the process of the receivers. */
export class Receivers {
  #child;
  #pending = new Map();
  #next = 0;
  #onArrival;
  url;
  secureUrl;

  static async start() {
    const receivers = new Receivers();
    receivers.#child = keep(fork(new URL('./receiver.js', import.meta.url), { serialization: 'advanced' }));
    const port = new Promise((resolve) => {
      receivers.#child.on('message', (message) => {
        if (message.port !== undefined) resolve(message.port);
        else if (message.arrived) receivers.#onArrival?.();
        else receivers.#pending.get(message.id)?.(message);
      });
    });
    receivers.url = `http://127.0.0.1:${await within('the start of the receivers', port, responseMs)}`;
    return receivers;
  }

  #ask(command, given = {}) {
    this.#next += 1;
    const id = this.#next;
    const response = new Promise((resolve) => this.#pending.set(id, resolve));
    this.#child.send({ id, command, ...given });
    return within(`a report of the receivers (${command})`, response, responseMs).finally(() =>
      this.#pending.delete(id),
    );
  }

  open(path, secret) {
    return this.#ask('door', { path, secret });
  }

  behave(path, behavior) {
    return this.#ask('behave', { path, behavior });
  }

  release(path) {
    return this.#ask('release', { path });
  }

  hangUp() {
    return this.#ask('hangUp');
  }

  async certify(key, cert) {
    const { securePort } = await this.#ask('certify', { key, cert });
    this.secureUrl = `https://127.0.0.1:${securePort}`;
  }

  /** Resolves to a promise for the arrival of the next delivery at this path, before it gets a response. */
  async arrival(path) {
    const arrived = new Promise((resolve) => {
      this.#onArrival = resolve;
    });
    await this.#ask('signal', { path });
    return { arrived };
  }

  /** Returns how many events each path has responded to with success. */
  async progress() {
    return (await this.#ask('progress')).distinct;
  }

  /** Returns how many deliveries came to each address of the receivers. */
  async addresses() {
    return (await this.#ask('addresses')).byAddress;
  }

  async report() {
    return (await this.#ask('report')).doors;
  }

  stop() {
    this.#child.kill('SIGKILL');
  }
}
