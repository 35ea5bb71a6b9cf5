import type { Catalogue } from './catalogue.js';

/** Returns what is wrong with a type that is not in the catalogue, and what its sender may have meant. */
export function unknownType(type: string, catalogue: Catalogue): string {
  const nearest = catalogue.nearest(type);
  const hint = nearest.isSimilar
    ? `did you mean ${nearest.type}?`
    : `the closest known type is ${nearest.type}. An operator can add types with the setting POSTHORN_CATALOGUE`;
  return `is not a known event type; ${hint}`;
}
