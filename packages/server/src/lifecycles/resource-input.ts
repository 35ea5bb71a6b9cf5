import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { TObject } from 'typebox';
import { type Fault, faultsFromAjv } from '../values/fault.js';
import { unstorableFaults } from '../values/storable.js';

export type InputChecker = (input: unknown) => readonly Fault[];

/** The schemas are our own, so they are not validated at run time. The tests of the OpenAPI document validate them. */
const ajv = new Ajv2020({
  allErrors: true,
  strict: false,
  strictNumbers: true,
  verbose: true,
  validateSchema: false,
});
addFormats.default(ajv);

/**
 * Returns a checker that finds every fault in a request. It compiles its schema on first use, because there are many
 * schemas.
 */
export function createInputChecker(schema: TObject): InputChecker {
  let isValid: ValidateFunction | undefined;
  return (input) => {
    isValid ??= ajv.compile(schema);
    // A missing body counts as an empty object, so that each required field is reported.
    const given = input ?? {};
    const faults = isValid(given) ? [] : faultsFromAjv(isValid.errors, given);
    return [...faults, ...unstorableFaults(given), ...inexactFaults(given)];
  };
}

/** Finds integers that lost digits when they were parsed, because the stored values would silently be wrong. */
function inexactFaults(input: unknown): readonly Fault[] {
  if (typeof input !== 'object' || input === null) return [];
  return Object.entries(input)
    .filter(([, value]) => Number.isInteger(value) && !Number.isSafeInteger(value))
    .map(([name]) => ({
      pointer: `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      code: 'too_large',
      detail: `must be at most ${Number.MAX_SAFE_INTEGER}`,
    }));
}
