import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterFile } from '../../../server/test/support/cleanup.js';

/** A way to the service that can be shut and opened again at the same address, while the service lives on. */
export class Door {
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;

  constructor(targetUrl: string) {
    this.#target = Number(new URL(targetUrl).port);
  }

  async open(): Promise<void> {
    this.#server = createServer((inside) => {
      const outside = connect(this.#target, '127.0.0.1');
      for (const socket of [inside, outside]) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          this.#sockets.delete(socket);
          inside.destroy();
          outside.destroy();
        });
      }
      inside.pipe(outside).pipe(inside);
    });
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async shut(): Promise<void> {
    const server = this.#server;
    if (!server?.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }
}

export async function openDoor(targetUrl: string): Promise<Door> {
  const door = new Door(targetUrl);
  await door.open();
  afterFile(() => door.shut());
  return door;
}
