import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Catalogue, EventType } from './catalogue.js';
import { type Fault, faultsFromAjv } from './fault.js';

/** Returns every fault in the payload of an event of that type, or an empty list. */
export type PayloadValidator = (type: string, payload: unknown) => readonly Fault[];

/** Validates the schemas themselves. It is expensive to create, so there is only one. */
const schemaCheck = new Ajv2020();

/**
 * Compiles each schema when it is first needed. Compiling throws if the schema of an added type is not valid, so
 * validate the samples of added types at startup.
 */
export function createPayloadValidator(catalogue: Catalogue): PayloadValidator {
  const compiled = new Map<string, ValidateFunction>();
  const ajv = new Ajv2020({
    allErrors: true,
    // Refuse unknown keywords and formats, because they are typos that would check nothing. The other strict rules
    // would reject valid schemas that people write for their own types.
    strict: true,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    validateSchema: false,
  });
  addFormats.default(ajv);

  function validatorOf({ type, schema }: EventType): ValidateFunction {
    let validate = compiled.get(type);
    if (!validate) {
      schemaCheck.validateSchema(schema, true);
      validate = ajv.compile(schema);
      compiled.set(type, validate);
    }
    return validate;
  }

  return (type, payload) => {
    const known = catalogue.get(type);
    if (!known)
      return [{ pointer: '', code: 'unknown_event_type', detail: 'does not belong to a known event type' }];
    if (!isObject(payload)) return faultsFromAjv([notAnObject], payload);
    const validate = validatorOf(known);
    return validate(payload) ? [] : faultsFromAjv(validate.errors, payload);
  };
}

/** Every payload must be an object, even if the schema of an added type does not say so. */
const notAnObject = { keyword: 'type', instancePath: '', schemaPath: '#/type', params: { type: 'object' } };

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
