/**
 * A parsed JSON value that keeps the text of each number. Strings begin with `s`; numbers are strings that begin with
 * `n`.
 */
export type ExactJson =
  | null
  | boolean
  | string
  | readonly ExactJson[]
  | { readonly [key: string]: ExactJson };

const token = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d[\d.eE+-]*/g;

/** Parses valid JSON text without rounding numbers. */
export function parseExact(text: string): ExactJson {
  const marked = text.replace(token, (found, colon) => {
    if (colon !== undefined) return found;
    return found.startsWith('"') ? `"s${found.slice(1)}` : `"n${found}"`;
  });
  return JSON.parse(marked) as ExactJson;
}

/** Returns the value as compact JSON text, with its numbers as they were written. */
export function exactText(value: ExactJson): string {
  return JSON.stringify(value).replace(token, (found, colon) => {
    if (colon !== undefined) return found;
    return found.startsWith('"n') ? found.slice(2, -1) : `"${found.slice(2)}`;
  });
}

/** Compares two numbers by value, exactly. Takes them as JSON texts. Returns a negative number, 0 or a positive one. */
export function compareNumbers(one: string, other: string): number {
  const [a, b] = [decimalOf(one), decimalOf(other)];
  if (a.sign !== b.sign) return a.sign - b.sign;
  if (a.power !== b.power) return a.power > b.power ? a.sign : -a.sign;
  if (a.digits === b.digits) return 0;
  return a.digits > b.digits ? a.sign : -a.sign;
}

/** Returns a number as 0.`digits` times ten to the `power`, without zeros at either end of the digits. */
function decimalOf(text: string) {
  const [, minus, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text)!;
  const all = (whole + fraction).replace(/^0+/, '');
  const digits = all.replace(/0+$/, '');
  if (digits === '') return { sign: 0, power: 0, digits };
  return { sign: minus ? -1 : 1, power: all.length - fraction.length + Number(exponent), digits };
}
