import { readFileSync } from 'node:fs';
import { distance } from 'fastest-levenshtein';
import { OperatorError } from '../values/problem.js';
import { dayMs } from '../values/time.js';
import { parseSecretKeys } from './keys.js';
import * as values from './setting-values.js';

const roles = ['api', 'platform', 'delivery', 'maintenance'] as const;
export type Role = (typeof roles)[number];

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

interface Setting<T, Fallback = string | undefined> extends Definition<T, Fallback> {
  env: string;
}

interface Definition<T, Fallback> {
  /** Used if the variable is not set, if there is a default. */
  fallback?: Fallback;
  /** Describes what happens without a value if that is neither the default nor `none`. */
  fallbackNote?: string;
  accepts: string;
  description: string;
  /** Whether to keep the value out of every message. */
  secret?: boolean;
  /** Whether an empty value differs in meaning from a variable that is not set. */
  emptyCounts?: boolean;
  parse: (text: string) => T | undefined;
}

const setting = <T, const Fallback extends string | undefined = undefined>(
  env: string,
  definition: Definition<T, Fallback>,
): Setting<T, Fallback> => ({ env, ...definition });

/** Every setting. `posthorn serve --help` and the table in the README are generated from this table. */
export const settings = {
  databaseUrl: setting('DATABASE_URL', {
    ...values.databaseUrl,
    description:
      'URL of a PostgreSQL database, version 15 or newer. If not set, Posthorn runs an embedded PostgreSQL in the data directory.',
  }),
  directDatabaseUrl: setting('POSTHORN_DIRECT_DATABASE_URL', {
    fallbackNote: 'the same as `DATABASE_URL`',
    ...values.databaseUrl,
    description:
      'URL of the same database without a connection pooler. Required if `DATABASE_URL` points to a pooler. Each process with the `delivery` role opens one connection to it, to listen for notifications.',
  }),
  readDatabaseUrl: setting('POSTHORN_READ_DATABASE_URL', {
    ...values.databaseUrl,
    description:
      'URL of a streaming replica. Events are read from it whenever it is up to date, and otherwise from `DATABASE_URL`.',
  }),
  dataDir: setting('POSTHORN_DATA_DIR', {
    fallback: '.posthorn',
    accepts: 'a directory path',
    description: 'Directory for the embedded database and the generated keys.',
    parse: values.path,
  }),
  host: setting('POSTHORN_HOST', {
    fallback: '127.0.0.1',
    description: 'Address of the public listener, which serves the API, the console and the API reference.',
    ...values.host,
  }),
  port: setting('POSTHORN_PORT', {
    fallback: '7400',
    description: 'Port of the public listener.',
    ...values.port,
  }),
  platformHost: setting('POSTHORN_PLATFORM_HOST', {
    fallback: '127.0.0.1',
    description:
      'Address of the platform listener, which records events and serves metrics. Do not expose it to the internet.',
    ...values.host,
  }),
  platformPort: setting('POSTHORN_PLATFORM_PORT', {
    fallback: '7401',
    description: 'Port of the platform listener.',
    ...values.port,
  }),
  platformToken: setting('POSTHORN_PLATFORM_TOKEN', {
    fallbackNote: 'generated in the data directory',
    accepts: '16 to 256 printable ASCII characters without spaces',
    description: 'Bearer token for the platform listener.',
    secret: true,
    parse: (text) => (/^[!-~]{16,256}$/.test(text) ? text : undefined),
  }),
  secretKeys: setting('POSTHORN_SECRET_KEY', {
    fallbackNote: 'generated in the data directory; required with `DATABASE_URL`',
    accepts: '32 bytes in base64, or several such keys separated by commas',
    description:
      'Key that encrypts webhook secrets and headers at rest. If you set several keys, Posthorn encrypts with the first and can decrypt with any of them.',
    secret: true,
    parse: parseSecretKeys,
  }),
  retryScheduleMs: setting('POSTHORN_RETRY_SCHEDULE', {
    fallback: '5s,5m,1h,12h',
    accepts: '1 to 19 durations from 1ms to 30d, separated by commas, such as 5s,5m,1h,12h',
    description:
      'Wait times before the second, third and later delivery attempts. There is one more attempt than there are wait times.',
    parse: (text) => {
      const waits = text.split(',').map((part) => values.durationWithin(1, 30 * dayMs)(part.trim()));
      return waits.length <= 19 && waits.every((wait) => wait !== undefined) ? waits : undefined;
    },
  }),
  deliveryTimeoutMs: setting('POSTHORN_DELIVERY_TIMEOUT', {
    fallback: '10s',
    accepts: 'a duration from 1ms to 10m, such as 10s',
    description: 'Time limit for one delivery attempt, from connecting to reading the response.',
    parse: values.durationWithin(1, 600_000),
  }),
  inFlightPerWebhook: setting('POSTHORN_REQUESTS_PER_WEBHOOK', {
    fallback: '256',
    description:
      'How many requests to one webhook may be in flight at the same time, from all nodes together.',
    ...values.countUpTo(512),
  }),
  egressAllow: setting('POSTHORN_EGRESS_ALLOW', {
    fallback: '',
    fallbackNote: 'empty; `127.0.0.0/8,::1/128` with `npm start`',
    description:
      'Non-public networks that deliveries may reach. Plain `http` is accepted only for these networks.',
    emptyCounts: true,
    ...values.cidrs('127.0.0.0/8,::1/128'),
  }),
  trustedProxies: setting('POSTHORN_TRUSTED_PROXIES', {
    fallback: '',
    fallbackNote: 'none',
    description:
      'Networks of your proxies. Posthorn takes the address of a client from `X-Forwarded-For` only if one of these proxies sent it.',
    ...values.cidrs('10.0.0.0/8,fd00::/8'),
  }),
  roles: setting('POSTHORN_ROLES', {
    fallback: roles.join(','),
    accepts: `one or more of ${roles.join(', ')}, separated by commas`,
    description: 'The roles of this node. To run specialized nodes, give each node only some of the roles.',
    parse: (text): ReadonlySet<Role> | undefined => {
      const named = text.split(',').map((part) => part.trim());
      return named.every((name) => (roles as readonly string[]).includes(name))
        ? new Set(named as Role[])
        : undefined;
    },
  }),
  processes: setting('POSTHORN_PROCESSES', {
    fallbackNote: 'one, without a supervisor',
    accepts: 'auto, or a whole number from 1 to 64',
    description:
      'How many processes share the listeners of this node, under a supervisor. `auto`: one per core, at most 8. ' +
      'See the section [Several processes on one machine](docs/scale.md#several-processes-on-one-machine).',
    parse: values.processCount,
  }),
  rateLimitReads: setting('POSTHORN_RATE_LIMIT_READS', {
    fallback: '600',
    description: 'Read requests per minute per token, counted by each process. `0` turns the limit off.',
    ...values.limitPerMinute,
  }),
  rateLimitWrites: setting('POSTHORN_RATE_LIMIT_WRITES', {
    fallback: '60',
    description: 'Write requests per minute per token, counted by each process. `0` turns the limit off.',
    ...values.limitPerMinute,
  }),
  eventsPerSecond: setting('POSTHORN_EVENTS_PER_SECOND', {
    fallback: '0',
    description:
      'How many events an organization can record per second through the platform listener, counted by each process. `0` turns the limit off.',
    ...values.limitPerMinute,
  }),
  waitingMax: setting('POSTHORN_WAITING_PER_ORGANIZATION', {
    fallback: '0',
    description:
      'If so many deliveries of an organization are waiting in the database, the platform listener records no more events for it. `0` turns the limit off.',
    accepts: 'a whole number up to 1000000; 0 turns the limit off',
    parse: values.wholeNumber(1_000_000),
  }),
  catalogueFile: setting('POSTHORN_CATALOGUE', {
    accepts: 'a readable JSON file: {builtin, types}, or an array of {type, description, schema, sample}',
    description:
      'JSON file with [your own event types](docs/your-own-events.md): `{"builtin": false, "types": […]}`, or an array of types to add. Each type is `{type, description, schema, sample}`.',
    parse: values.path,
  }),
  eventRetentionMs: setting('POSTHORN_EVENT_RETENTION', {
    fallback: '90d',
    accepts: 'a duration from 1d to 3650d, such as 90d',
    description: 'How long events and deliveries can be read. After that, they are deleted.',
    parse: values.durationWithin(dayMs, 3_650 * dayMs),
  }),
  webhooksMax: setting('POSTHORN_WEBHOOKS_PER_ORGANIZATION', {
    fallback: '100',
    description: 'Maximum number of webhooks per organization.',
    ...values.countUpTo(1_000),
  }),
  publicOrigin: setting('POSTHORN_PUBLIC_URL', {
    fallbackNote: 'the address of the public listener',
    accepts: 'an http or https URL without a path, such as https://hooks.example.com',
    description:
      'The URL at which browsers reach the public listener. Posthorn uses it in links to the console and the portal.',
    parse: values.origin,
  }),
  portalOrigins: setting('POSTHORN_PORTAL_ORIGINS', {
    fallback: '',
    fallbackNote: 'none',
    accepts: 'origins separated by commas, such as https://app.example.com,http://localhost:3000',
    description: 'Origins whose pages may show the console in a frame.',
    parse: values.origins,
  }),
  portalName: setting('POSTHORN_PORTAL_NAME', {
    accepts: '1 to 60 characters without control characters',
    description: 'The name of your platform, shown in the portal.',
    parse: (text) => (/^[^\p{Cc}\p{Cs}\u2028\u2029]{1,60}$/u.test(text) ? text : undefined),
  }),
  portalLogoFile: setting('POSTHORN_PORTAL_LOGO', {
    accepts: 'a readable SVG or PNG file of at most 64 KiB',
    description: "File with your platform's logo, shown in the portal: SVG or PNG, at most 64 KiB.",
    parse: values.path,
  }),
  portalAccent: setting('POSTHORN_PORTAL_ACCENT', {
    accepts: 'a CSS hex color such as #0a7d55',
    description: 'The accent color of the portal.',
    parse: values.hexColor,
  }),
  cell: setting('POSTHORN_CELL', {
    accepts: '1 to 16 lowercase letters and digits',
    description:
      'The name of this cell, if you run several. Tokens created in this cell contain this name. All nodes that share a database must use the same name.',
    parse: (text) => (/^[a-z0-9]{1,16}$/.test(text) ? text : undefined),
  }),
  logLevel: setting('POSTHORN_LOG_LEVEL', {
    fallback: 'info',
    accepts: `one of ${logLevels.join(', ')}`,
    description: `How much to log: ${logLevels.map((level) => `\`${level}\``).join(', ')}.`,
    parse: (text) => logLevels.find((level) => level === text),
  }),
} as const;

type Settings = typeof settings;
export type SettingName = keyof Settings;

/** The value of each setting. It can be undefined if the setting has no default. */
export type Config = {
  [K in SettingName]: Settings[K] extends Setting<infer T, infer Fallback>
    ? Fallback extends undefined
      ? T | undefined
      : T
    : never;
};

/** Reports settings that are not valid, one line for each. */
export class ConfigError extends OperatorError {
  override name = 'ConfigError';
}

/**
 * Reads every setting from the environment. `fallbacks` replace the defaults of the table; `npm start` uses
 * them to allow deliveries to this machine.
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

function faultLine(definition: Setting<unknown>, text: string): string {
  const shown = definition.secret ? 'the value (not shown)' : JSON.stringify(text);
  return `${definition.env}: ${shown} is not valid. Expected ${definition.accepts}.`;
}

/** Variables of clients and of single commands. They are not settings, but must not be reported as typos. */
const otherVariables: readonly string[] = ['POSTHORN_URL', 'POSTHORN_TOKEN', 'POSTHORN_TARGET_SECRET_KEY'];

/** Returns one line for each variable that looks like a setting but is not one: most likely a typo. */
export function unknownSettings(env: Record<string, string | undefined>): string[] {
  const known = Object.values(settings).map((setting): string => setting.env);
  return Object.keys(env)
    .filter((name) => /^POSTHORN_/i.test(name) && ![...known, ...otherVariables].includes(name))
    .sort()
    .map((name) => `Ignoring ${name}: there is no such setting. Did you mean ${nearestOf(known, name)}?`);
}

function nearestOf(known: readonly string[], name: string): string {
  const core = (text: string) => text.slice(0, 200).toUpperCase().replace('POSTHORN_', '');
  return known.reduce((nearest, candidate) =>
    distance(core(candidate), core(name)) < distance(core(nearest), core(name)) ? candidate : nearest,
  );
}

/** The version in package.json. */
export const version: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version;
