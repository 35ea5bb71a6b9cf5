import { hash } from 'node:crypto';

export type Order = 'asc' | 'desc';

/**
 * A position in a list that is sorted by time and ID: directly after the row with this time and ID, in the
 * order of the list. There may be no such row.
 */
export interface Position {
  atMs: number;
  id: string;
}

/** Returns the time and the ID of a position as values of a statement: null if the list begins at its start. */
export const valuesOf = (position: Position | undefined) =>
  position ? [new Date(position.atMs), position.id] : [null, null];

const version = 1;
const digestLength = 9;

/**
 * Encodes a position, with a digest of the position and the query of the list. A cursor is not secret and does not
 * grant access, so it is not signed and never expires. The digest detects a cursor that is damaged or from another
 * query.
 */
export function encodeCursor(position: Position, binding: string): string {
  const head = Buffer.alloc(7);
  head.writeUInt8(version, 0);
  head.writeUIntBE(position.atMs, 1, 6);
  const body = Buffer.concat([head, Buffer.from(position.id, 'latin1')]);
  return Buffer.concat([digest(body, binding), body]).toString('base64url');
}

/** Returns the position that a cursor encodes, or undefined if it is damaged or has another binding. */
export function decodeCursor(cursor: string, binding: string): Position | undefined {
  if (!/^[A-Za-z0-9_-]{20,200}$/.test(cursor)) return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length < digestLength + 7 || bytes.toString('base64url') !== cursor) return undefined;
  const body = bytes.subarray(digestLength);
  if (body[0] !== version || !digest(body, binding).equals(bytes.subarray(0, digestLength))) return undefined;
  const id = body.subarray(7).toString('latin1');
  // Anyone can compute the digest, so an ID that the database cannot handle, such as one with NUL, must be rejected
  // here.
  return /^[!-~]*$/.test(id) ? { atMs: body.readUIntBE(1, 6), id } : undefined;
}

/** Serializes the query of a list: names and values in a fixed order, without absent values. */
export function bindingOf(resource: string, filters: Record<string, string | number | undefined>): string {
  const given = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([resource, given]);
}

function digest(body: Buffer, binding: string): Buffer {
  return hash('sha256', Buffer.concat([Buffer.from(`${binding}\0`), body]), 'buffer').subarray(
    0,
    digestLength,
  );
}
