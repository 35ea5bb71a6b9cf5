import { availableParallelism } from 'node:os';
import { describe, expect, test } from 'vitest';
import {
  type Config,
  ConfigError,
  readConfig,
  settings,
  unknownSettings,
} from '../../src/settings/config.js';

type Key = keyof typeof settings;

const key = Buffer.alloc(32, 7).toString('base64');
const otherKey = Buffer.alloc(32, 200).toString('base64');

/** For every setting: its variable, its default, texts with what is read from them, and texts refused. */
const table: Record<Key, { env: string; fallback: unknown; good: [string, unknown][]; bad: string[] }> = {
  databaseUrl: {
    env: 'DATABASE_URL',
    fallback: undefined,
    good: [
      ['postgres://u:p@db:5432/posthorn', 'postgres://u:p@db:5432/posthorn'],
      ['postgresql:///posthorn?host=/run/sock', 'postgresql:///posthorn?host=/run/sock'],
      ['postgres://u@/posthorn?host=/run/sock', 'postgres://u@/posthorn?host=/run/sock'],
      ['postgres://u:p%2Fw%23@db/x?sslmode=verify-full', 'postgres://u:p%2Fw%23@db/x?sslmode=verify-full'],
    ],
    bad: [
      ...['mysql://u:hunter2@db/x', 'db:5432', 'postgres://', 'postgres://u:p w@db/x'],
      ...['postgres://u:p/w@db/x', 'postgres://u:1/2@db/x', 'postgres://u:p#w@db/x', 'postgres://u:1#2@db/x'],
      ...['postgres://u:1?2@db/x', 'postgres://u:?p@db/x'],
      ...['postgres://u:p@a,b/x', 'postgres://u:p@a:1,b:2/x', 'postgres://u:p@db/x?sslrootcert=/no/such.pem'],
    ],
  },
  directDatabaseUrl: {
    env: 'POSTHORN_DIRECT_DATABASE_URL',
    fallback: undefined,
    good: [['postgres://u:p@db:5432/posthorn', 'postgres://u:p@db:5432/posthorn']],
    bad: ['mysql://u:hunter2@db/x'],
  },
  readDatabaseUrl: {
    env: 'POSTHORN_READ_DATABASE_URL',
    fallback: undefined,
    good: [['postgres://u:p@replica:5432/posthorn', 'postgres://u:p@replica:5432/posthorn']],
    bad: ['replica:5432', 'mysql://u:hunter2@db/x'],
  },
  processes: {
    env: 'POSTHORN_PROCESSES',
    fallback: undefined,
    good: [
      ['1', 1],
      ['64', 64],
      ['auto', Math.min(availableParallelism(), 8)],
    ],
    bad: ['0', '65', 'all', '1.5', '-1'],
  },
  dataDir: {
    env: 'POSTHORN_DATA_DIR',
    fallback: '.posthorn',
    good: [['/var/lib/x y', '/var/lib/x y']],
    bad: ['a\0b'],
  },
  host: {
    env: 'POSTHORN_HOST',
    fallback: '127.0.0.1',
    good: [
      ['::', '::'],
      ['example.org', 'example.org'],
    ],
    bad: ['a b', 'http://example.org', ' '],
  },
  port: {
    env: 'POSTHORN_PORT',
    fallback: 7400,
    good: [
      ['0', 0],
      ['65535', 65_535],
    ],
    bad: ['65536', '-1', '80.5', '0x50', 'http', ' 80', '1e3', '99999999999'],
  },
  platformHost: {
    env: 'POSTHORN_PLATFORM_HOST',
    fallback: '127.0.0.1',
    good: [['::1', '::1']],
    bad: ['a b', '/'],
  },
  platformPort: {
    env: 'POSTHORN_PLATFORM_PORT',
    fallback: 7401,
    good: [['0', 0]],
    bad: ['70000', '-7401', 'any'],
  },
  platformToken: {
    env: 'POSTHORN_PLATFORM_TOKEN',
    fallback: undefined,
    good: [['sixteen-letters!', 'sixteen-letters!']],
    bad: ['fifteen-letters', 'with a space in it', 'ümlaut-ümlaut-ümlaut', 'x'.repeat(257)],
  },
  secretKeys: {
    env: 'POSTHORN_SECRET_KEY',
    fallback: undefined,
    good: [
      [key, [Buffer.alloc(32, 7)]],
      [`${otherKey}, ${key}`, [Buffer.alloc(32, 200), Buffer.alloc(32, 7)]],
      [Buffer.alloc(32, 255).toString('base64url'), [Buffer.alloc(32, 255)]],
    ],
    bad: ['c2hvcnQ=', `${key},`, `${key}x`, 'not base64 at all!', Buffer.alloc(33).toString('base64')],
  },
  retryScheduleMs: {
    env: 'POSTHORN_RETRY_SCHEDULE',
    fallback: [5_000, 300_000, 3_600_000, 43_200_000],
    good: [
      ['1ms, 2s,3m,4h', [1, 2_000, 180_000, 14_400_000]],
      ['30d', [2_592_000_000]],
      [Array(19).fill('1s').join(), Array(19).fill(1_000)],
    ],
    bad: [
      Array(20).fill('1s').join(),
      '5,5,5,5',
      '5s,5m,30m,',
      '5s;5m;30m;2h',
      ',',
      '5s,0s',
      '31d',
      '999999999d',
    ],
  },
  deliveryTimeoutMs: {
    env: 'POSTHORN_DELIVERY_TIMEOUT',
    fallback: 10_000,
    good: [
      ['1ms', 1],
      ['10m', 600_000],
    ],
    bad: ['0s', '601s', '10', '-1s', '1.5s', 'ten seconds'],
  },
  inFlightPerWebhook: {
    env: 'POSTHORN_REQUESTS_PER_WEBHOOK',
    fallback: 256,
    good: [
      ['1', 1],
      ['512', 512],
    ],
    bad: ['0', '513', '-1', '1.5', 'many'],
  },
  egressAllow: {
    env: 'POSTHORN_EGRESS_ALLOW',
    fallback: [],
    good: [
      ['', []],
      ['127.0.0.0/8,::1/128', [expect.anything(), expect.anything()]],
    ],
    bad: ['127.0.0.1/33', '127.0.0.0/8;::1/128', 'localhost', '10.0.0.0/8,'],
  },
  trustedProxies: {
    env: 'POSTHORN_TRUSTED_PROXIES',
    fallback: [],
    good: [
      ['', []],
      ['10.0.0.0/8,fd00::/8', [expect.anything(), expect.anything()]],
    ],
    bad: ['10.0.0.0/33', 'proxy.internal', '10.0.0.0/8,'],
  },
  roles: {
    env: 'POSTHORN_ROLES',
    fallback: new Set(['api', 'platform', 'delivery', 'maintenance']),
    good: [
      ['api', new Set(['api'])],
      ['delivery, maintenance', new Set(['delivery', 'maintenance'])],
    ],
    bad: ['apis', 'api,', 'api;platform', 'API'],
  },
  rateLimitReads: {
    env: 'POSTHORN_RATE_LIMIT_READS',
    fallback: 600,
    good: [['0', 0]],
    bad: ['-1', '1.5', 'many', '1000000000'],
  },
  rateLimitWrites: {
    env: 'POSTHORN_RATE_LIMIT_WRITES',
    fallback: 60,
    good: [['7', 7]],
    bad: ['-1', '60/s', '1e9'],
  },
  eventsPerSecond: {
    env: 'POSTHORN_EVENTS_PER_SECOND',
    fallback: 0,
    good: [['100', 100]],
    bad: ['-1', '60/s', '1e9'],
  },
  waitingMax: {
    env: 'POSTHORN_WAITING_PER_ORGANIZATION',
    fallback: 0,
    good: [['1000000', 1_000_000]],
    bad: ['-1', '1000001', 'many'],
  },
  catalogueFile: {
    env: 'POSTHORN_CATALOGUE',
    fallback: undefined,
    good: [['types.json', 'types.json']],
    bad: ['a\0b'],
  },
  eventRetentionMs: {
    env: 'POSTHORN_EVENT_RETENTION',
    fallback: 90 * 86_400_000,
    good: [
      ['1d', 86_400_000],
      ['36h', 129_600_000],
      ['3650d', 3_650 * 86_400_000],
    ],
    bad: ['23h', '3651d', '0d', '90', 'forever'],
  },
  webhooksMax: {
    env: 'POSTHORN_WEBHOOKS_PER_ORGANIZATION',
    fallback: 100,
    good: [
      ['1', 1],
      ['1000', 1_000],
    ],
    bad: ['0', '1001', '-1', '1e2', 'many'],
  },
  publicOrigin: {
    env: 'POSTHORN_PUBLIC_URL',
    fallback: undefined,
    good: [
      ['https://hooks.example.com', 'https://hooks.example.com'],
      ['http://localhost:7400/', 'http://localhost:7400'],
      ['https://Hooks.Example.com:443', 'https://hooks.example.com'],
      ['http://[::1]:7400', 'http://[::1]:7400'],
    ],
    bad: [
      'hooks.example.com',
      'ftp://example.com',
      'https://example.com/hooks',
      'https://ada:secret@example.com',
      'https://example.com?x',
      'https://example.com#x',
      'https://',
      'https://example.com:99999',
    ],
  },
  portalOrigins: {
    env: 'POSTHORN_PORTAL_ORIGINS',
    fallback: [],
    good: [
      ['https://app.example.com', ['https://app.example.com']],
      ['https://a.test, http://localhost:3000', ['https://a.test', 'http://localhost:3000']],
    ],
    bad: ['*', 'https://*.example.com', "https://a.test 'unsafe-inline'", 'https://a;b', 'https://a.test,'],
  },
  portalName: {
    env: 'POSTHORN_PORTAL_NAME',
    fallback: undefined,
    good: [['Acme & Söhne <3', 'Acme & Söhne <3']],
    bad: ['x'.repeat(61), 'a\nb', 'a\0b'],
  },
  portalLogoFile: {
    env: 'POSTHORN_PORTAL_LOGO',
    fallback: undefined,
    good: [['logo.svg', 'logo.svg']],
    bad: ['a\0b'],
  },
  portalAccent: {
    env: 'POSTHORN_PORTAL_ACCENT',
    fallback: undefined,
    good: [
      ['#0A7D55', '#0a7d55'],
      ['#abc', '#aabbcc'],
    ],
    bad: ['green', '0a7d55', '#0a7d5', '#0a7d55ff', 'rgb(0,0,0)', '#12345g'],
  },
  cell: {
    env: 'POSTHORN_CELL',
    fallback: undefined,
    good: [
      ['eu1', 'eu1'],
      ['0', '0'],
      ['a234567890123456', 'a234567890123456'],
    ],
    bad: ['EU1', 'eu-1', 'eu.1', 'a2345678901234567', 'é'],
  },
  logLevel: {
    env: 'POSTHORN_LOG_LEVEL',
    fallback: 'info',
    good: [
      ['debug', 'debug'],
      ['silent', 'silent'],
    ],
    bad: ['verbose', 'INFO', '30'],
  },
};
const rows = Object.entries(table).map(([name, row]) => ({ name: name as Key, ...row }));
const secrets: Key[] = ['databaseUrl', 'directDatabaseUrl', 'readDatabaseUrl', 'platformToken', 'secretKeys'];

