import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Semaphore } from '../signals/semaphore.js';
import { unavailable } from '../values/problem.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the handler uses no database connection. Such a read needs no slot. */
    withoutDatabase?: true;
  }
  interface FastifyRequest {
    /** Gives back the slot of a read. Null if it has none. */
    releaseSlot: (() => void) | null;
  }
}

export interface ReadLimits {
  /** How many reads may be in progress at once. */
  reads: number;
  /** How many of them may belong to the same organization. */
  readsEach: number;
  /** How many tails may read at once. */
  tails: number;
  waitMsMax: number;
}

/** Returns limits that leave some of the connections for writes. */
export function readLimits(connections: number): ReadLimits {
  const reads = Math.floor(connections / 2);
  return {
    reads,
    // The rest is for other organizations: a slow read takes longer than others wait for a slot.
    readsEach: Math.max(1, reads - 2),
    tails: Math.max(1, Math.floor(connections / 5)),
    // The same limit as for a request that waits for a connection.
    waitMsMax: 2_000,
  };
}

/**
 * Limits how many reads are in progress at once, so that they cannot take every database connection: each read uses one
 * connection at a time. Further reads wait, and the organization with the fewest reads in progress is next. A slot is
 * given back as soon as the response is ready, however slowly the client then reads it.
 */
export function limitReads(app: FastifyInstance, { reads, readsEach, waitMsMax }: ReadLimits): void {
  const slots = new Semaphore(reads, readsEach);
  app.decorateRequest('releaseSlot', null);
  app.addHook('preHandler', (request, reply, done) => {
    if (!needsSlot(request)) return done();
    let hasStarted = false;
    let late: NodeJS.Timeout | undefined;
    const giveUp = () => {
      clearTimeout(late);
      reply.raw.off('close', giveUp);
      stopWaiting();
      done(unavailable('Too many reads are in progress. Try again.'));
    };
    const stopWaiting = slots.take(request.token.organization_id, (release) => {
      if (late) {
        clearTimeout(late);
        reply.raw.off('close', giveUp);
      }
      hasStarted = true;
      request.releaseSlot = release;
      done();
    });
    // The response may already have given the slot back.
    if (hasStarted) return;
    late = setTimeout(giveUp, waitMsMax);
    // A client that has gone away no longer waits for a response.
    reply.raw.once('close', giveUp);
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    request.releaseSlot?.();
    request.releaseSlot = null;
    done(null, payload);
  });
}

function needsSlot({ method, routeOptions: { config } }: FastifyRequest): boolean {
  return config.scopes !== undefined && !config.withoutDatabase && (method === 'GET' || method === 'HEAD');
}
