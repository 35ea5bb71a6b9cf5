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
