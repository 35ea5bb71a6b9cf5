/** Returns the value of an option, or throws if a header cannot contain it. A retry would not help. */
export function headerOption(name: string, value: string): string {
  if (isHeaderValue(value)) return value;
  throw new TypeError(
    `${name} contains a character that an HTTP header cannot contain: ${JSON.stringify(value)}`,
  );
}

/** Returns whether `fetch` would accept this value in a header. Its own error can contain the value. */
export function isHeaderValue(value: string): boolean {
  try {
    return new Headers({ Authorization: value }).has('Authorization');
  } catch {
    return false;
  }
}

/** Returns the value of an option that counts something, or throws if it is not from 1 to `max`. */
export function countOption(name: string, value: number, max = Number.POSITIVE_INFINITY): number {
  const isCount = Number.isInteger(value) || value === Number.POSITIVE_INFINITY;
  if (isCount && value >= 1 && value <= max) return value;
  const range = Number.isFinite(max) ? `from 1 to ${max}` : 'of at least 1';
  throw new RangeError(`${name} must be a whole number ${range}, but is ${value}`);
}

/** Returns the value of an option that limits a size, or throws if it is not positive. */
export function sizeOption(name: string, value: number): number {
  if (value > 0) return value;
  throw new RangeError(`${name} must be greater than 0, but is ${value}`);
}
