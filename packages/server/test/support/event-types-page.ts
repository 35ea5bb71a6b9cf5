import { subjectTypeOf } from '../../src/catalogue/catalogue.js';
import { table } from '../../src/web/markdown.js';
import { catalogue, documentedTypes } from './catalogue.js';
import { type FieldSchema, fieldsOf, limits, typeText } from './schema-words.js';

/** Every type of the catalogue: an index of the domains, then all there is to know of each type. */
export function eventTypesPage(): string {
  const domains = catalogue.domains().map((domain) => ({ domain, types: typesOf(domain) }));
  return [
    table(['Domain', 'Types'], domains.map(indexRow)),
    ...domains.flatMap(({ domain, types }) => [`## ${domain}`, ...types.map(typeSection)]),
  ].join('\n\n');
}

interface Domain {
  domain: string;
  types: typeof documentedTypes;
}

function indexRow({ domain, types }: Domain): string[] {
  const links = types.map(({ type }) => {
    const action = type.slice(domain.length + 1);
    return `[\`${action}\`](#${type.replaceAll('.', '')})`;
  });
  return [`[\`${domain}\`](#${domain})`, links.join(', ')];
}

function typesOf(domain: string): Domain['types'] {
  return documentedTypes.filter(({ type }) => type.startsWith(`${domain}.`));
}

function typeSection({ type, description, since, actors, schema, sample }: Domain['types'][number]): string {
  return [
    `### ${type}`,
    description,
    `Actor: ${actors.map((actor) => `\`${actor}\``).join(', ')}. Subject: \`${subjectTypeOf(type)}\`. Since ${since}.`,
    table(['Field', 'Type', 'Meaning', 'Sample'], fieldRows(schema as FieldSchema, sample)),
  ].join('\n\n');
}

function fieldRows(schema: FieldSchema, sample: Readonly<Record<string, unknown>>): string[][] {
  return fieldsOf(schema).map((field) => [
    `\`${field.path}\``,
    `${typeText(field.schema)}${field.required ? ', required' : ''}`,
    [field.schema.description ?? '', ...limits(field.schema).map(sentence)].join(' '),
    sampleOf(sample[field.path]),
  ]);
}

/** Nested fields are part of the sample of the field that contains them. */
function sampleOf(value: unknown): string {
  return value === undefined ? '' : `\`${JSON.stringify(value)}\``;
}

const sentence = (phrase: string) => `${phrase.charAt(0).toUpperCase()}${phrase.slice(1)}.`;
