const jsonOid = 114;

/**
 * Encodes JSON texts as an array in PostgreSQL's binary form. In the text form, every quote would have to be escaped.
 */
export function jsonArray(texts: readonly string[]): Buffer {
  const joined = Buffer.from(texts.join(''));
  const buffer = Buffer.allocUnsafe(20 + 4 * texts.length + joined.length);
  // The header: dimensions, has nulls, element type, number of elements, lower bound.
  let at = 0;
  for (const number of [1, 0, jsonOid, texts.length, 1]) at = buffer.writeInt32BE(number, at);
  const isAscii = joined.length === texts.reduce((length, text) => length + text.length, 0);
  let from = 0;
  for (const text of texts) {
    const length = isAscii ? text.length : Buffer.byteLength(text);
    at = buffer.writeInt32BE(length, at);
    at += joined.copy(buffer, at, from, from + length);
    from += length;
  }
  return buffer;
}