function faultsOf(env: Record<string, string>): string[] {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).message.split('\n');
  }
  return [];
}

test('every setting is tested here', () => {
  expect(Object.keys(table).sort()).toEqual(Object.keys(settings).sort());
});

describe.each(rows)('$env', ({ name, env, fallback, good, bad }) => {
  test('has its default if it is not set', () => {
    expect(settings[name].env).toBe(env);
    expect(readConfig({})[name]).toEqual(fallback);
  });

  test.each(good)('can be %j', (text, value) => {
    expect(readConfig({ [env]: text })[name]).toEqual(value);
  });

  test.each(bad)('set to %j is rejected with one line that says what is expected', (text) => {
    const shown = secrets.includes(name) ? 'the value (not shown)' : JSON.stringify(text);
    expect(faultsOf({ [env]: text })).toEqual([
      `${env}: ${shown} is not valid. Expected ${settings[name].accepts}.`,
    ]);
  });

  test('is described', () => {
    expect(settings[name].description).toMatch(/^[A-Z].*\.$/);
    expect(settings[name].accepts).not.toBe('');
  });
});

test.each([
  ['DATABASE_URL', 'mysql://posthorn:hunter2@db/x', 'hunter2'],
  ['POSTHORN_PLATFORM_TOKEN', 'correct horse battery staple', 'horse'],
  ['POSTHORN_SECRET_KEY', `${key},${otherKey}oops`, key],
])('%s never appears in a message, however wrong it is', (env, text, secret) => {
  const [line = ''] = faultsOf({ [env]: text });
  expect(line).toContain(env);
  expect(line).not.toContain(secret);
});

