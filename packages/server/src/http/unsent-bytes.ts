import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../domain/problem.js';

/** The system buffers smaller responses, so they take no memory of this process for long. */
const countedBytesMin = 64 * 1024;
const defaults = { organizationBytesMax: 32 * 1024 * 1024, bytesMax: 96 * 1024 * 1024 };
/** A client that reads more slowly than this is cut off, after some time to begin. */
const bytesPerSecondMin = 64 * 1024;
const graceMs = 10_000;

/**
 * Limits the large responses that clients have not read yet: each takes up to three times its size. A response is
 * counted until it is sent. Responses that all clients share, such as the console's files, need no limit.
 */
export function limitUnsentBytes(app: FastifyInstance, limits = defaults): void {
  const { organizationBytesMax, bytesMax } = limits;
  const unsent = new Map<string, number>();
  let total = 0;

  function add(organization: string, bytes: number): void {
    total += bytes;
    const sum = (unsent.get(organization) ?? 0) + bytes;
    if (sum > 0) unsent.set(organization, sum);
    else unsent.delete(organization);
  }

  app.addHook('onSend', (request, reply, payload, done) => {
    const bytes = sizeOf(request, payload);
    // A client that is gone reads nothing, and its response does not emit `close` again.
    const isGone = reply.raw.destroyed || reply.raw.socket === null || !reply.raw.socket.writable;
    if (bytes < countedBytesMin || isGone) return done(null, payload);
    const organization = request.token.organization_id;
    const before = unsent.get(organization) ?? 0;
    // Alone, a response may have any size.
    if (before > 0 && before + bytes > organizationBytesMax) return done(tooMuch());
    if (total > 0 && total + bytes > bytesMax) return done(tooMuch());
    add(organization, bytes);
    cutOffIfSlow(reply, bytes);
    reply.raw.once('close', () => add(organization, -bytes));
    done(null, payload);
  });
}

function sizeOf(request: FastifyRequest, payload: unknown): number {
  const isCounted = request.token !== null && (typeof payload === 'string' || Buffer.isBuffer(payload));
  return isCounted ? payload.length : 0;
}

function cutOffIfSlow({ raw }: FastifyReply, bytes: number): void {
  const timer = setTimeout(() => raw.destroy(), graceMs + (bytes / bytesPerSecondMin) * 1000);
  raw.once('close', () => clearTimeout(timer));
}

function tooMuch(): Problem {
  return new Problem(
    'unavailable',
    'Too many large responses have not been read yet. Read them, or request smaller pages.',
    { headers: { 'Retry-After': '1' } },
  );
}
