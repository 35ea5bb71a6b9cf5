import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A block of addresses: its first address and the length of its prefix in bits. */
export type Cidr = [first: Address, prefixBits: number];

/** `allowed`: on the operator's list, public or not. `public`: open to every webhook. `blocked`: everything else. */
export type AddressVerdict = 'public' | 'allowed' | 'blocked';

export interface AddressPolicy {
  judge(ip: string): AddressVerdict;
  readonly allowsNothing: boolean;
}

const blocks = (...texts: string[]): Cidr[] => texts.map((text) => ipaddr.parseCIDR(text));

// The blocks in IANA's two special-purpose registries, and a few others that cannot contain receivers. Blocks that the
// registries call globally reachable (AS112, AMT, the anycast services in 192.0.0.0/24 and 2001::/23) are included:
// they are protocol infrastructure. The first match gives the name, so narrow blocks come before wide ones.
const SPECIAL: Record<string, Cidr[]> = {
  unspecified: blocks('0.0.0.0/32', '::/128'),
  'this network': blocks('0.0.0.0/8'),
  loopback: blocks('127.0.0.0/8', '::1/128'),
  private: blocks('10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'),
  'unique-local': blocks('fc00::/7'),
  'link-local': blocks('169.254.0.0/16', 'fe80::/10'),
  'site-local': blocks('fec0::/10'),
  'carrier-grade NAT': blocks('100.64.0.0/10'),
  'protocol assignments': blocks('192.0.0.0/24'),
  documentation: blocks('192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20'),
  benchmarking: blocks('198.18.0.0/15', '2001:2::/48'),
  AS112: blocks('192.31.196.0/24', '192.175.48.0/24', '2001:4:112::/48', '2620:4f:8000::/48'),
  AMT: blocks('192.52.193.0/24', '2001:3::/32'),
  '6to4 relay': blocks('192.88.99.0/24'),
  multicast: blocks('224.0.0.0/4', 'ff00::/8'),
  broadcast: blocks('255.255.255.255/32'),
  reserved: blocks('240.0.0.0/4'),
  // Azure offers platform services to its virtual machines at this address, although it is registered as public.
  'cloud metadata': blocks('168.63.129.16/32'),
  'IPv4-mapped': blocks('::ffff:0:0/96'),
  'IPv4-translated': blocks('::ffff:0:0:0/96'),
  'IPv4-compatible': blocks('::/96'),
  NAT64: blocks('64:ff9b::/96'),
  'local NAT64': blocks('64:ff9b:1::/48'),
  discard: blocks('100::/64'),
  dummy: blocks('100:0:0:1::/64'),
  Teredo: blocks('2001::/32'),
  ORCHID: blocks('2001:10::/28', '2001:20::/28'),
  'drone remote ID': blocks('2001:30::/28'),
  'IETF protocol assignments': blocks('2001::/23'),
  '6to4': blocks('2002::/16'),
  'segment routing': blocks('5f00::/16'),
};

const GLOBAL_UNICAST: Cidr = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Parses an address as a socket does: only dotted decimal or IPv6. ipaddr.js alone would also accept 0x7f.1 and
 * 0177.0.0.1, and would read ::127.0.0.1 as ::ffff:127.0.0.1; the URL parser's hexadecimal form avoids that. Addresses
 * with a zone ID are refused, because they exist only on local links.
 */
function readAddress(text: string): Address | undefined {
  if (isIPv4(text)) return ipaddr.IPv4.parse(text);
  if (!isIPv6(text) || text.includes('%')) return undefined;
  return ipaddr.IPv6.parse(new URL(`http://[${text}]`).hostname.slice(1, -1));
}

/**
 * Returns an address in canonical form, or undefined if the text is not an address. An IPv4-mapped address is returned
 * as IPv4.
 */
function plainAddress(text: string): string | undefined {
  // There is only one way to write it.
  if (isIPv4(text)) return text;
  const address = readAddress(text);
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()
    ? address.toIPv4Address().toString()
    : address?.toString();
}

/** Returns whether an address is in one of the blocks. */
function isListed(blocks: readonly Cidr[], text: string): boolean {
  const address = readAddress(text);
  return address !== undefined && matches(blocks, address);
}

