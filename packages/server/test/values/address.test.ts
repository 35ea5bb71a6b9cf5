import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AddressVerdict,
  createAddressPolicy,
  describeAddress,
  judgeUrlHost,
  parseCidrs,
} from '../../src/values/address.js';
import { anyCharacter } from '../support/any-character.js';

const policyFor = (text: string) => createAddressPolicy(parseCidrs(text)!);

const strict = policyFor('');

const FORMS: [text: string, expected: AddressVerdict][] = [
  ['1.1.1.1', 'public'],
  ['8.8.8.8', 'public'],
  ['9.255.255.255', 'public'],
  ['11.0.0.0', 'public'],
  ['93.184.215.14', 'public'],
  ['100.63.255.255', 'public'],
  ['100.128.0.0', 'public'],
  ['169.253.255.255', 'public'],
  ['172.15.255.255', 'public'],
  ['172.32.0.0', 'public'],
  ['192.0.1.0', 'public'],
  ['192.169.0.0', 'public'],
  ['198.17.255.255', 'public'],
  ['198.20.0.0', 'public'],
  ['223.255.255.255', 'public'],
  ['2000::1', 'public'],
  ['2001:200::1', 'public'],
  ['2001:4860:4860::8888', 'public'],
  ['2001:4860:4860:0:0:0:0:8888', 'public'],
  ['2001:4860:4860::8.8.8.8', 'public'],
  ['2003::1', 'public'],
  ['2606:4700:4700::1111', 'public'],
  ['2620:4f:7fff::1', 'public'],
  ['2620:4f:8001::1', 'public'],
  ['2A00:1450:4001:80F::200E', 'public'],
  ['3ffe:ffff::1', 'public'],
  ['3fff:1000::1', 'public'],

  ['0.0.0.0', 'blocked'],
  ['0.1.2.3', 'blocked'],
  ['10.0.0.0', 'blocked'],
  ['10.255.255.255', 'blocked'],
  ['100.64.0.0', 'blocked'],
  ['100.100.100.200', 'blocked'],
  ['100.127.255.255', 'blocked'],
  ['127.0.0.1', 'blocked'],
  ['127.255.255.255', 'blocked'],
  ['168.63.129.16', 'blocked'],
  ['169.254.0.0', 'blocked'],
  ['169.254.169.254', 'blocked'],
  ['172.16.0.0', 'blocked'],
  ['172.31.255.255', 'blocked'],
  ['192.0.0.8', 'blocked'],
  ['192.0.0.9', 'blocked'],
  ['192.0.0.170', 'blocked'],
  ['192.0.0.192', 'blocked'],
  ['192.0.2.1', 'blocked'],
  ['192.31.196.1', 'blocked'],
  ['192.52.193.1', 'blocked'],
  ['192.88.99.1', 'blocked'],
  ['192.168.1.1', 'blocked'],
  ['192.175.48.1', 'blocked'],
  ['198.18.0.1', 'blocked'],
  ['198.19.255.255', 'blocked'],
  ['198.51.100.1', 'blocked'],
  ['203.0.113.1', 'blocked'],
  ['224.0.0.1', 'blocked'],
  ['239.255.255.250', 'blocked'],
  ['240.0.0.1', 'blocked'],
  ['255.255.255.255', 'blocked'],

  ['::', 'blocked'],
  ['::1', 'blocked'],
  ['0:0:0:0:0:0:0:1', 'blocked'],
  ['0000:0000:0000:0000:0000:0000:0000:0001', 'blocked'],
  ['::2', 'blocked'],
  ['::ffff:127.0.0.1', 'blocked'],
  ['::FFFF:7F00:1', 'blocked'],
  ['0:0:0:0:0:ffff:10.0.0.1', 'blocked'],
  ['::ffff:8.8.8.8', 'blocked'],
  ['::127.0.0.1', 'blocked'],
  ['::7f00:1', 'blocked'],
  ['::8.8.8.8', 'blocked'],
  ['::ffff:0:127.0.0.1', 'blocked'],
  ['::ffff:0:808:808', 'blocked'],
  ['64:ff9b::127.0.0.1', 'blocked'],
  ['64:ff9b::a9fe:a9fe', 'blocked'],
  ['64:ff9b::8.8.8.8', 'blocked'],
  ['64:ff9b:1::10.0.0.1', 'blocked'],
  ['64:ff9b:1:a00::1', 'blocked'],
  ['100::1', 'blocked'],
  ['100:0:0:1::1', 'blocked'],
  ['100:0:0:2::1', 'blocked'],
  ['1fff:ffff::1', 'blocked'],
  ['2001::1', 'blocked'],
  ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'blocked'],
  ['2001:1::1', 'blocked'],
  ['2001:1::2', 'blocked'],
  ['2001:1::3', 'blocked'],
  ['2001:2::1', 'blocked'],
  ['2001:3::1', 'blocked'],
  ['2001:4:112::1', 'blocked'],
  ['2001:10::1', 'blocked'],
  ['2001:20::1', 'blocked'],
  ['2001:2f:ffff::1', 'blocked'],
  ['2001:30::1', 'blocked'],
  ['2001:1ff:ffff::1', 'blocked'],
  ['2001:db8::1', 'blocked'],
  ['2002:7f00:1::', 'blocked'],
  ['2002:a9fe:a9fe::1', 'blocked'],
  ['2002:808:808::1', 'blocked'],
  ['2606:4700::5efe:10.0.0.1', 'blocked'],
  ['2606:4700::200:5efe:7f00:1', 'blocked'],
  ['2620:4f:8000::1', 'blocked'],
  ['3fff::1', 'blocked'],
  ['3fff:fff:ffff::1', 'blocked'],
  ['4000::1', 'blocked'],
  ['5f00::1', 'blocked'],
  ['fc00::1', 'blocked'],
  ['fd00:ec2::254', 'blocked'],
  ['fe80::1', 'blocked'],
  ['febf::1', 'blocked'],
  ['fe80::1%eth0', 'blocked'],
  ['2606:4700:4700::1111%eth0', 'blocked'],
  ['fec0::1', 'blocked'],
  ['ff02::1', 'blocked'],
  ['ff0e::1', 'blocked'],

  ['', 'blocked'],
  [' 8.8.8.8', 'blocked'],
  ['8.8.8.8 ', 'blocked'],
  ['8.8.8.8.', 'blocked'],
  ['8.8.8', 'blocked'],
  ['8.8', 'blocked'],
  ['134744072', 'blocked'],
  ['0x8080808', 'blocked'],
  ['0x08.8.8.8', 'blocked'],
  ['010.8.8.8', 'blocked'],
  ['08.8.8.8', 'blocked'],
  ['256.8.8.8', 'blocked'],
  ['8.8.8.8/32', 'blocked'],
  ['８.8.8.8', 'blocked'],
  ['[2606:4700:4700::1111]', 'blocked'],
  ['2606:4700::4700::1111', 'blocked'],
  ['2606:4700:4700:0:0:0:0:0:1111', 'blocked'],
  ['example.com', 'blocked'],
];

