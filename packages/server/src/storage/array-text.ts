/**
 * An array as PostgreSQL reads it, made in one go: the driver's own way takes as long as an attempt's
 * signature. Null where there is nothing in it but nulls; `unnest` beside others makes the same of that.
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
