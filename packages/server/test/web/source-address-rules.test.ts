import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { networkOf, parseCidrs, sourceAddress } from '../../src/values/address.js';

const cidrs = (text: string) => parseCidrs(text)!;

const trusted = cidrs('10.0.0.0/8,fd00::/8');

describe('the address that a request comes from', () => {
  it.each([
    ['a client that connects directly', '198.51.100.7', undefined, '198.51.100.7'],
    ['a client that writes the header itself', '198.51.100.7', '203.0.113.9', '198.51.100.7'],
    ['a client behind a proxy', '10.0.0.1', '198.51.100.7', '198.51.100.7'],
    ['a client behind two proxies', '10.0.0.1', '198.51.100.7, 10.0.0.2', '198.51.100.7'],
    [
      'a client that writes the header behind a proxy',
      '10.0.0.1',
      '203.0.113.9, 198.51.100.7',
      '198.51.100.7',
    ],
    ['a client that claims to be a proxy', '10.0.0.1', '10.9.9.9, 198.51.100.7', '198.51.100.7'],
    ['a proxy that reports nothing', '10.0.0.1', undefined, '10.0.0.1'],
    ['a proxy that reports no address', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['a text behind a proxy', '10.0.0.1', "198.51.100.7, <script>'", '10.0.0.1'],
    ['a proxy on a socket for both families', '::ffff:10.0.0.1', '198.51.100.7', '198.51.100.7'],
    ['a proxy that adds the port', '10.0.0.1', '198.51.100.7:4711', '198.51.100.7'],
    ['a proxy that adds the port to IPv6', 'fd00::1', '[2001:db8::7]:4711', '2001:db8::7'],
    ['only proxies', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ])('of %s', (_what, peer, header, expected) => {
    expect(sourceAddress(peer, header, trusted)).toBe(expected);
  });

  it('is the peer if there are no trusted proxies, whatever the header says', () => {
    fc.assert(fc.property(fc.string(), (header) => sourceAddress('127.0.0.1', header, []) === '127.0.0.1'));
  });

  it('is always an address, whatever a trusted proxy passes on', () => {
    const entry = fc.oneof(fc.ipV4(), fc.ipV6(), fc.string());
    const isAddress = /^[0-9a-f.:]+$/;
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 5 }), (entries) =>
        isAddress.test(sourceAddress('10.0.0.1', entries.join(','), trusted)),
      ),
    );
  });
});

it('the network of a client is its IPv4 address, or 64 bits of its IPv6 address', () => {
  expect(networkOf('198.51.100.7')).toBe('198.51.100.7');
  expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe(networkOf('2001:db8:1:2::'));
  expect(networkOf('2001:db8:1:2::')).not.toBe(networkOf('2001:db8:1:3::'));
});