test('several invalid settings give one line each', () => {
  const faults = faultsOf({
    POSTHORN_PORT: 'x',
    POSTHORN_HOST: '::1',
    POSTHORN_LOG_LEVEL: 'loud',
    POSTHORN_SECRET_KEY: 'short',
    POSTHORN_ROLES: 'cook',
  });
  expect(faults.map((line) => line.split(':', 1)[0])).toEqual([
    'POSTHORN_PORT',
    'POSTHORN_SECRET_KEY',
    'POSTHORN_ROLES',
    'POSTHORN_LOG_LEVEL',
  ]);
});

test('a value with a line break still gives one line', () => {
  expect(faultsOf({ POSTHORN_PORT: '80\n90' })).toHaveLength(1);
});

test('an empty value is the same as an unset one, except for the networks that deliveries may reach', () => {
  const empty = Object.fromEntries(rows.map(({ env }) => [env, '']));
  expect(readConfig(empty)).toEqual(readConfig({}));
  const loopback = { egressAllow: '127.0.0.0/8' };
  expect(readConfig({}, loopback).egressAllow).toHaveLength(1);
  expect(readConfig({ POSTHORN_EGRESS_ALLOW: '' }, loopback).egressAllow).toEqual([]);
});

test('a fallback from the caller is overridden by a set variable', () => {
  const fallbacks = { egressAllow: '127.0.0.0/8,::1/128' };
  expect(readConfig({ POSTHORN_EGRESS_ALLOW: '10.0.0.0/8' }, fallbacks).egressAllow).toHaveLength(1);
});

