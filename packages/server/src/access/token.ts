import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { newId, type Reference } from '../values/identifier.js';
import { dayMs } from '../values/time.js';

export const scopes = ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'] as const;
export type Scope = (typeof scopes)[number];

export const defaultScopes: readonly Scope[] = ['events:read', 'webhooks:read', 'webhooks:write'];
export const defaultLifetimeMs = 365 * dayMs;
export const lifetimeMsMax = 36_500 * dayMs;
/** The default lifetime of a portal session: about as long as a visit to the console. */
export const sessionLifetimeMs = 3_600_000;
export const sessionLifetimeMsMax = dayMs;

/** An access token without its text, which is not stored. */
export interface Token {
  id: string;
  organization_id: string;
  workspace_id: string | null;
  scopes: readonly Scope[];
  actor: Reference;
  created_at: Date;
  expires_at: Date;
  revoked_at: Date | null;
  last_used_at: Date | null;
  /** The display name of the organization. Only the token of a request has it. */
  organization_name?: string | null;
  /** Whether the token is a portal session: created for a link to the console, and deleted a day after it expires. */
  portal: boolean;
}

interface TokenRequest {
  organization_id: string;
  workspace_id: string | null;
  scopes: readonly Scope[];
  /** If undefined, the token itself is the actor. */
  actor: Reference | undefined;
  lifetimeMs: number;
  portal: boolean;
}

/** Returns a token that is valid from `nowMs`. */
export function newToken({ actor, lifetimeMs, ...request }: TokenRequest, nowMs: number): Token {
  const id = newId('TOK', nowMs);
  return {
    ...request,
    id,
    actor: actor ?? { type: 'token', id },
    created_at: new Date(nowMs),
    expires_at: new Date(nowMs + lifetimeMs),
    revoked_at: null,
    last_used_at: null,
  };
}

/**
 * Returns the text of a new token: 32 random bytes after a prefix that secret scanners and people recognize. If the
 * cell has a name, the prefix contains it, so that a proxy can route requests by token: `pht_eu1.…`. The random part
 * contains no period.
 */
export function newTokenText(cell?: string): string {
  const prefix = cell === undefined ? 'pht_' : `pht_${cell}.`;
  return `${prefix}${randomBytes(32).toString('base64url')}`;
}

const tokenText = /^pht_(?:([a-z0-9]{1,16})\.)?[A-Za-z0-9_-]{43}$/;

export function isTokenText(text: string): boolean {
  return tokenText.test(text);
}

/** Returns the name of the cell that created a token, if its text contains one. */
export function cellOf(text: string): string | undefined {
  return tokenText.exec(text)?.[1];
}

export function tokenHash(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

export function sameHash(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

export function isUsable(token: Token, nowMs: number): boolean {
  return token.revoked_at === null && token.expires_at.getTime() > nowMs;
}
