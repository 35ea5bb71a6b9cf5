/**
 * Returns one column of the rows as an array in PostgreSQL's text form. The driver's own encoding would take as long as
 * signing an attempt. Returns null if all values are null: in an `unnest` of several arrays, null counts as an array of
 * nulls.
 */
export function arrayText<Row>(
  rows: readonly Row[],
  read: (row: Row) => number | string | null | undefined,
): string | null {
  let text = '{';
  let isEmpty = true;
  for (const row of rows) {
    if (text.length > 1) text += ',';
    const value = read(row);
    if (value === null || value === undefined) {
      text += 'null';
      continue;
    }
    isEmpty = false;
    if (typeof value === 'number') text += value;
    else text += special.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : `"${value}"`;
  }
  return isEmpty ? null : `${text}}`;
}

const special = /["\\]/;

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
