import { subjectTypeOf } from '../../src/catalogue/catalogue.js';
import { table } from '../../src/web/markdown.js';
import { catalogue, documentedTypes } from './catalogue.js';
import { type FieldSchema, fieldsOf, typeText } from './schema-words.js';

/** Every type of the catalogue, by domain. The meaning of each field is in the schema, which the API returns. */
export function eventTypesPage(): string {
  return catalogue
    .domains()
    .flatMap((domain) => [
      `## ${domain}`,
      table(
        ['Type', 'Meaning', 'Actor, subject', 'Payload'],
        documentedTypes.filter(({ type }) => type.startsWith(`${domain}.`)).map(row),
      ),
    ])
    .join('\n\n');
}

function row({ type, description, actors, schema }: (typeof documentedTypes)[number]): string[] {
  const fields = fieldsOf(schema as FieldSchema).map(
    (field) => `\`${field.path}\` ${typeText(field.schema)}${field.required ? ' *required*' : ''}`,
  );
  return [`\`${type}\``, description, `${actors.join(', ')}; ${subjectTypeOf(type)}`, fields.join(', ')];
}
