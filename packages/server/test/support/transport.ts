import { readFileSync } from 'node:fs';
import { buildConnector } from 'undici';
import { type PostOptions, Transport, type TransportOptions } from '../../src/sending/transport.js';
import { createAddressPolicy, parseCidrs } from '../../src/values/address.js';
import { afterFile } from './cleanup.js';

const loopbackPolicy = createAddressPolicy(parseCidrs('127.0.0.0/8')!);

export const fixture = (name: string) => readFileSync(new URL(`../fixtures/${name}.pem`, import.meta.url));

/** A transport that reaches loopback only, whatever name it is given, and closes after the file. */
export function startTransport(options: Partial<TransportOptions> = {}): Transport {
  const resolve = async () => ['127.0.0.1'];
  const transport = new Transport({ policy: loopbackPolicy, timeoutMs: 10_000, resolve, ...options });
  afterFile(() => transport.close());
  return transport;
}

/** Trusts the certificate of `receiver.test`. */
export const trustingConnect = () => buildConnector({ ca: fixture('receiver.cert') });

/** Sends one small POST. */
export function post(transport: Transport, url: string, options: Partial<PostOptions> = {}) {
  const request = { headers: [], body: Buffer.from('{}'), timeoutMs: 10_000, mayStart: () => true };
  const { origin, pathname, search } = new URL(url);
  return transport.post({ origin, path: pathname + search, ...request, ...options });
}
