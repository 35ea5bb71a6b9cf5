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