test('variables of other programs are ignored', () => {
  const config: Config = readConfig({ PORT: 'x', POSTHORN_NOTHING: 'x', HOST: '' });
  expect(config).toEqual(readConfig({}));
});

describe('an unknown variable that is named like a setting', () => {
  test.each([
    ['POSTHORN_RATE_LIMT_READS', 'POSTHORN_RATE_LIMIT_READS'],
    ['POSTHORN_SECRET_KEYS', 'POSTHORN_SECRET_KEY'],
    ['posthorn_port', 'POSTHORN_PORT'],
    ['POSTHORN_DATABASE_URL', 'DATABASE_URL'],
  ])('is reported with the setting that was probably meant: %s, %s', (name, nearest) => {
    expect(unknownSettings({ [name]: 'x' })).toEqual([
      `Ignoring ${name}: there is no such setting. Did you mean ${nearest}?`,
    ]);
  });

  test('never appears with its value, which may be a secret', () => {
    expect(unknownSettings({ POSTHORN_SECRETKEY: key }).join()).not.toContain(key);
  });

  test('settings, variables in the examples of the reference and those of other programs are not reported', () => {
    const all = Object.fromEntries(rows.map(({ env }) => [env, 'x']));
    const others = { POSTHORN_URL: 'x', POSTHORN_TOKEN: 'x', PATH: 'x', POSTHORNED: 'x' };
    expect(unknownSettings({ ...all, ...others })).toEqual([]);
  });
});

test('a block that is named by an address within it is refused, and the line says how to name a block', () => {
  expect(() => readConfig({ POSTHORN_EGRESS_ALLOW: '::1/128,10.0.0.1/8' })).toThrow(
    /^POSTHORN_EGRESS_ALLOW: "::1\/128,10\.0\.0\.1\/8" is not valid. Expected CIDR blocks .*, each with its first address/,
  );
});
