import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { ConfigError } from '../settings/config.js';
import { unstorableFaults } from '../values/storable.js';
import { type Catalogue, CatalogueError, createCatalogue, type EventType } from './catalogue.js';
import { createPayloadValidator, isObject } from './payload.js';

let builtin: readonly EventType[] | undefined;

/**
 * Returns the built-in types. Each also has `since` and `actors`, which only docs/event-types.md shows.
 *
 * The body of a webhook request contains the payload, but not the subject or the actor. Payloads therefore start with
 * the `id` of the subject, as in `incident.opened`. The exceptions are `service_line.activated` and
 * `agent.run.completed`, which do not contain that ID, and `webhook.*`, whose payloads start with `webhook_id`. Most
 * payloads require no field, because producers record what they know.
 */
export function builtinTypes(): readonly EventType[] {
  builtin ??= parse(builtinData('catalogue.json'));
  return builtin;
}

/** Returns the content of a file that is part of this package. */
export function builtinData(file: 'catalogue.json' | 'lifecycles.json'): unknown {
  return JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'));
}

/** Returns the built-in catalogue with the types that a file adds. Reports any error in the file in one line. */
export async function loadCatalogue(file: string | undefined): Promise<Catalogue> {
  if (file === undefined) return createCatalogue(builtinTypes());
  try {
    const added = parse(JSON.parse(await readFile(file, 'utf8')));
    const catalogue = createCatalogue(builtinTypes(), added);
    const validate = createPayloadValidator(catalogue);
    for (const { type, sample } of added) {
      // Test events send the sample, and its ID becomes part of a header.
      const fault = unstorableFaults(sample)[0] ?? validate(type, sample)[0];
      if (fault)
        throw new CatalogueError(`the sample of ${type} is not valid: ${fault.pointer} ${fault.detail}`);
    }
    return catalogue;
  } catch (error) {
    throw new ConfigError(
      `POSTHORN_CATALOGUE: ${JSON.stringify(file)} cannot be used: ${(error as Error).message.split('\n')[0]}. ` +
        'Expected a JSON file with an array of {type, description, schema, sample}.',
    );
  }
}

function parse(value: unknown): EventType[] {
  if (!Array.isArray(value)) throw new CatalogueError('the file is not an array');
  for (const [index, entry] of value.entries()) {
    const { type, description, schema, sample } = (entry ?? {}) as Record<string, unknown>;
    const complete =
      typeof type === 'string' && typeof description === 'string' && isObject(schema) && isObject(sample);
    if (!complete) throw new CatalogueError(`entry ${index} is not {type, description, schema, sample}`);
  }
  return value;
}
