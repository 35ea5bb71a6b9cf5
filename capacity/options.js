import { parseArgs } from 'node:util';

const bytesPer = { B: 1, kB: 1_000, MB: 1_000_000 };

/** A kind of value: a number within limits. */
const number = (from, to) => ({
  accepts: `a number from ${from.toLocaleString('en')} to ${to.toLocaleString('en')}`,
  read(text) {
    const value = Number(text);
    return text.trim() !== '' && value >= from && value <= to ? value : undefined;
  },
});

const size = (maxKb) => ({
  accepts: `a size up to ${maxKb / 1_000} MB, such as 512B, 1kB or 0.1MB`,
  read(text) {
    const [, digits, unit] = /^(\d+(?:\.\d+)?)(B|kB|MB)$/.exec(text) ?? [];
    const kb = (Number(digits) * bytesPer[unit]) / 1_000;
    return kb <= maxKb ? kb : undefined;
  },
});

const duration = {
  accepts: 'days from 1d to 3650d',
  read(text) {
    const days = Number(/^(\d+)d$/.exec(text)?.[1]);
    return days >= 1 && days <= 3_650 ? days : undefined;
  },
};

/** Every option: where its value goes, its default and what it means. */
export const options = {
  events: { goes: 'eventsPerSecond', kind: number(0.001, 10_000_000), meaning: 'events per second' },
  'fan-out': { goes: 'fanOut', kind: number(0, 1_000), meaning: 'webhooks that get each event, on average' },
  payload: {
    goes: 'payloadKb',
    kind: size(1_000),
    fallback: '1kB',
    meaning: 'size of a payload, on average',
  },
  'per-request': {
    ...{ goes: 'perRequest', kind: number(1, 1_000), fallback: '10' },
    meaning: 'events that a producer records with one request, on average',
  },
  retention: {
    goes: 'retentionDays',
    kind: duration,
    fallback: '90d',
    meaning: 'how long events and deliveries are kept',
  },
  busy: {
    goes: 'busy',
    kind: number(0.05, 1),
    fallback: '0.5',
    meaning: 'how busy each core may be on average',
  },
  'node-cores': { goes: 'nodeCores', kind: number(1, 1_024), fallback: '4', meaning: 'cores of a node' },
  'database-cores': {
    ...{ goes: 'databaseCores', kind: number(1, 1_024), fallback: '16' },
    meaning: "cores of a cell's PostgreSQL",
  },
  'database-disk': {
    ...{ goes: 'diskGb', kind: number(1, 1_000_000), fallback: '16000' },
    meaning: "GB of disk that a cell's PostgreSQL has for events and deliveries",
  },
  'database-wal': {
    ...{ goes: 'walMbPerSecond', kind: number(1, 10_000), fallback: '100' },
    meaning: "MB of write-ahead log per second that a cell's PostgreSQL may write",
  },
};

/** Returns the values of the options, or what is wrong with them. */
export function readOptions(given) {
  let values;
  try {
    ({ values } = parseArgs({
      args: given,
      options: {
        measure: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        ...Object.fromEntries(Object.keys(options).map((name) => [name, { type: 'string' }])),
      },
    }));
  } catch (error) {
    return { problem: error.message };
  }
  const read = { measure: values.measure ?? false, help: values.help ?? false };
  for (const [name, { goes, kind, fallback }] of Object.entries(options)) {
    const text = values[name] ?? fallback;
    if (text === undefined) continue;
    const value = kind.read(text);
    if (value === undefined) return { problem: `--${name} is '${text}'; it takes ${kind.accepts}.` };
    read[goes] = value;
  }
  return read;
}
