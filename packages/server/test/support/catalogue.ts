import { createCatalogue, type EventType } from '../../src/catalogue/catalogue.js';
import { builtinTypes } from '../../src/catalogue/catalogue-file.js';

/** What catalogue.json has for each type: besides what the service reads, what docs/event-types.md shows. */
export const documentedTypes = builtinTypes() as readonly (EventType & {
  readonly since: string;
  readonly actors: readonly string[];
})[];

export const catalogue = createCatalogue(documentedTypes);