describe('with nothing allowed', () => {
  test.each(FORMS)('%j is %s', (text, expected) => {
    expect(strict.judge(text)).toBe(expected);
  });
});

// Taken from the registries by hand, so that a row lost in the source is missed here.
const SPECIAL_IPV4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24'],
  ...['192.168.0.0/16', '192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
];
const SPECIAL_IPV6 = [
  ...['0:0:0:0:0:0:0:0/8', '0:0:0:0:0:ffff:0:0/96', '0:0:0:0:ffff:0:0:0/96', '64:ff9b:0:0:0:0:0:0/96'],
  ...['64:ff9b:1:0:0:0:0:0/48', '100:0:0:0:0:0:0:0/64', '100:0:0:1:0:0:0:0/64', '2001:0:0:0:0:0:0:0/23'],
  ...['2001:db8:0:0:0:0:0:0/32', '2002:0:0:0:0:0:0:0/16', '2620:4f:8000:0:0:0:0:0/48'],
  ...['3fff:0:0:0:0:0:0:0/20', '4000:0:0:0:0:0:0:0/2', '5f00:0:0:0:0:0:0:0/16', '8000:0:0:0:0:0:0:0/1'],
  ...['fc00:0:0:0:0:0:0:0/7', 'fe80:0:0:0:0:0:0:0/10', 'fec0:0:0:0:0:0:0:0/10', 'ff00:0:0:0:0:0:0:0/8'],
];

