import { readFileSync } from 'node:fs';
import { distance } from 'fastest-levenshtein';
import { type Cidr, parseCidrs } from './domain/address.js';
import { parseDurationMs } from './domain/duration.js';

const roles = ['api', 'platform', 'delivery', 'maintenance'] as const;
export type Role = (typeof roles)[number];

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

interface Setting<T> {
  env: string;
  /** The text that stands in where the variable is not set; undefined where there is none. */
  fallback: string | undefined;
  /** How the fallback is described where it is not a text. */
  fallbackNote?: string;
  accepts: string;
  description: string;
  /** Never repeated in a message. */
  secret?: boolean;
  /** Set and empty means something else than not set. */
  emptyCounts?: boolean;
  parse: (text: string) => T | undefined;
}

const setting = <T>(definition: Setting<T>): Setting<T> => definition;

const host = (text: string) => (/^[^\s/]+$/.test(text) ? text : undefined);

function wholeNumber(max: number): (text: string) => number | undefined {
  return (text) => (/^\d{1,9}$/.test(text) && Number(text) <= max ? Number(text) : undefined);
}

/** Every setting there is. `posthorn serve --help` and the README's table are printed from here. */
export const settings = {
  databaseUrl: setting({
    env: 'DATABASE_URL',
    fallback: undefined,
    fallbackNote: 'none',
    accepts: 'postgres://user:password@host:5432/database',
    description:
      'A PostgreSQL (15 or newer) to use. Without it an embedded PostgreSQL is started under the data directory.',
    secret: true,
    parse: (text) => (/^postgres(ql)?:\/\/\S+$/.test(text) ? text : undefined),
  }),
  dataDir: setting({
    env: 'POSTHORN_DATA_DIR',
    fallback: '.posthorn',
    accepts: 'a directory',
    description: 'The embedded database and generated keys.',
    parse: (text) => (text.includes('\0') ? undefined : text),
  }),
  host: setting({
    env: 'POSTHORN_HOST',
    fallback: '127.0.0.1',
    accepts: 'an address or host name',
    description: 'Where the public API and its reference listen.',
    parse: host,
  }),
  port: setting({
    env: 'POSTHORN_PORT',
    fallback: '7400',
    accepts: 'a port, 0 for any free one',
    description: 'Port of the public listener.',
    parse: wholeNumber(65_535),
  }),
  platformHost: setting({
    env: 'POSTHORN_PLATFORM_HOST',
    fallback: '127.0.0.1',
    accepts: 'an address or host name',
    description: 'Where the platform listener (recording events, metrics) listens. Keep it off the internet.',
    parse: host,
  }),
  platformPort: setting({
    env: 'POSTHORN_PLATFORM_PORT',
    fallback: '7401',
    accepts: 'a port, 0 for any free one',
    description: 'Port of the platform listener.',
    parse: wholeNumber(65_535),
  }),
  platformToken: setting({
    env: 'POSTHORN_PLATFORM_TOKEN',
    fallback: undefined,
    fallbackNote: 'generated into the data directory',
    accepts: '16 to 256 printable characters without spaces',
    description: 'Bearer token of the platform listener.',
    secret: true,
    parse: (text) => (/^[!-~]{16,256}$/.test(text) ? text : undefined),
  }),
  secretKeys: setting({
    env: 'POSTHORN_SECRET_KEY',
    fallback: undefined,
    fallbackNote: 'generated into the data directory; required with `DATABASE_URL`',
    accepts: 'base64 of 32 bytes, or several of them separated by commas',
    description: 'Encrypts webhook secrets at rest. Of several keys the first encrypts, all decrypt.',
    secret: true,
    parse: parseSecretKeys,
  }),
  retryScheduleMs: setting({
    env: 'POSTHORN_RETRY_SCHEDULE',
    fallback: '5s,5m,30m,2h',
    accepts: 'four durations separated by commas, such as 5s,5m,30m,2h',
    description: 'The waits before attempts 2 to 5 of a delivery.',
    parse: (text) => {
      const waits = text.split(',').map((part) => parseDurationMs(part.trim()));
      return waits.length === 4 && waits.every((wait) => wait !== undefined) ? waits : undefined;
    },
  }),
  deliveryTimeoutMs: setting({
    env: 'POSTHORN_DELIVERY_TIMEOUT',
    fallback: '10s',
    accepts: 'a duration from 1ms to 10m, such as 10s',
    description:
      'How long one delivery attempt may take: connect, send, receive the status and what is read of the body.',
    parse: (text) => {
      const ms = parseDurationMs(text);
      return ms !== undefined && ms >= 1 && ms <= 600_000 ? ms : undefined;
    },
  }),
  egressAllow: setting({
    env: 'POSTHORN_EGRESS_ALLOW',
    fallback: '',
    fallbackNote: 'empty; `127.0.0.0/8,::1/128` under `npm start`',
    accepts: 'CIDRs separated by commas, such as 127.0.0.0/8,::1/128',
    description:
      'Networks that deliveries may reach although they are not public. Plain `http` is accepted only for these.',
    emptyCounts: true,
    parse: (text): readonly Cidr[] | undefined => {
      const parsed = parseCidrs(text);
      return parsed.ok ? parsed.value : undefined;
    },
  }),
  roles: setting({
    env: 'POSTHORN_ROLES',
    fallback: roles.join(','),
    accepts: `one or more of ${roles.join(', ')}, separated by commas`,
    description: 'What this process does, so that nodes can be specialised.',
    parse: (text): ReadonlySet<Role> | undefined => {
      const named = text.split(',').map((part) => part.trim());
      return named.every((name) => (roles as readonly string[]).includes(name))
        ? new Set(named as Role[])
        : undefined;
    },
  }),
  rateLimitReads: setting({
    env: 'POSTHORN_RATE_LIMIT_READS',
    fallback: '600',
    accepts: 'a whole number, 0 for no limit',
    description: 'Reading requests a minute and token, on each node.',
    parse: wholeNumber(999_999_999),
  }),
  rateLimitWrites: setting({
    env: 'POSTHORN_RATE_LIMIT_WRITES',
    fallback: '60',
    accepts: 'a whole number, 0 for no limit',
    description: 'Writing requests a minute and token, on each node.',
    parse: wholeNumber(999_999_999),
  }),
  catalogueFile: setting({
    env: 'POSTHORN_CATALOGUE',
    fallback: undefined,
    fallbackNote: 'none',
    accepts: 'a readable JSON file: an array of {type, description, schema, sample}',
    description: 'A JSON file of further event types: an array of `{type, description, schema, sample}`.',
    parse: (text) => (text.includes('\0') ? undefined : text),
  }),
  logLevel: setting({
    env: 'POSTHORN_LOG_LEVEL',
    fallback: 'info',
    accepts: logLevels.join(', '),
    description: 'How much is logged.',
    parse: (text) => logLevels.find((level) => level === text),
  }),
} as const;

