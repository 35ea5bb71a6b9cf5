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
  total: number;
  /** How many of them belong to one organization. */
  each: number;
  waitMsMax: number;
}

/** Returns limits that leave some of the connections to whatever writes, and some to other organizations. */
export function readLimits(connections: number): ReadLimits {
  const total = connections - Math.min(3, Math.floor(connections / 2));
  // As long as a request waits for a connection.
  return { total, each: Math.max(1, total - 2), waitMsMax: 2_000 };
}

/**
 * Limits how many reads are in progress at once, so that they cannot take every database connection. Further ones wait,
 * and the organization with the fewest in progress is next. A slot is given back as soon as the response is ready,
 * however slowly the client then reads it.
 */
export function limitReads(app: FastifyInstance, { total, each, waitMsMax }: ReadLimits): void {
  /** Those with reads in progress or waiting. */
  const organizations = new Map<string, Slots>();
  let taken = 0;

  /** Starts the first read that waits, of an organization that has the fewest in progress. */
  function startNext(): void {
    let fewest: Slots | undefined;
    for (const slots of organizations.values()) {
      if (slots.waiting.length > 0 && slots.taken < (fewest?.taken ?? each)) fewest = slots;
    }
    fewest?.waiting.shift()?.();
  }

  function release(organization: string, slots: Slots): void {
    taken -= 1;
    slots.taken -= 1;
    if (slots.taken === 0 && slots.waiting.length === 0) organizations.delete(organization);
    startNext();
  }

  app.decorateRequest('releaseSlot', null);
  app.addHook('preHandler', (request, _reply, done) => {
    if (!isRead(request)) return done();
    const organization = request.token.organization_id;
    const slots = organizations.get(organization) ?? { taken: 0, waiting: [] };
    organizations.set(organization, slots);
    const start = () => {
      taken += 1;
      slots.taken += 1;
      request.releaseSlot = () => release(organization, slots);
      done();
    };
    if (taken < total && slots.taken < each) return start();
    const late = setTimeout(() => {
      slots.waiting = slots.waiting.filter((one) => one !== next);
      if (slots.taken === 0 && slots.waiting.length === 0) organizations.delete(organization);
      done(tooMany());
    }, waitMsMax);
    const next = () => {
      clearTimeout(late);
      start();
    };
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