/** Any address of a block, written group by group. */
function addressIn(block: string, separator: '.' | ':') {
  const [base = '', prefix] = block.split('/');
  const [groupBits, radix] = separator === '.' ? [8, 10] : [16, 16];
  const groups = base.split(separator).map((group) => Number.parseInt(group, radix));
  const width = BigInt(groups.length * groupBits);
  const first = groups.reduce((sum, group) => (sum << BigInt(groupBits)) | BigInt(group), 0n);
  return fc.bigInt(0n, (1n << (width - BigInt(prefix!))) - 1n).map((offset) => {
    const value = first + offset;
    const mask = (1n << BigInt(groupBits)) - 1n;
    return groups
      .map((_, index) => (value >> (width - BigInt((index + 1) * groupBits))) & mask)
      .map((group) => group.toString(radix))
      .join(separator);
  });
}

describe('for any address', () => {
  test.each(SPECIAL_IPV4)('every address in %s is blocked, even inside IPv6', (block) => {
    fc.assert(
      fc.property(addressIn(block, '.'), (ip) => {
        const wrapped = ['::ffff:', '::', '::ffff:0:', '64:ff9b::', '2606:4700::5efe:'].map(
          (head) => head + ip,
        );
        for (const form of [ip, ...wrapped]) expect(strict.judge(form), form).toBe('blocked');
      }),
    );
  });

  test.each(SPECIAL_IPV6)('every address in %s is blocked', (block) => {
    fc.assert(fc.property(addressIn(block, ':'), (ip) => strict.judge(ip) === 'blocked'));
  });

  test('a blocked IPv4 address is blocked in its mapped form, and a listed one is allowed in both', () => {
    const policy = policyFor('10.0.0.0/8,127.0.0.0/8');
    fc.assert(
      fc.property(fc.ipV4(), (ip) => {
        const plain = policy.judge(ip);
        expect(policy.judge(`::ffff:${ip}`)).toBe(plain === 'allowed' ? 'allowed' : 'blocked');
      }),
    );
  });

  test('never throws', () => {
    const anything = fc.oneof(fc.string(), fc.ipV6(), fc.ipV4Extended(), fc.string({ unit: anyCharacter }));
    fc.assert(fc.property(anything, (text) => ['public', 'blocked'].includes(strict.judge(text))));
  });
});

describe('with an allow-list', () => {
  const loopback = policyFor('127.0.0.0/8, ::1/128');

  test.each<[text: string, expected: AddressVerdict]>([
    ['127.0.0.1', 'allowed'],
    ['127.255.255.255', 'allowed'],
    ['::1', 'allowed'],
    ['::ffff:127.0.0.1', 'allowed'],
    ['::ffff:7f00:1', 'allowed'],
    ['8.8.8.8', 'public'],
    ['10.0.0.1', 'blocked'],
    ['::', 'blocked'],
    ['::127.0.0.1', 'blocked'],
    ['64:ff9b::127.0.0.1', 'blocked'],
    ['2002:7f00:1::', 'blocked'],
    ['::ffff:10.0.0.1', 'blocked'],
    ['::ffff:8.8.8.8', 'blocked'],
  ])('with loopback listed, %s is %s', (text, expected) => {
    expect(loopback.judge(text)).toBe(expected);
  });

  test('a listed public address counts as allowed', () => {
    expect(policyFor('8.8.8.0/24').judge('8.8.8.8')).toBe('allowed');
  });

  test('a listed translator leads only to public IPv4 addresses', () => {
    const policy = policyFor('64:ff9b::/96,64:ff9b:1::/48,2002::/16,2001::/32');
    expect(policy.judge('64:ff9b::8.8.8.8')).toBe('allowed');
    expect(policy.judge('64:ff9b::169.254.169.254')).toBe('blocked');
    expect(policy.judge('64:ff9b:1::8.8.8.8')).toBe('blocked');
    expect(policy.judge('2002:808:808::1')).toBe('allowed');
    expect(policy.judge('2002:a9fe:a9fe::1')).toBe('blocked');
    expect(policy.judge('2001:0:808:808:0:0:f7f7:f7f7')).toBe('allowed');
    expect(policy.judge('2001:0:808:808:0:0:80ff:fffe')).toBe('blocked');
    expect(policy.judge('2001:0:7f00:1:0:0:f7f7:f7f7')).toBe('blocked');
  });

  test('a listed link-local network does not allow zone ids', () => {
    expect(policyFor('fe80::/10').judge('fe80::1')).toBe('allowed');
    expect(policyFor('fe80::/10').judge('fe80::1%eth0')).toBe('blocked');
  });

  test('listing all of IPv6 does not allow IPv4', () => {
    expect(policyFor('::/0').judge('fd00::1')).toBe('allowed');
    const heads = ['', '::ffff:', '::', '::ffff:0:', '64:ff9b::', '64:ff9b:1::', 'fd00::5efe:'];
    for (const head of heads) expect(policyFor('::/0').judge(`${head}127.0.0.1`), head).toBe('blocked');
  });
});

