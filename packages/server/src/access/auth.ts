import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { organizationElsewhere, relocationProblem } from '../cells/relocation-store.js';
import type { Database } from '../postgres/database.js';
import { Problem } from '../values/problem.js';
import type { GuessLimit, RateLimiter } from './rate-limits.js';
import { cellOf, isTokenText, isUsable, type Scope, type Token, tokenHash } from './token.js';
import { type FoundToken, findToken, touchTokens } from './token-store.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scopes that a request needs. If empty, any valid token is enough. If absent, no token is needed. */
    scopes?: readonly Scope[];
  }
  interface FastifyRequest {
    /** The token of an authenticated request. */
    token: Token;
  }
}

/** A revocation must take effect within 2 s everywhere, so no lookup is used for longer than half of that. */
const rememberMs = 1_000;
const rememberedMax = 10_000;

/** Looks up tokens, at most once per second each, and notes when they were last used. */
export class TokenDirectory {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #cell: string | undefined;
  readonly #remembered = new Map<string, { sinceMs: number; token: Promise<FoundToken | undefined> }>();
  #lastUsed = new Map<string, Date>();

  /** `cell` is the name of this cell, if it has one. */
  constructor(database: Database, now: () => number, cell: string | undefined) {
    this.#database = database;
    this.#now = now;
    this.#cell = cell;
  }

  /**
   * Returns the token if it is valid, and undefined if it is not. Throws a problem if the token belongs to another
   * cell, or if its organization is moving or has moved and this cell cannot handle the request.
   */
  async find(text: string, isWrite = false): Promise<Token | undefined> {
    if (!isTokenText(text)) return undefined;
    const nowMs = this.#now();
    const found = await this.#lookUp(text, nowMs);
    const cell = cellOf(text);
    // If its organization moved here from another cell, a token still names that cell but is found here.
    if (!found && cell !== undefined && cell !== this.#cell) throw organizationElsewhere(cell);
    if (!found || !isUsable(found.token, nowMs)) return undefined;
    const problem = found.relocation && relocationProblem(found.relocation, isWrite);
    if (problem) throw problem;
    this.#lastUsed.set(found.token.id, new Date(nowMs));
    return found.token;
  }

  /** Returns whether the token is valid and its organization lives here. */
  async allows(text: string): Promise<boolean> {
    return this.find(text).then(
      (token) => token !== undefined,
      (error) => {
        if (error instanceof Problem) return false;
        throw error;
      },
    );
  }

  /** Returns whether this token is remembered: its last lookup, however long ago, found it or is still running. */
  knows(text: string): boolean {
    return isTokenText(text) && this.#remembered.has(tokenHash(text).toString('base64'));
  }

  async #lookUp(text: string, nowMs: number): Promise<FoundToken | undefined> {
    const hash = tokenHash(text);
    const key = hash.toString('base64');
    const known = this.#remembered.get(key);
    // Setting the clock back must not extend the life of a lookup.
    if (known && nowMs >= known.sinceMs && nowMs < known.sinceMs + rememberMs) return known.token;
    const token = findToken(this.#database, hash);
    // Unknown tokens are not cached, so that guessing cannot fill the cache.
    this.#remembered.set(key, { sinceMs: nowMs, token });
    if (this.#remembered.size > rememberedMax) {
      const [oldest = ''] = this.#remembered.keys();
      this.#remembered.delete(oldest);
    }
    try {
      const found = await token;
      if (!found) this.#remembered.delete(key);
      return found;
    } catch (error) {
      // The database could not be queried. A token that was known before stays known, and is looked up again next time.
      if (known) this.#remembered.set(key, known);
      else this.#remembered.delete(key);
      throw error;
    }
  }

  /** Writes the last-used times collected since the last call, in one statement. */
  async flush(): Promise<void> {
    const lastUsed = this.#lastUsed;
    this.#lastUsed = new Map();
    try {
      await touchTokens(this.#database, lastUsed);
    } catch (error) {
      this.#lastUsed = new Map([...lastUsed, ...this.#lastUsed]);
      throw error;
    }
  }
}

/** Checks the token (401), the rate limit (429) and the scope (403), in this order and before reading the body. */
export function installAuth(
  app: FastifyInstance,
  tokens: TokenDirectory,
  limiter: RateLimiter,
  guesses: GuessLimit,
): void {
  app.decorateRequest('token', null as unknown as Token);
  app.addHook('onRequest', async (request, reply) => {
    const scopes = request.routeOptions.config.scopes;
    if (!scopes) return;
    const text = bearerText(request);
    // After too many guesses, further ones must not reach the database. A client that shares the address and was let in
    // before is not affected.
    const refusal = guesses.refusal(request.sourceAddress);
    if (refusal && !tokens.knows(text)) throw refusal;
    const token = await tokens.find(text, isWrite(request.method)).catch((error) => {
      // A client that keeps using the wrong cell must not cost more than one that guesses.
      const isElsewhere = error instanceof Problem && error.code === 'wrong_cell';
      throw (isElsewhere && !tokens.knows(text) && guesses.count(request.sourceAddress)) || error;
    });
    if (!token) throw (text && guesses.count(request.sourceAddress)) || unauthenticated(faultOf(text));
    request.token = token;
    request.logFields.token_id = token.id;
    request.logFields.organization_id = token.organization_id;
    const limited = limiter.count(token.id, request.method, (name, value) => reply.header(name, value));
    if (limited) throw limited;
    const missing = scopes.filter((scope) => !token.scopes.includes(scope));
    if (missing.length > 0) {
      throw new Problem(
        'insufficient_scope',
        `The token does not have the required ${missing.length === 1 ? 'scope' : 'scopes'} ${missing.join(' and ')}.`,
      );
    }
  });
}

function isWrite(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

export function bearerText(request: FastifyRequest): string {
  return /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
}

function unauthenticated(detail: string): Problem {
  return new Problem('unauthenticated', detail, { headers: { 'WWW-Authenticate': 'Bearer' } });
}

function faultOf(text: string): string {
  if (text === '') return 'Send an access token: Authorization: Bearer <token>.';
  const fault = 'The access token is malformed, unknown, expired or revoked.';
  return text.startsWith('pht_')
    ? fault
    : `${fault} Access tokens start with pht_. The platform token works only on the platform listener.`;
}

const platformTokenNeeded = 'Send the platform token: Authorization: Bearer <POSTHORN_PLATFORM_TOKEN>.';

/** Requires the platform token for every route that is not open. Limits wrong tokens by address. */
export function requirePlatformToken(app: FastifyInstance, token: string, guesses: GuessLimit): void {
  const isToken = tokenComparison(token);
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.routeOptions.config.open) return done();
    const given = bearerText(request);
    if (isToken(given)) return done();
    throw (given && guesses.count(request.sourceAddress)) || unauthenticated(platformTokenNeeded);
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
