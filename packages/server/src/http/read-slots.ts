import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../domain/problem.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Gives back the slot of a read. Null if it has none. */
    releaseSlot: (() => void) | null;
  }
}

interface Slots {
  taken: number;
  waiting: (() => void)[];
}

export interface ReadLimits {
  /** How many reads are in progress at once. */
  reads: number;
  /** How many tails read at once. */
  tails: number;
  waitMsMax: number;
}

/** Returns limits that leave some of the connections to whatever writes. */
export function readLimits(connections: number): ReadLimits {
  return {
    reads: Math.floor(connections / 2),
    tails: Math.max(1, Math.floor(connections / 5)),
    // As long as a request waits for a connection.
    waitMsMax: 2_000,
  };
}

/**
 * Limits how many reads are in progress at once, so that they cannot take every database connection: each uses one at a
 * time. Further ones wait, and the organization with the fewest in progress is next. A slot is given back as soon as the
 * response is ready, however slowly the client then reads it.
 */
export function limitReads(app: FastifyInstance, { reads, waitMsMax }: ReadLimits): void {
  /** Those with reads in progress or waiting. */
  const organizations = new Map<string, Slots>();
  let taken = 0;

  /** Starts the first read that waits, of an organization that has the fewest in progress. */
  function startNext(): void {
    let fewest: Slots | undefined;
    for (const slots of organizations.values()) {
      if (slots.waiting.length > 0 && slots.taken < (fewest?.taken ?? reads)) fewest = slots;
    }
    fewest?.waiting.shift()?.();
  }

  function forgetIfIdle(organization: string, slots: Slots): void {
    if (slots.taken === 0 && slots.waiting.length === 0) organizations.delete(organization);
  }

  function release(organization: string, slots: Slots): void {
    taken -= 1;
    slots.taken -= 1;
    forgetIfIdle(organization, slots);
    startNext();
  }

  app.decorateRequest('releaseSlot', null);
  app.addHook('preHandler', (request, reply, done) => {
    if (!isRead(request)) return done();
    const organization = request.token.organization_id;
    const slots = organizations.get(organization) ?? { taken: 0, waiting: [] };
    organizations.set(organization, slots);
    const start = () => {
      taken += 1;
      slots.taken += 1;
      organizations.set(organization, slots);
      request.releaseSlot = () => release(organization, slots);
      done();
    };
    if (taken < reads) return start();
    const stopWaiting = () => {
      clearTimeout(late);
      reply.raw.off('close', giveUp);
      slots.waiting = slots.waiting.filter((one) => one !== next);
      forgetIfIdle(organization, slots);
    };
    const giveUp = () => {
      stopWaiting();
      done(tooMany());
    };
    const next = () => {
      stopWaiting();
      start();
    };
    const late = setTimeout(giveUp, waitMsMax);
    // Nobody waits for the response of a client that has gone away.
    reply.raw.once('close', giveUp);
    slots.waiting.push(next);
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    request.releaseSlot?.();
    request.releaseSlot = null;
    done(null, payload);
  });
}

function tooMany(): Problem {
  return new Problem('unavailable', 'Too many reads are in progress. Try again.', {
    headers: { 'Retry-After': '1' },
  });
}

function isRead({ method, routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.scopes !== undefined && (method === 'GET' || method === 'HEAD');
}
