import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { ConfigError } from './config.js';

const listenFaults: Record<string, string> = {
  EADDRINUSE: 'another program is listening on it',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'the name does not exist',
  EAI_AGAIN: 'the name cannot be resolved',
  EACCES: 'this user is not allowed to listen on it',
};

/**
 * Starts listening, and returns the URL with the real port. An address that cannot be used is reported as a fault in
 * the settings that name it.
 */
export async function listen(
  app: FastifyInstance,
  name: string,
  host: string,
  port: number,
): Promise<string> {
  const settings =
    name === 'public API' ? 'POSTHORN_HOST, POSTHORN_PORT' : 'POSTHORN_PLATFORM_HOST, POSTHORN_PLATFORM_PORT';
  try {
    await app.listen({ host, port, listenTextResolver: (address) => `${name} listening on ${address}` });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    const reason = listenFaults[code];
    if (reason === undefined) throw error;
    const remedy =
      code === 'EADDRINUSE'
        ? 'stop that program, or set POSTHORN_PORT and POSTHORN_PLATFORM_PORT to free ports (0 selects any free port)'
        : 'use an address of this machine and a free port';
    throw new ConfigError(
      `${settings}: ${JSON.stringify(`${host}:${port}`)} cannot be used: ${reason}; ${remedy}.`,
    );
  }
  const { address, port: real } = app.server.address() as AddressInfo;
  return urlOf(address, real);
}

/** Returns a URL that a browser can open. A listener on all addresses is shown with its loopback address. */
export function urlOf(host: string, port: number): string {
  const address = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}
