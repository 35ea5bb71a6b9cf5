/** An array as PostgreSQL reads it, made in one go: the driver's own way takes as long as an attempt's signature. */
export function arrayText<Row>(
  rows: readonly Row[],
  read: (row: Row) => number | string | null | undefined,
): string {
  let text = '{';
  for (const row of rows) {
    if (text.length > 1) text += ',';
    const value = read(row);
    if (value === null || value === undefined) text += 'null';
    else if (typeof value === 'number') text += value;
    else text += special.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : `"${value}"`;
  }
  return `${text}}`;
}

const special = /["\\]/;
