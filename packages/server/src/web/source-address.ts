import { type Cidr, isListed, plainAddress } from '../values/address.js';

/**
 * Returns the address that a request comes from: the peer of the connection, or, if that is a trusted proxy, the
 * address that the proxy reports. Proxies append to `X-Forwarded-For`, so the list is read backward, up to the first
 * address that is not a trusted proxy. Anybody could have written the entries before it.
 */
export function sourceAddress(
  peer: string,
  forwardedFor: string | undefined,
  trusted: readonly Cidr[],
): string {
  let address = plainAddress(peer) ?? peer;
  if (forwardedFor === undefined || trusted.length === 0) return address;
  for (const entry of forwardedFor.split(',').reverse()) {
    if (!isListed(trusted, address)) return address;
    const reported = plainAddress(withoutPort(entry.trim()));
    // The entry is not an address, so use the last known address.
    if (reported === undefined) return address;
    address = reported;
  }
  return address;
}

/** Removes the port that some proxies add: `192.0.2.1:4711` or `[2001:db8::1]:4711`. */
function withoutPort(text: string): string {
  return /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text;
}
