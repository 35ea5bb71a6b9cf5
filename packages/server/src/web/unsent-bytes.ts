import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { unavailable } from '../values/problem.js';

/** An open connection occupies more memory than a smaller response. */
const countedBytesMin = 4 * 1024;
const defaults = {
  organizationBytesMax: 32 * 1024 * 1024,
  bytesMax: 96 * 1024 * 1024,
  /** A client that reads more slowly than this is cut off, but not within the first `graceMs`. */
  bytesPerSecondMin: 64 * 1024,
  graceMs: 10_000,
};

interface Account {
  bytes: number;
  /** Functions that cut off a client, oldest first, each with the number of bytes that the client has not read. */
  cutOffs: Map<() => void, number>;
}

/**
 * Counts what clients have not read yet, for each organization and in total. Each counted byte can occupy up to three
 * bytes of memory.
 */
export class UnsentBytes {
  readonly #limits: typeof defaults;
  readonly #accounts = new Map<string, Account>();
  #total = 0;

  constructor(limits: Partial<typeof defaults> = {}) {
    this.#limits = { ...defaults, ...limits };
  }

  /**
   * Counts a response, or a part of one, until the returned function is called or the response is closed. Cuts off the
   * client if that takes too long, or to make room for an organization with fewer unsent bytes. Returns undefined if
   * too many bytes are already unsent.
   */
  hold(organization: string, response: ServerResponse, bytes: number): (() => void) | undefined {
    const isCounted = bytes >= countedBytesMin;
    if (isCounted && !this.#makeRoom(organization, bytes)) return undefined;
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      clearTimeout(timer);
      response.off('close', release);
      if (isCounted) this.#remove(organization, cutOff, bytes);
    };
    const cutOff = () => {
      release();
      response.destroy();
    };
    const { bytesPerSecondMin, graceMs } = this.#limits;
    const timer = setTimeout(cutOff, graceMs + (bytes / bytesPerSecondMin) * 1000);
    response.once('close', release);
    if (isCounted) this.#add(organization, cutOff, bytes);
    return release;
  }

  #add(organization: string, cutOff: () => void, bytes: number): void {
    const account = this.#accounts.get(organization) ?? { bytes: 0, cutOffs: new Map() };
    account.cutOffs.set(cutOff, bytes);
    account.bytes += bytes;
    this.#total += bytes;
    this.#accounts.set(organization, account);
  }

  #remove(organization: string, cutOff: () => void, bytes: number): void {
    const account = this.#accounts.get(organization)!;
    account.cutOffs.delete(cutOff);
    account.bytes -= bytes;
    this.#total -= bytes;
    if (account.bytes === 0) this.#accounts.delete(organization);
  }

  /**
   * Returns whether there is room, after cutting off the oldest responses of organizations that have more unsent bytes
   * than this one. Cuts off none if that would not be enough.
   */
  #makeRoom(organization: string, bytes: number): boolean {
    const { organizationBytesMax, bytesMax } = this.#limits;
    const before = this.#accounts.get(organization)?.bytes ?? 0;
    // A single response may have any size.
    if (before > 0 && before + bytes > organizationBytesMax) return false;
    if (this.#total === 0 || this.#total + bytes <= bytesMax) return true;
    const others = [...this.#accounts.values()].map((account) => ({
      bytes: account.bytes,
      oldest: [...account.cutOffs],
    }));
    const cutOffs: (() => void)[] = [];
    let total = this.#total;
    while (total > 0 && total + bytes > bytesMax) {
      const largest = others.reduce((most, other) => (other.bytes > most.bytes ? other : most));
      const [cutOff, size] = largest.oldest.shift() ?? [];
      if (!cutOff || size === undefined || largest.bytes <= before + bytes) return false;
      cutOffs.push(cutOff);
      largest.bytes -= size;
      total -= size;
    }
    for (const cutOff of cutOffs) cutOff();
    return true;
  }
}

/**
 * Limits the large responses that clients have not read yet. Responses that all clients share, such as the console's
 * files, need no limit. Streams count their own bytes.
 */
export function limitUnsentBytes(app: FastifyInstance, unsent: UnsentBytes): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const isCounted = request.token !== null && (typeof payload === 'string' || Buffer.isBuffer(payload));
    const bytes = isCounted ? payload.length : 0;
    // A client that is gone reads nothing, and its response does not emit `close` again.
    const isGone = reply.raw.destroyed || reply.raw.socket === null || !reply.raw.socket.writable;
    if (bytes < countedBytesMin || isGone) return done(null, payload);
    if (unsent.hold(request.token.organization_id, reply.raw, bytes)) done(null, payload);
    else
      done(
        unavailable('Too many large responses have not been read yet. Read them, or request smaller pages.'),
      );
  });
}
