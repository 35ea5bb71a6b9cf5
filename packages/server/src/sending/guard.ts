import { open } from 'node:fs/promises';
import { isIP, type Socket } from 'node:net';
import { devNull } from 'node:os';
import { TLSSocket } from 'node:tls';
import { buildConnector, errors } from 'undici';
import type { AddressPolicy, AddressVerdict } from '../values/address.js';
import { type Addresses, createResolver, type ResolveName } from './resolver.js';

export interface GuardOptions {
  policy: AddressPolicy;
  /** For DNS, the connection and the TLS handshake together. */
  timeoutMs: number;
  resolve?: ResolveName | undefined;
  connect?: buildConnector.connector | undefined;
  /** Opens and closes a file. Rejects if no file descriptor is left. */
  openFile?: (() => Promise<void>) | undefined;
}

/** Where to connect to, and how far the connection has progressed. */
interface DialTarget extends buildConnector.Options {
  /** Whether the TCP connection is open and the TLS handshake has begun. */
  progress?: { inTls: boolean } | undefined;
}

export type GuardedConnector = (target: DialTarget, callback: buildConnector.Callback) => void;

export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
  readonly code: 'blocked_address' | 'plain_http';
  /** Undefined if integrators must not learn it. */
  readonly address: string | undefined;

  constructor(target: buildConnector.Options, address: string | undefined, verdict: AddressVerdict) {
    const what = address ?? 'an internal address';
    super(`${target.protocol}//${target.hostname} resolves to ${what}, which is not allowed`);
    this.code = verdict === 'public' ? 'plain_http' : 'blocked_address';
    this.address = address;
  }
}

export class NameNotResolvedError extends Error {
  override readonly name = 'NameNotResolvedError';
  readonly code = 'dns';
}

const ADDRESSES_TRIED_MAX = 4;

// If an address drops packets, there must be time to try the next one within the usual 10 s of an attempt.
const ADDRESS_WAIT_MS_MAX = 2_000;

/**
 * Creates the connector for undici that all outgoing connections use. It queries DNS once, refuses all addresses if one
 * of them is not allowed, and gives the socket an address instead of the name. A second lookup therefore cannot change
 * the result. TLS still uses and verifies the name.
 */
export function createGuardedConnector(options: GuardOptions): GuardedConnector {
  const { policy, timeoutMs } = options;
  const resolve = options.resolve ?? createResolver();
  // These options are explicit, because NODE_TLS_REJECT_UNAUTHORIZED and --tls-min-v1.0 would otherwise apply.
  const verified = { rejectUnauthorized: true, minVersion: 'TLSv1.2', allowH2: false } as const;
  const connect = options.connect ?? buildConnector({ timeout: timeoutMs, ...verified });
  const openFile = options.openFile ?? openAndCloseFile;

  async function dialAll({ progress, ...target }: DialTarget): Promise<Socket> {
    const deadline = performance.now() + timeoutMs;
    const addresses = await addressesOf(target.hostname, resolve, timeoutMs).catch(async (error) => {
      // If no file descriptor is left, the resolver reports that the name does not exist. In that case, `openFile`
      // rejects with the real cause.
      await openFile();
      throw error;
    });
    refuseBlocked(target, addresses, policy);

    const tried = addresses.slice(0, ADDRESSES_TRIED_MAX);
    // undici would use the Host header as the server name if there is one. Always use the host of the URL.
    const servername = isIP(target.hostname) === 0 ? target.hostname.replace(/\.$/, '') : '';
    let failure: unknown;
    for (const [index, hostname] of tried.entries()) {
      const leftMs = deadline - performance.now();
      const waitMs = index === tried.length - 1 ? leftMs : Math.min(leftMs, ADDRESS_WAIT_MS_MAX);
      if (waitMs <= 0) break;
      try {
        return await dial(connect, { ...target, hostname, servername }, waitMs, progress);
      } catch (error) {
        if (!neverConnected(error)) throw error;
        failure = error;
      }
    }
    throw failure ?? new errors.ConnectTimeoutError(`No time left to connect to ${target.hostname}`);
  }

  // An exception from undici's callback would be an unhandled rejection and end the process. Give up the connection
  // instead; the request has a timeout.
  return (target, callback) => {
    dialAll(target)
      .then(
        (socket) => {
          try {
            callback(null, socket);
          } catch {
            socket.destroy();
          }
        },
        (error: Error) => callback(error, null),
      )
      .catch(() => undefined);
  };
}

async function addressesOf(hostname: string, resolve: ResolveName, timeoutMs: number): Promise<Addresses> {
  if (isIP(hostname) !== 0) return [hostname];
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    const addresses = await Promise.race([resolve(hostname), late]);
    if (addresses.length === 0) throw new Error('the name has no address');
    return addresses;
  } catch (cause) {
    throw new NameNotResolvedError(`${hostname} did not resolve: ${(cause as Error).message}`, { cause });
  } finally {
    clearTimeout(timer);
  }
}

function refuseBlocked(target: buildConnector.Options, addresses: Addresses, policy: AddressPolicy) {
  // Without https, requests may go only to addresses that the operator has allowed.
  const passes: AddressVerdict[] = target.protocol === 'https:' ? ['public', 'allowed'] : ['allowed'];
  const refused = addresses.find((address) => !passes.includes(policy.judge(address)));
  if (refused === undefined) return;
  const shown = addresses.areInternal ? undefined : refused;
  throw new BlockedAddressError(target, shown, policy.judge(refused));
}

/** Opens a connection. If it opens only after the timeout, closes it. */
function dial(
  connect: buildConnector.connector,
  target: buildConnector.Options,
  waitMs: number,
  progress: DialTarget['progress'] = { inTls: false },
) {
  progress.inTls = false;
  return new Promise<Socket>((resolve, reject) => {
    let waiting = true;
    const timer = setTimeout(() => {
      waiting = false;
      reject(
        new errors.ConnectTimeoutError(`${target.hostname} did not connect within ${Math.round(waitMs)} ms`),
      );
    }, waitMs);
    let validTo: string | undefined;
    const dialed: unknown = connect(target, (error, socket) => {
      clearTimeout(timer);
      if (!waiting) socket?.destroy();
      else if (error) reject(validTo === undefined ? error : withCertificate(error, validTo));
      else resolve(socket);
    });
    // undici's connector returns its socket, though its type does not say so. A rejected certificate can only be read
    // before Node checks it; afterwards the socket is gone.
    if (dialed instanceof TLSSocket) {
      dialed.once('connect', () => {
        if (waiting) progress.inTls = true;
      });
      dialed.prependOnceListener('secure', () => {
        validTo = dialed.getPeerCertificate()?.valid_to;
      });
    }
  });
}

/** Adds the expiry of the certificate, in the same field that Node uses if the certificate is for another name. */
function withCertificate(error: Error & { cert?: { valid_to?: string } }, validTo: string): Error {
  error.cert ??= { valid_to: validTo };
  return error;
}

/**
 * Returns whether to try the next address. If a receiver responded, even with a wrong certificate, no other
 * address is tried.
 */
function neverConnected(error: unknown): boolean {
  return (
    error instanceof errors.ConnectTimeoutError || (error as NodeJS.ErrnoException).syscall === 'connect'
  );
}

/** Rejects only if no file descriptor is left. */
async function openAndCloseFile(): Promise<void> {
  try {
    await (await open(devNull)).close();
  } catch (error) {
    if (['EMFILE', 'ENFILE'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
