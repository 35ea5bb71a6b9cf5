import { randomBytes } from 'node:crypto';

/** Who caused an event, what it is about, or what an audit entry is about. */
export interface Reference {
  type: string;
  id: string;
}

const crockfordUlid = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

export type Prefix = 'EVT' | 'WHK' | 'WDLV' | 'TOK' | 'AUD' | 'RPL' | 'REQ';

/** Returns a new ID: a prefix and a ULID. The first ten characters of a ULID encode the time, so IDs sort by age. */
export function newId(prefix: Prefix, nowMs: number, random: Uint8Array = randomBytes(16)): string {
  let time = '';
  for (let rest = nowMs, digit = 0; digit < 10; digit += 1, rest = Math.floor(rest / 32)) {
    time = alphabet.charAt(rest % 32) + time;
  }
  return `${prefix}-${time}${Array.from(random, (byte) => alphabet.charAt(byte & 31)).join('')}`;
}

/** Returns the time in an ID that Posthorn created, or undefined for any other ID. */
export function idTimeMs(prefix: Prefix, id: string): number | undefined {
  if (!id.startsWith(`${prefix}-`)) return undefined;
  const body = id.slice(prefix.length + 1);
  if (!crockfordUlid.test(body)) return undefined;
  let ms = 0;
  for (const character of body.slice(0, 10)) ms = ms * 32 + alphabet.indexOf(character);
  return ms;
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
