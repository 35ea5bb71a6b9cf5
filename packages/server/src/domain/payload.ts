import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Catalogue, EventType } from './catalogue.js';
import { type Fault, faultsFromAjv } from './fault.js';

/** All that is wrong with the payload of an event of that type; empty where nothing is. */
export type PayloadValidator = (type: string, payload: unknown) => readonly Fault[];

/** Checks schemas themselves. Preparing that takes longer than all else, so it happens once. */
const schemaCheck = new Ajv2020();

/**
 * Schemas are compiled when first needed, once each. One that cannot be compiled, which only a further
 * type can have, throws then: whoever adds types validates their samples at the start.
 */
export function createPayloadValidator(catalogue: Catalogue): PayloadValidator {
  const compiled = new Map<string, ValidateFunction>();
  const ajv = new Ajv2020({
    allErrors: true,
    // Unknown keywords and formats are refused, being typos that would check nothing. The other strict
    // rules forbid sound schemas that people do write for their own types.
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

/** Every payload is an object, whether or not the schema of a further type says so. */
const notAnObject = { keyword: 'type', instancePath: '', schemaPath: '#/type', params: { type: 'object' } };

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
