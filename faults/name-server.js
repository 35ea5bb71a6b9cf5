import { createSocket } from 'node:dgram';

const codes = { 'no error': 0, 'server failure': 2, 'no such name': 3 };

/** Responds to DNS queries as the scenario says: with addresses, with an error, or not at all. */
export class NameServer {
  #socket = createSocket('udp4');
  #names = new Map();

  static async start() {
    const server = new NameServer();
    server.#socket.on('message', (query, from) => {
      const response = server.#respond(query);
      if (response) server.#socket.send(response, from.port, from.address);
    });
    await new Promise((bound, fail) => {
      server.#socket.once('error', fail);
      server.#socket.bind(53, '127.0.0.1', bound);
    });
    return server;
  }

  /** Sets the state of a name: its IPv4 addresses, or `server failure`, `no such name` or `silence`. */
  set(name, state) {
    this.#names.set(name, state);
  }

  #respond(query) {
    const { name, type, end } = questionOf(query);
    const state = this.#names.get(name) ?? 'no such name';
    if (state === 'silence') return undefined;
    const isFailure = typeof state === 'string';
    const addresses = isFailure || type !== 1 ? [] : state;
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | codes[isFailure ? state : 'no error'], 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(addresses.length, 6);
    return Buffer.concat([head, query.subarray(12, end), ...addresses.map(recordOf)]);
  }

  close() {
    this.#socket.close();
  }
}

function questionOf(query) {
  const labels = [];
  let at = 12;
  for (let length = query[at]; length > 0; length = query[at]) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** An A record for the name in the question, which may not be cached. */
function recordOf(address) {
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]);
  for (const [index, part] of address.split('.').entries()) record[12 + index] = Number(part);
  return record;
}
