const jsonOid = 114;

/**
 * JSON texts as an array in PostgreSQL's binary form, which takes them as they are. As text, every quote in
 * them would have to be escaped.
 */
export function jsonArray(texts: readonly string[]): Buffer {
  const joined = Buffer.from(texts.join(''));
  const buffer = Buffer.allocUnsafe(20 + 4 * texts.length + joined.length);
  // One dimension, no nulls, of this type, so many elements, counted from one.
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
