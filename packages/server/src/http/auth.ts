import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../domain/problem.js';
import { isTokenText, isUsable, type Scope, type Token, tokenHash } from '../domain/token.js';
import type { Database } from '../storage/database.js';
import { findToken, touchTokens } from '../storage/tokens.js';
import type { GuessLimit } from '../web/guess-limit.js';
import type { RateLimiter } from './rate-limit.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scopes that a request needs. A route without scopes is open to everyone. */
    scopes?: readonly Scope[];
  }
  interface FastifyRequest {
    /** The token of an authenticated request. */
    token: Token;
  }
}

/** A revocation must take effect within 2 s everywhere, so nothing is cached for longer than half of that. */
const rememberMs = 1_000;
const rememberedMax = 10_000;

/** Looks up tokens, at most once per second each, and notes when they were last used. */
export class TokenDirectory {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #remembered = new Map<string, { untilMs: number; token: Promise<Token | undefined> }>();
  #lastUsed = new Map<string, Date>();

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  async find(text: string): Promise<Token | undefined> {
    if (!isTokenText(text)) return undefined;
    const nowMs = this.#now();
    const token = await this.#lookUp(text, nowMs);
    if (!token || !isUsable(token, nowMs)) return undefined;
    this.#lastUsed.set(token.id, new Date(nowMs));
    return token;
  }

  /** Returns whether this token was valid a moment ago. */
  knows(text: string): boolean {
    return isTokenText(text) && this.#remembered.has(tokenHash(text).toString('base64'));
  }

  async #lookUp(text: string, nowMs: number): Promise<Token | undefined> {
    const hash = tokenHash(text);
    const key = hash.toString('base64');
    const known = this.#remembered.get(key);
    if (known && known.untilMs > nowMs) return known.token;
    const token = findToken(this.#database, hash);
    // Unknown tokens are not cached, so that guessing cannot fill the memory.
    this.#remembered.set(key, { untilMs: nowMs + rememberMs, token });
    if (this.#remembered.size > rememberedMax) this.#forgetOldest();
    try {
      const found = await token;
      if (!found) this.#remembered.delete(key);
      return found;
    } catch (error) {
      this.#remembered.delete(key);
      throw error;
    }
  }

  #forgetOldest(): void {
    const oldest = this.#remembered.keys().next();
    if (!oldest.done) this.#remembered.delete(oldest.value);
  }

  /** Writes the last-used times collected since the last call, in one statement. */
  async flush(): Promise<void> {
    const lastUsed = this.#lastUsed;
    this.#lastUsed = new Map();
    await touchTokens(this.#database, lastUsed);
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
    // A guess must not reach the database. A client that shares the address and was let in before is not affected.
    const refusal = guesses.refusal(request.sourceAddress);
    if (refusal && !tokens.knows(text)) throw refusal;
    const token = await tokens.find(text);
    if (!token) throw (text && guesses.count(request.sourceAddress)) || unauthenticated(request);
    request.token = token;
    request.logFields.token_id = token.id;
    request.logFields.organization_id = token.organization_id;
    const limited = limiter.count(token.id, request.method, (name, value) => reply.header(name, value));
    if (limited) throw limited;
    const missing = scopes.filter((scope) => !token.scopes.includes(scope));
    if (missing.length > 0) {
      throw new Problem(
        'insufficient_scope',
        `The token does not have the required scope ${missing.join(' and ')}.`,
      );
    }
  });
}

export function bearerText(request: FastifyRequest): string {
  return /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
}

function unauthenticated(request: FastifyRequest): Problem {
  const detail = request.headers.authorization
    ? 'The access token is malformed, unknown, expired or revoked.'
    : 'Send an access token: Authorization: Bearer <token>.';
  return new Problem('unauthenticated', detail, { headers: { 'WWW-Authenticate': 'Bearer' } });
}