test.each([
  ['127.0.0.1', 'loopback'],
  ['0.0.0.0', 'unspecified'],
  ['::', 'unspecified'],
  ['255.255.255.255', 'broadcast'],
  ['::10.0.0.1', 'IPv4-compatible'],
  ['::ffff:0:10.0.0.1', 'IPv4-translated'],
  ['100::1', 'discard'],
  ['100:0:0:1::1', 'dummy'],
  ['2001:2::1', 'benchmarking'],
  ['2001:3::1', 'AMT'],
  ['2001:4:112::1', 'AS112'],
  ['2001:10::1', 'ORCHID'],
  ['2001:20::1', 'ORCHID'],
  ['2001:30::1', 'drone remote ID'],
  ['5f00::1', 'segment routing'],
  ['fd00::1', 'unique-local'],
  ['fe80::1', 'link-local'],
  ['fec0::1', 'site-local'],
  ['ff02::1', 'multicast'],
  ['4000::1', 'not global unicast'],
  ['2606:4700::5efe:10.0.0.1', 'ISATAP'],
  ['fe80::1%eth0', 'not a plain IP address'],
])('%s is described as %s', (text, description) => {
  expect(describeAddress(text)).toBe(description);
});

describe('the setting', () => {
  test.each([
    ['', ''],
    ['  ', ''],
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['10.1.2.3', '10.1.2.3/32'],
    ['fd00::1', 'fd00::1/128'],
    ['127.0.0.0/8, ::1/128', '127.0.0.0/8 ::1/128'],
    ['0.0.0.0/0,::/0', '0.0.0.0/0 ::/0'],
    ['FD00:0::/8', 'fd00::/8'],
  ])('%j is accepted', (text, expected) => {
    expect(
      parseCidrs(text)
        ?.map((cidr) => cidr.join('/'))
        .join(' '),
    ).toBe(expected);
  });

  test.each([
    '10.0.0.5/8',
    'fd00::1/64',
    '::ffff:127.0.0.0/104',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/08',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10/8',
    '0x7f.1',
    '010.0.0.0/8',
    'fe80::%eth0/10',
    'localhost',
    '10.0.0.0/8,',
    '10.0.0.0/8 127.0.0.0/8',
  ])('%j is refused', (text) => {
    expect(parseCidrs(text)).toBeUndefined();
  });
});

describe('a host in a URL', () => {
  const blocked = [
    ...[
      '127.0.0.1',
      '127.1',
      '0x7f.1',
      '0x7f000001',
      '2130706433',
      '0177.0.0.1',
      '017700000001',
      '127.0.0.1.',
    ],
    ...[
      '１２７.0.0.1',
      '①②⑦.0.0.1',
      '127。0。0。1',
      '%31%32%37.0.0.1',
      '[::1]',
      '[::ffff:7f00:1]',
      '[::127.0.0.1]',
    ],
    ...['0', '0x0', '10.1', '3232235777', '0xa9fea9fe', '169.254.43518', '[fe80::1]', '[64:ff9b::a00:1]'],
    ...['localhost', 'LOCALHOST', 'localhost.', 'a.b.localhost', 'ｌｏｃａｌｈｏｓｔ', 'loc\u00adalhost'],
  ];

  test.each(blocked)('%s is refused without DNS', (host) => {
    expect(judgeUrlHost(new URL(`https://${host}/`).hostname, strict)).toBe('blocked');
  });

  test.each([
    ['8.8.8.8', 'public'],
    ['134744072', 'public'],
    ['[2606:4700:4700::1111]', 'public'],
    ['example.com', 'unknown'],
    ['notlocalhost', 'unknown'],
    ['localhost.example.com', 'unknown'],
    ['127.0.0.1.nip.io', 'unknown'],
    ['metadata.google.internal', 'unknown'],
  ])('%s is %s', (host, expected) => {
    expect(judgeUrlHost(new URL(`https://${host}/`).hostname, strict)).toBe(expected);
  });

  test('localhost is allowed with either loopback family', () => {
    for (const allow of ['127.0.0.0/8', '::1', '127.0.0.1,::1']) {
      expect(judgeUrlHost('localhost', policyFor(allow))).toBe('allowed');
    }
    expect(judgeUrlHost('localhost', policyFor('10.0.0.0/8'))).toBe('blocked');
  });
});
