import { createHash } from 'node:crypto';

export type Order = 'asc' | 'desc';

/** A place between two rows: after (or, descending, before) everything at or up to this time and id. */
export interface Position {
  atMs: number;
  id: string;
}

const version = 1;
const digestLength = 9;

/**
 * A cursor: a position, and a digest over it and what the list was asked for. It holds nothing secret and
 * grants nothing, so it is not keyed and never expires; the digest catches one that was mangled, made up,
 * or brought along to another question.
 */
export function encodeCursor(position: Position, binding: string): string {
  const head = Buffer.alloc(7);
  head.writeUInt8(version, 0);
  head.writeUIntBE(position.atMs, 1, 6);
  const body = Buffer.concat([head, Buffer.from(position.id, 'latin1')]);
  return Buffer.concat([digest(body, binding), body]).toString('base64url');
}

/** The position of a cursor that was made for this binding, or undefined. */
export function decodeCursor(cursor: string, binding: string): Position | undefined {
  if (!/^[A-Za-z0-9_-]{20,200}$/.test(cursor)) return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length < digestLength + 7 || bytes.toString('base64url') !== cursor) return undefined;
  const body = bytes.subarray(digestLength);
  if (body[0] !== version || !digest(body, binding).equals(bytes.subarray(0, digestLength))) return undefined;
  const id = body.subarray(7).toString('latin1');
  // Anybody can compute the digest: what comes out must be harmless to the database, NUL being the worst.
  return /^[!-~]*$/.test(id) ? { atMs: body.readUIntBE(1, 6), id } : undefined;
}

/** One text for what a list was asked for: names and values in a fixed order, absent ones left out. */
export function bindingOf(resource: string, filters: Record<string, string | number | undefined>): string {
  const given = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([resource, given]);
}

function digest(body: Buffer, binding: string): Buffer {
  return createHash('sha256').update(binding).update('\0').update(body).digest().subarray(0, digestLength);
}
