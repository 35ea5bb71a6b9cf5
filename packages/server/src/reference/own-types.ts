import { type Catalogue, domainOf, type EventType, subjectTypeOf } from '../catalogue/catalogue.js';
import { builtinTypes } from '../catalogue/catalogue-file.js';

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
