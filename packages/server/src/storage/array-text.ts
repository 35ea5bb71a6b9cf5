/**
 * Returns an array in PostgreSQL's text form, in one pass: the driver's own encoding takes as long as signing an
 * attempt. Returns null if all values are null: next to other arrays, `unnest` treats null like an array of nulls.
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