type Settings = typeof settings;
export type SettingName = keyof Settings;
type Value<S> = S extends Setting<infer T> ? T : never;
type Optional = 'databaseUrl' | 'platformToken' | 'secretKeys' | 'catalogueFile';

export type Config = { [K in Exclude<keyof Settings, Optional>]: Value<Settings[K]> } & {
  [K in Optional]: Value<Settings[K]> | undefined;
};

/** One or more settings that cannot be used; the message has one line for each. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/**
 * Reads every setting from the environment. `fallbacks` replace the defaults of the table, as `npm start`
 * does to let receivers on this machine be reached.
 */
export function readConfig(
  env: Record<string, string | undefined>,
  fallbacks: Partial<Record<SettingName, string>> = {},
): Config {
  const config: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const [key, definition] of Object.entries(settings) as [keyof Settings, Setting<unknown>][]) {
    const given = env[definition.env];
    const unset = given === undefined || (given === '' && !definition.emptyCounts);
    const text = unset ? (fallbacks[key] ?? definition.fallback) : given;
    if (text === undefined) {
      config[key] = undefined;
      continue;
    }
    const value = definition.parse(text);
    if (value === undefined) faults.push(faultLine(definition, text));
    config[key] = value;
  }
  if (faults.length > 0) throw new ConfigError(faults.join('\n'));
  return config as Config;
}

/** Names that clients use for an address and a token. They are not settings, and not misspelt ones either. */
const variablesOfClients: readonly string[] = ['POSTHORN_URL', 'POSTHORN_TOKEN'];

/** One line for each variable that is named like a setting and is none: most likely one that is misspelt. */
export function unknownSettings(env: Record<string, string | undefined>): string[] {
  const known = Object.values(settings).map((setting): string => setting.env);
  return Object.keys(env)
    .filter((name) => /^POSTHORN_/i.test(name) && ![...known, ...variablesOfClients].includes(name))
    .sort()
    .map((name) => `${name} is not a setting and is ignored; did you mean ${nearestOf(known, name)}?`);
}

function nearestOf(known: readonly string[], name: string): string {
  const core = (text: string) => text.slice(0, 200).toUpperCase().replace('POSTHORN_', '');
  return known.reduce((nearest, candidate) =>
    distance(core(candidate), core(name)) < distance(core(nearest), core(name)) ? candidate : nearest,
  );
}

function faultLine(definition: Setting<unknown>, text: string): string {
  const shown = definition.secret ? 'the given value (not shown)' : JSON.stringify(text);
  return `${definition.env}: ${shown} cannot be used; accepted: ${definition.accepts}.`;
}

function parseSecretKeys(text: string): readonly Buffer[] | undefined {
  const keys = text.split(',').map((part) => decodeKey(part.trim()));
  return keys.every((key) => key !== undefined) ? keys : undefined;
}

function decodeKey(text: string): Buffer | undefined {
  const key = Buffer.from(text, 'base64');
  const canonical = key.toString('base64').replace(/=+$/, '');
  const given = text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '');
  return key.length === 32 && canonical === given ? key : undefined;
}

/** The package's own version, as it stands in package.json. */
export const version: string = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
).version;
