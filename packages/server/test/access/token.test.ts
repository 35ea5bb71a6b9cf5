import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  defaultLifetimeMs,
  defaultScopes,
  isTokenText,
  isUsable,
  newTokenText,
  sameHash,
  type Token,
  tokenHash,
} from '../../src/access/token.js';

const nowMs = Date.UTC(2026, 10, 15);

function token(fields: Partial<Token>): Token {
  return {
    id: 'TOK-1',
    organization_id: 'ORG-1',
    workspace_id: null,
    scopes: defaultScopes,
    actor: { type: 'user', id: 'USR-1' },
    created_at: new Date(nowMs),
    expires_at: new Date(nowMs + 1),
    revoked_at: null,
    last_used_at: null,
    portal: false,
    ...fields,
  };
}

describe("a token's text", () => {
  test('is 32 random bytes after a prefix, and is recognized', () => {
    const texts = Array.from({ length: 1_000 }, newTokenText);
    expect(new Set(texts).size).toBe(texts.length);
    for (const text of texts) {
      expect(Buffer.from(text.replace(/^pht_/, ''), 'base64url')).toHaveLength(32);
      expect(isTokenText(text)).toBe(true);
    }
  });

  test('is not recognized if it is truncated, extended or has an invalid character', () => {
    fc.assert(
      fc.property(fc.nat(46), fc.constantFrom(' ', '.', '+', '/', '=', '\n', '\0', 'é'), (at, by) => {
        const text = newTokenText();
        for (const broken of [
          text.slice(0, -1),
          `${text}A`,
          `${text}\n`,
          ` ${text}`,
          text.slice(0, at) + by + text.slice(at + 1),
        ]) {
          expect(isTokenText(broken)).toBe(false);
        }
      }),
    );
  });
});

describe("a token's hash", () => {
  test('is the SHA-256 of its text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(tokenHash(text).toString('hex')).toBe(createHash('sha256').update(text, 'utf8').digest('hex'));
      }),
    );
  });

  test('differs for different texts', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect(sameHash(tokenHash(a), tokenHash(b))).toBe(a === b);
      }),
    );
  });

  test('of another length is another', () => {
    expect(sameHash(tokenHash('a'), tokenHash('a').subarray(0, 31))).toBe(false);
  });
});

describe('a token', () => {
  test('is valid until the millisecond it expires', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1_000, max: 1_000 }), (leftMs) => {
        expect(isUsable(token({ expires_at: new Date(nowMs + leftMs) }), nowMs)).toBe(leftMs > 0);
      }),
    );
  });

  test('that is revoked is not valid, whenever that was', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1_000, max: 1_000 }), (agoMs) => {
        expect(isUsable(token({ revoked_at: new Date(nowMs - agoMs) }), nowMs)).toBe(false);
      }),
    );
  });

  test('by default lasts a year and may read events and manage webhooks', () => {
    expect(defaultLifetimeMs).toBe(365 * 24 * 3_600_000);
    expect(defaultScopes).toEqual(['events:read', 'webhooks:read', 'webhooks:write']);
  });
});
