const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Returns the time in an identifier that ends in a ULID, or undefined if it has none. */
export function idTimeMs(id: string): number | undefined {
  const ulid = /^[A-Z]+-([0-7][0-9A-HJKMNP-TV-Z]{25})$/.exec(id)?.[1];
  if (!ulid) return undefined;
  let ms = 0;
  for (const letter of ulid.slice(0, 10)) ms = ms * 32 + alphabet.indexOf(letter);
  return ms;
}

/** Shortens a long identifier in the middle: `EVT-01M7…H5B9Q`. */
export function shortId(id: string): string {
  return id.length <= 20 ? id : `${id.slice(0, 8)}…${id.slice(-5)}`;
}

/** Returns a key that makes it safe to send the same action more than once. */
export function newActionKey(): string {
  // crypto.randomUUID exists in secure contexts only, and a self-hosted console may be served over plain HTTP.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Returns a signing secret in the format of Standard Webhooks. */
export function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}
