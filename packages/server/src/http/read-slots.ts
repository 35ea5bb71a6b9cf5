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

/**
 * Limits how many reads of one organization are in progress at once, so that it cannot take every database connection.
 * Further ones wait in order, no longer than a request waits for a connection. A slot is given back as soon as the response is ready, however slowly it is then read.
 */
export function limitReads(app: FastifyInstance, slotsEach: number, waitMsMax = 2_000): void {
  const organizations = new Map<string, Slots>();

  /** Passes the slot directly to the next read, so that no other can take it. */
  function release(organization: string, slots: Slots): void {
    const next = slots.waiting.shift();
    if (next) next();
    else {
      slots.taken -= 1;
      if (slots.taken === 0) organizations.delete(organization);
    }
  }

  app.decorateRequest('releaseSlot', null);
  app.addHook('preHandler', (request, _reply, done) => {
    if (!isRead(request)) return done();
    const organization = request.token.organization_id;
    const slots = organizations.get(organization) ?? { taken: 0, waiting: [] };
    organizations.set(organization, slots);
    const start = () => {
      request.releaseSlot = () => release(organization, slots);
      done();
    };
    if (slots.taken < slotsEach) {
      slots.taken += 1;
      return start();
    }
    const late = setTimeout(() => {
      slots.waiting = slots.waiting.filter((one) => one !== next);
      done(tooMany(organization));
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

function tooMany(organization: string): Problem {
  return new Problem('unavailable', `Too many reads of ${organization} are in progress. Try again.`, {
    headers: { 'Retry-After': '1' },
  });
}

function isRead({ method, routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.scopes !== undefined && (method === 'GET' || method === 'HEAD');
}