/** Returns the network that one client may control: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function networkOf(text: string): string {
  if (isIPv4(text)) return text;
  const address = readAddress(text);
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : text;
}

const matches = (blocks: readonly Cidr[], address: Address) =>
  blocks.some((cidr) => cidr[0].kind() === address.kind() && address.match(cidr));

function specialName(address: Address): string | undefined {
  const name = ipaddr.subnetMatch(address, SPECIAL, '');
  if (name !== '') return name;
  if (address instanceof ipaddr.IPv6 && !address.match(GLOBAL_UNICAST)) return 'not global unicast';
  return undefined;
}

/** Returns every IPv4 address that a tunnel or translator could extract from this IPv6 address. */
function embeddedIpv4(address: ipaddr.IPv6): ipaddr.IPv4[] {
  const bytes = address.toByteArray();
  const ipv4At = (start: number, mask = 0x00) =>
    new ipaddr.IPv4(bytes.slice(start, start + 4).map((byte) => byte ^ mask));

  switch (specialName(address)) {
    case 'IPv4-mapped':
    case 'IPv4-translated':
    case 'IPv4-compatible':
    case 'NAT64':
      return [ipv4At(12)];
    case 'local NAT64':
      // The translator's configuration decides where in the IPv6 address the IPv4 address is, so treat it as 0.0.0.0,
      // which is not public.
      return [ipaddr.IPv4.parse('0.0.0.0')];
    case '6to4':
      return [ipv4At(2)];
    case 'Teredo':
      return [ipv4At(4), ipv4At(12, 0xff)];
    default: {
      // ISATAP has no prefix. It is recognized by its interface identifiers.
      const marker = address.parts[5] === 0x5efe && (address.parts[4]! & ~0x0200) === 0;
      return marker ? [ipv4At(12)] : [];
    }
  }
}

export function createAddressPolicy(allow: readonly Cidr[]): AddressPolicy {
  function judgeAddress(address: Address): AddressVerdict {
    if (address instanceof ipaddr.IPv6) {
      const embedded = embeddedIpv4(address).map(judgeAddress);
      // The operating system connects to the IPv4 address in a mapped address, so listing the IPv4 address is enough.
      // Tunnels and translators must be listed as IPv6, and even then must not lead to a blocked IPv4 address.
      if (embedded[0] === 'allowed' && specialName(address) === 'IPv4-mapped') return 'allowed';
      if (embedded.includes('blocked')) return 'blocked';
    }
    if (matches(allow, address)) return 'allowed';
    return specialName(address) === undefined ? 'public' : 'blocked';
  }

  return {
    allowsNothing: allow.length === 0,
    judge(ip) {
      const address = readAddress(ip);
      return address === undefined ? 'blocked' : judgeAddress(address);
    },
  };
}

/** Allows only public addresses. */
export const publicOnly = createAddressPolicy([]);

/** Judges the hostname of a WHATWG `URL` without DNS. Returns `unknown` if only DNS can decide. */
export function judgeUrlHost(hostname: string, policy: AddressPolicy): AddressVerdict | 'unknown' {
  const literal = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (isIPv4(literal) || isIPv6(literal)) return policy.judge(literal);
  if (!/(^|\.)localhost\.?$/.test(hostname)) return 'unknown';
  // `localhost` can resolve to either of these addresses. If it resolves to one that is not on the list, the connection
  // is refused.
  return ['127.0.0.1', '::1'].some((ip) => policy.judge(ip) === 'allowed') ? 'allowed' : 'blocked';
}

/** Returns why an address is blocked, as text: `loopback`, `private`, … */
export function describeAddress(ip: string): string {
  const address = readAddress(ip);
  if (address === undefined) return 'not a plain IP address';
  return specialName(address) ?? 'ISATAP';
}

/** Parses blocks that are separated by commas. Returns undefined if one of them is not valid. */
export function parseCidrs(text: string): Cidr[] | undefined {
  if (text.trim() === '') return [];
  const parsed = text.split(',').map((part) => parseCidr(part.trim()));
  return parsed.every((cidr) => cidr !== undefined) ? parsed : undefined;
}

/**
 * Refuses a block such as 10.0.0.5/8, which would allow far more than its author probably intended, and IPv4 blocks that
 * are written as IPv6.
 */
function parseCidr(entry: string): Cidr | undefined {
  const [, base = '', prefix] = /^([^/]*)(?:\/(0|[1-9]\d{0,2}))?$/.exec(entry) ?? [];
  const address = readAddress(base);
  const family = address instanceof ipaddr.IPv4 ? ipaddr.IPv4 : ipaddr.IPv6;
  const bitsMax = family === ipaddr.IPv4 ? 32 : 128;
  const bits = prefix === undefined ? bitsMax : Number(prefix);
  if (address === undefined || bits > bitsMax) return undefined;
  if (bits >= 96 && specialName(address) === 'IPv4-mapped') return undefined;
  const first = family.networkAddressFromCIDR(`${address}/${bits}`).toString();
  return first === address.toString() ? [address, bits] : undefined;
}

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
