import { readFile } from 'node:fs/promises';
import { ConfigError } from '../settings/config.js';
import { unstorableFaults } from '../values/storable.js';
import { type AddedEventType, type Catalogue, CatalogueError, createCatalogue } from './catalogue.js';
import { createPayloadValidator } from './payload.js';

/** Returns the built-in catalogue with the types that a file adds. Reports any error in the file in one line. */
export async function loadCatalogue(file: string | undefined): Promise<Catalogue> {
  if (file === undefined) return createCatalogue();
  try {
    const added = parse(await readFile(file, 'utf8'));
    const catalogue = createCatalogue(added);
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

function parse(text: string): AddedEventType[] {
  const value: unknown = JSON.parse(text);
  if (!Array.isArray(value)) throw new CatalogueError('the file is not an array');
  for (const [index, entry] of value.entries()) {
    const { type, description, schema, sample } = (entry ?? {}) as Record<string, unknown>;
    const complete =
      typeof type === 'string' && typeof description === 'string' && isObject(schema) && isObject(sample);
    if (!complete) throw new CatalogueError(`entry ${index} is not {type, description, schema, sample}`);
  }
  return value;
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
