import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Reference } from './event.js';

export const scopes = ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'] as const;
export type Scope = (typeof scopes)[number];

export const defaultScopes: readonly Scope[] = ['events:read', 'webhooks:read', 'webhooks:write'];
export const defaultLifetimeMs = 365 * 86_400_000;

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
}

/** Returns a new token: 32 random bytes after a prefix that secret scanners and people recognise. */
export function newTokenText(): string {
  return `pht_${randomBytes(32).toString('base64url')}`;
}

const tokenText = /^pht_[A-Za-z0-9_-]{43}$/;

export function isTokenText(text: string): boolean {
  return tokenText.test(text);
}

export function tokenHash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

export function sameHash(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

export function isUsable(token: Token, nowMs: number): boolean {
  return token.revoked_at === null && token.expires_at.getTime() > nowMs;
}
