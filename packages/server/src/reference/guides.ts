import { readFileSync } from 'node:fs';
import type { RateLimits } from '../access/rate-limits.js';
import { type Catalogue, domainOf, type EventType, subjectTypeOf } from '../catalogue/catalogue.js';
import { builtinTypes } from '../catalogue/catalogue-file.js';
import type { Config } from '../settings/config.js';
import { type ProblemCode, problems } from '../values/problem.js';
import { durationText } from '../values/time.js';
import { type Tag, table } from '../web/route.js';

/** Returns the guides of the public API, for people who have only its reference. */
export function publicGuides(limits: RateLimits, config: Config): readonly Tag[] {
  return [
    guide('Authentication'),
    guide('Requests and responses', { 'rate limits': rateLimitText(limits) }),
    guide('Receive webhooks'),
    guide('Verify signatures'),
    guide('Responses and retries', { schedule: scheduleText(config) }),
  ];
}

/** Returns the guides of the platform listener. */
export function platformGuides(hasLifecycles: boolean): readonly Tag[] {
  return [guide('Record events'), ...(hasLifecycles ? [guide('Change resources')] : [])];
}

/** Returns the guide to a listener's errors: their format, and the codes it can return. */
export function errorsGuide(codes: ReadonlySet<ProblemCode>): Tag {
  const sections = guide('What to do')
    .description.split(/^### /m)
    .map((text) => text.trim().split('\n\n'));
  const advice = new Map(sections.map(([code, text]) => [code, text]));
  const rows = Object.entries(problems)
    .filter(([code]) => codes.has(code as ProblemCode))
    .map(([code, { status, title }]) => [`\`${code}\``, String(status), `**${title}.** ${advice.get(code)}`]);
  const { name, description } = guide('Errors');
  return { name, description: `${description}\n\n${table(['Code', 'Status', 'Meaning'], rows)}` };
}

/** Returns a guide that the build has cut out of docs, with the values of this service. */
export function guide(name: string, values: Readonly<Record<string, string>> = {}): Tag {
  const guides = JSON.parse(readFileSync(new URL('../../assets/guides.json', import.meta.url), 'utf8'));
  return {
    name,
    description: guides[name].replaceAll(/\{\{(.+)\}\}/g, (_: string, key: string) => values[key]),
  };
}

function rateLimitText({ reads, writes }: RateLimits): string {
  const limits = [
    ...(reads > 0 ? [`${reads} reads (\`GET\` and \`HEAD\`)`] : []),
    ...(writes > 0 ? [`${writes} writes`] : []),
  ];
  return limits.length === 0
    ? 'This service does not limit how many requests a token can make. A service with limits behaves like this:'
    : `A token can make ${limits.join(' and ')} per minute.`;
}

function scheduleText({ retryScheduleMs, deliveryTimeoutMs }: Config): string {
  const waits = retryScheduleMs.map((waitMs, index) => [String(index + 2), durationText(waitMs)]);
  return (
    `Posthorn waits up to ${durationText(deliveryTimeoutMs)} for a response and makes up to ${waits.length + 1} attempts:\n\n` +
    table(['Attempt', 'Wait after the previous attempt'], waits)
  );
}

/**
 * Returns a text of the documentation with the platform's own types in its examples, if the built-in types are off. The
 * n-th built-in type becomes the n-th own type.
 */
export function withOwnTypes(text: string, catalogue: Catalogue): string {
  if (catalogue.builtin) return text;
  const own = ownTypes(catalogue);
  const names = builtinTypes().map(({ type }) => type);
  const byName = new Map(names.map((name, index) => [name, own[index % own.length]!]));
  const known = [...byName.keys()]
    .filter((name) => !name.startsWith('webhook.'))
    .sort((a, b) => b.length - a.length);
  const domains = new Map(known.map((name) => [domainOf(name), byName.get(name)!]));
  const first = own[0]!;
  const noun = subjectTypeOf(first.type);
  return text
    .replaceAll(
      new RegExp(`\\b(${known.join('|').replaceAll('.', '\\.')})\\b`, 'g'),
      (name) => byName.get(name)!.type,
    )
    .replaceAll(
      new RegExp(`\\b(${[...domains.keys()].join('|')})\\.\\*`, 'g'),
      (_, domain: string) => `${domainOf(domains.get(domain)!.type)}.*`,
    )
    .replaceAll(/\b(service_line|invoice|incident)(s?)\b/g, `${noun}$2`)
    .replaceAll(/\b(service line|Service line|Invoice|Incident)(s?)\b/g, `${noun.replaceAll('_', ' ')}$2`)
    .replaceAll(/\b(INV|LIN|INC|RUN|AGT)-(?=[\w*…])/g, `${idPrefix(first)}-`);
}

/** Returns the example with a payload of the platform's own, if it is an event or the schema of one. */
export function withOwnSamples(document: object, catalogue: Catalogue): object {
  if (catalogue.builtin) return document;
  const own = ownTypes(catalogue);
  const names = builtinTypes().map(({ type }) => type);
  return JSON.parse(
    JSON.stringify(document, (name, value) => {
      if (typeof value !== 'object' || value === null) return value;
      const { type, payload, data, examples } = value as Record<string, unknown>;
      if (name === 'payload' && examples !== undefined) return { ...value, examples: [own[0]!.sample] };
      const index = names.indexOf(String(type));
      if (index < 0) return value;
      const { sample } = own[index % own.length]!;
      return {
        ...value,
        ...(payload !== undefined && { payload: sample }),
        ...(data !== undefined && { data: sample }),
      };
    }),
  );
}

function ownTypes(catalogue: Catalogue): readonly EventType[] {
  const own = catalogue.list().filter(({ type }) => !type.startsWith('webhook.'));
  return own.length > 0 ? own : catalogue.list();
}

function idPrefix({ sample: { id } }: EventType): string {
  return /^[A-Z]{2,8}(?=-)/.exec(String(id))?.[0] ?? 'ID';
}
