import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { Problem } from '../values/problem.js';
import type { GuessLimit } from './rate-limits.js';

/** Requires the platform token for every route that is not open. Limits wrong tokens by address. */
export function requirePlatformToken(app: FastifyInstance, token: string, guesses: GuessLimit): void {
  const isToken = tokenComparison(token);
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.routeOptions.config.open) return done();
    const given = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (given === undefined || !isToken(given)) {
      const refusal = given === undefined ? undefined : guesses.count(request.sourceAddress);
      if (refusal) throw refusal;
      throw new Problem(
        'unauthenticated',
        'Send the platform token: Authorization: Bearer <POSTHORN_PLATFORM_TOKEN>.',
        {
          headers: { 'WWW-Authenticate': 'Bearer' },
        },
      );
    }
    done();
  });
}

/**
 * Compares tokens in constant time if the lengths are equal. The length is not a secret, and a digest takes ten times
 * as long.
 */
function tokenComparison(token: string): (given: string) => boolean {
  const expected = Buffer.from(token);
  return (given) => {
    const bytes = Buffer.from(given);
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  };
}
