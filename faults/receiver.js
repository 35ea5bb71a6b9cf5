// Receivers in a process of their own: one port, one path for each webhook. Each verifies signatures and keeps what
// arrived. How each one responds can be changed at any time (`behaviors.js`).
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { behaviors } from './behaviors.js';

const doors = new Map();
/** In a network without a way out, receivers can have several addresses. */
const host = process.env.POSTHORN_FAULTS_ISOLATED === '1' ? '0.0.0.0' : '127.0.0.1';
/** How many deliveries came to each address. */
const byAddress = {};
let signalAt;

class Door {
  behavior = 'ok';
  #secret;
  /** By the number of the event: requests, and successful responses. */
  arrived = new Uint16Array(1024);
  succeeded = new Uint16Array(1024);
  /** When and at which attempt the first successful response was sent. */
  #firstAtMs = new Float64Array(1024);
  #firstAttempt = new Uint8Array(1024);
  distinct = 0;
  forged = 0;
  /** Requests that came after a successful response. */
  again = [];
  held = [];

  constructor(secret) {
    this.#secret = secret;
  }

  isSigned(body, signature = '') {
    const expected = Buffer.from(`sha256=${createHmac('sha256', this.#secret).update(body).digest('hex')}`);
    const given = Buffer.from(signature);
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  arrive(seq, attempt, atMs) {
    while (seq >= this.arrived.length) this.#grow();
    this.arrived[seq] += 1;
    if (this.succeeded[seq] === 0) return;
    this.again.push({
      ...{ seq, atMs, attempt },
      ...{ firstAtMs: this.#firstAtMs[seq], firstAttempt: this.#firstAttempt[seq] },
    });
  }

  succeed(seq, attempt, atMs) {
    this.succeeded[seq] += 1;
    if (this.succeeded[seq] > 1) return;
    this.distinct += 1;
    this.#firstAtMs[seq] = atMs;
    this.#firstAttempt[seq] = attempt;
  }

  #grow() {
    const doubled = (old) => {
      const next = new old.constructor(old.length * 2);
      next.set(old);
      return next;
    };
    this.arrived = doubled(this.arrived);
    this.succeeded = doubled(this.succeeded);
    this.#firstAtMs = doubled(this.#firstAtMs);
    this.#firstAttempt = doubled(this.#firstAttempt);
  }
}

function receive(request, response) {
  const chunks = [];
  request.on('error', () => undefined);
  response.on('error', () => undefined);
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const door = doors.get(request.url);
    const { headers } = request;
    if (door === undefined || headers['x-service-delivery'] === undefined) {
      response.end();
      return;
    }
    if (!door.isSigned(Buffer.concat(chunks), headers['x-service-signature'])) door.forged += 1;
    const seq = Number(/(\d+)$/.exec(headers['x-service-subject'])?.[1]);
    const attempt = Number(headers['x-service-attempt']);
    door.arrive(seq, attempt, Date.now());
    const { localAddress } = request.socket;
    byAddress[localAddress] = (byAddress[localAddress] ?? 0) + 1;
    const succeed = () => {
      if (!response.destroyed) door.succeed(seq, attempt, Date.now());
    };
    if (signalAt?.path === request.url) signal();
    behaviors[door.behavior]({ response, succeed, hold: (release) => door.held.push(release) });
  });
}

function signal() {
  signalAt = undefined;
  process.send({ arrived: true });
}

const plain = createServer(receive);
plain.keepAliveTimeout = 30_000;
let secure;
/** Sockets of the TLS server, including those whose handshake never ends. */
const handshakes = new Set();

const commands = {
  door: ({ path, secret }) => void doors.set(path, new Door(secret)),
  behave: ({ path, behavior }) => {
    doors.get(path).behavior = behavior;
  },
  /** Responds to the requests that were held. */
  release: ({ path }) => {
    for (const release of doors.get(path).held.splice(0)) release();
  },
  signal: ({ path }) => {
    signalAt = { path };
  },
  /** Closes all connections, so that the next request needs a new one. */
  hangUp: () => {
    plain.closeAllConnections();
    secure?.closeAllConnections();
  },
  progress: () => ({
    distinct: Object.fromEntries([...doors].map(([path, door]) => [path, door.distinct])),
  }),
  addresses: () => ({ byAddress }),
  report: () => ({
    doors: [...doors].map(([path, { arrived, succeeded, again, forged }]) => ({
      ...{ path, arrived, succeeded, again, forged },
    })),
  }),
  /** Serves TLS with this certificate from now on. A new server cannot resume the sessions of the one before. */
  certify: async ({ key, cert }) => {
    const port = secure?.address().port ?? 0;
    if (secure !== undefined) {
      const closed = new Promise((resolve) => secure.close(resolve));
      for (const socket of handshakes) socket.destroy();
      secure.closeAllConnections();
      await closed;
    }
    secure = createTlsServer({ key, cert }, receive);
    secure.on('connection', (socket) => {
      handshakes.add(socket);
      socket.once('close', () => handshakes.delete(socket));
    });
    secure.on('tlsClientError', () => undefined);
    await new Promise((listening) => secure.listen(port, '127.0.0.1', listening));
    return { securePort: secure.address().port };
  },
};

process.on('message', async ({ id, command, ...given }) => {
  const result = (await commands[command](given)) ?? {};
  process.send({ id, ...result });
});
// The process that started this one has ended.
process.on('disconnect', () => process.exit());
plain.listen(0, host, () => process.send({ port: plain.address().port }));
