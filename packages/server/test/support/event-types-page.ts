import { subjectTypeOf } from '../../src/catalogue/catalogue.js';
import { table } from '../../src/web/route.js';
import { documentedTypes } from './catalogue.js';
import { type FieldSchema, fieldsOf, typeText } from './schema-words.js';

/** Every type of the catalogue. The meaning of each field is in the schema, which the API returns. */
export function eventTypesPage(): string {
  return table(['Type', 'Meaning', 'Actor, subject', 'Payload'], documentedTypes.map(row));
}

function row({ type, description, actors, schema }: (typeof documentedTypes)[number]): string[] {
  const fields = fieldsOf(schema as FieldSchema).map(
    (field) => `\`${field.path}\` ${typeText(field.schema)}${field.required ? ' *required*' : ''}`,
  );
  return [`\`${type}\``, description, `${actors.join(', ')}; ${subjectTypeOf(type)}`, fields.join(', ')];
}
