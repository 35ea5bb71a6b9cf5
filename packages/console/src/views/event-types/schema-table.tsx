import type { EventType } from '@posthorn/client';
import { WithCode } from '../../text/marked-text';

/** The parts of JSON Schema that the console reads. */
interface JsonSchema {
  type?: string | string[];
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  enum?: unknown[];
  const?: unknown;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  format?: string;
}

interface SchemaRow {
  path: string;
  type: string;
  isRequired: boolean;
  note: string;
}

function typeOf(schema: JsonSchema): string {
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.type === 'array' && schema.items) return `array of ${typeOf(schema.items)}`;
  const type = Array.isArray(schema.type) ? schema.type.join(' or ') : (schema.type ?? 'any');
  return schema.format ? `${type} (${schema.format})` : type;
}

function noteOf(schema: JsonSchema): string {
  const values = schema.enum ? `One of ${schema.enum.map((value) => JSON.stringify(value)).join(', ')}.` : '';
  return [schema.description, values].filter(Boolean).join(' ');
}

function rowsOf(schema: JsonSchema, prefix = ''): SchemaRow[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const isRequired = schema.required?.includes(name) ?? false;
    return [{ path, type: typeOf(field), isRequired, note: noteOf(field) }, ...rowsOf(field, `${path}.`)];
  });
}

/** The fields of a payload, one per line. */
export function SchemaTable({ schema }: { schema: EventType['schema'] }) {
  const rows = rowsOf(schema as JsonSchema);
  if (rows.length === 0) return <p className="soft">The payload has no fixed fields.</p>;
  return (
    <table className="schema">
      <thead>
        <tr>
          <th className="field-col">Field</th>
          <th className="kind-col">Type</th>
          <th>Meaning</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.path}>
            <td className="mono">
              {row.path}
              {!row.isRequired && <span className="soft"> optional</span>}
            </td>
            <td className="soft">{row.type}</td>
            <td>
              <WithCode text={row.note} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
