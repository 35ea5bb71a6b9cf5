import { availableParallelism } from 'node:os';
import { isDatabaseUrl } from '../postgres/connection.js';
import { parseCidrs } from '../values/address.js';
import { parseDurationMs } from '../values/time.js';

// What the values of settings look like, and functions that parse them. Each returns undefined if a value is not valid.
export const host = {
  accepts: 'an IP address or a host name',
  parse: (text: string) => (/^[^\s/]+$/.test(text) ? text : undefined),
};

export const path = (text: string) => (text.includes('\0') ? undefined : text);

export function wholeNumber(max: number): (text: string) => number | undefined {
  return (text) => (/^\d{1,9}$/.test(text) && Number(text) <= max ? Number(text) : undefined);
}

export const port = { accepts: 'a port number, or 0 for any free port', parse: wholeNumber(65_535) };

export const limitPerMinute = {
  accepts: 'a whole number; 0 turns the limit off',
  parse: wholeNumber(999_999_999),
};

export const countUpTo = (max: number) => ({
  accepts: `a whole number from 1 to ${max}`,
  parse: (text: string) => wholeNumber(max)(text) || undefined,
});

export const cidrs = (example: string) => ({
  accepts: `CIDR blocks separated by commas, each with its first address, such as ${example}`,
  parse: parseCidrs,
});

export function durationWithin(msMin: number, msMax: number): (text: string) => number | undefined {
  return (text) => {
    const ms = parseDurationMs(text);
    return ms !== undefined && ms >= msMin && ms <= msMax ? ms : undefined;
  };
}

/** Returns an origin as browsers write it, or undefined. It cannot contain anything that ends a header or directive. */
export function origin(text: string): string | undefined {
  const given = text.trim().replace(/\/$/, '');
  if (!/^https?:\/\/([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i.test(given)) return undefined;
  return URL.canParse(given) ? new URL(given).origin : undefined;
}

export function origins(text: string): readonly string[] | undefined {
  const read = text === '' ? [] : text.split(',').map(origin);
  return read.every((each) => each !== undefined) ? read : undefined;
}

/** Parses a color of three or six hexadecimal digits, and returns it with six. */
export function hexColor(text: string): string | undefined {
  if (!/^#([0-9a-f]{3}|[0-9a-f]{6})$/i.test(text)) return undefined;
  const digits = text.slice(1).toLowerCase();
  return `#${digits.length === 3 ? digits.replace(/./g, '$&$&') : digits}`;
}

/** This many processes open up to 80 connections. PostgreSQL accepts 100 by default. */
const autoProcessesMax = 8;

export function processCount(text: string): number | undefined {
  if (text === 'auto') return Math.min(availableParallelism(), autoProcessesMax);
  return wholeNumber(64)(text) || undefined;
}

/** The form of the URL of a database. */
export const databaseUrlForm =
  'a URL such as postgres://user:password@host:5432/database with one host. Special characters must be ' +
  'percent-encoded (such as %2F for / in the password), and certificate files must exist';

export const databaseUrl = {
  accepts: databaseUrlForm,
  secret: true,
  parse: (text: string) => (isDatabaseUrl(text) ? text : undefined),
};
