import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../domain/problem.js';

/** The system buffers smaller responses, so they take no memory of this process for long. */
const countedBytesMin = 64 * 1024;
const defaults = {
  organizationBytesMax: 32 * 1024 * 1024,
  bytesMax: 96 * 1024 * 1024,
  /** A client that reads more slowly than this is cut off, after some time to begin. */
  bytesPerSecondMin: 64 * 1024,
  graceMs: 10_000,
};

/** Counts what clients have not read yet, for each organization and in total. Each byte takes up to three in memory. */
export class UnsentBytes {
  readonly #limits: typeof defaults;
  readonly #unsent = new Map<string, number>();
  #total = 0;

  constructor(limits: Partial<typeof defaults> = {}) {
    this.#limits = { ...defaults, ...limits };
  }

  /**
   * Counts a response, or a part of one, until the returned function is called or the response is closed. Cuts off the
   * client if that takes too long. Returns undefined if too much is unsent already.
   */
  hold(organization: string, response: ServerResponse, bytes: number): (() => void) | undefined {
    const counted = bytes < countedBytesMin ? 0 : bytes;
    if (counted > 0 && !this.#fits(organization, counted)) return undefined;
    const { bytesPerSecondMin, graceMs } = this.#limits;
    const timer = setTimeout(() => response.destroy(), graceMs + (bytes / bytesPerSecondMin) * 1000);
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      clearTimeout(timer);
      response.off('close', release);
      this.#add(organization, -counted);
    };
    response.once('close', release);
    this.#add(organization, counted);
    return release;
  }

  #fits(organization: string, bytes: number): boolean {
    const { organizationBytesMax, bytesMax } = this.#limits;
    const before = this.#unsent.get(organization) ?? 0;
    // Alone, a response may have any size.
    if (before > 0 && before + bytes > organizationBytesMax) return false;
    return this.#total === 0 || this.#total + bytes <= bytesMax;
  }

  #add(organization: string, bytes: number): void {
    this.#total += bytes;
    const sum = (this.#unsent.get(organization) ?? 0) + bytes;
    if (sum > 0) this.#unsent.set(organization, sum);
    else this.#unsent.delete(organization);
  }
}

/**
 * Limits the large responses that clients have not read yet. Responses that all clients share, such as the console's
 * files, need no limit. Streams count for themselves what they hold.
 */
export function limitUnsentBytes(app: FastifyInstance, unsent: UnsentBytes): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const bytes = sizeOf(request, payload);
    // A client that is gone reads nothing, and its response does not emit `close` again.
    const isGone = reply.raw.destroyed || reply.raw.socket === null || !reply.raw.socket.writable;
    if (bytes < countedBytesMin || isGone) return done(null, payload);
    if (unsent.hold(request.token.organization_id, reply.raw, bytes)) done(null, payload);
    else done(tooMuch());
  });
}

function sizeOf(request: FastifyRequest, payload: unknown): number {
  const isCounted = request.token !== null && (typeof payload === 'string' || Buffer.isBuffer(payload));
  return isCounted ? payload.length : 0;
}

function tooMuch(): Problem {
  return new Problem(
    'unavailable',
    'Too many large responses have not been read yet. Read them, or request smaller pages.',
    { headers: { 'Retry-After': '1' } },
  );
}
