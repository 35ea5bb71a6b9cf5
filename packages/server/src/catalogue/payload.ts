import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type Fault, faultsFromAjv } from '../values/fault.js';
import { type Catalogue, CatalogueError, type EventType, madeFrom } from './catalogue.js';

/** Returns every fault in the payload of an event of the given type, or an empty list. */
export type PayloadValidator = (type: string, payload: unknown) => readonly Fault[];

/** An OpenAPI extension, with the characters that Ajv allows in a keyword. */
const extension = /^x-[\w:-]+$/;

/** Validates schemas. Takes 0.1 s of CPU time on first use, so there is only one instance. */
let schemaCheck: Ajv2020 | undefined;

/** Throws a `CatalogueError` if the schema of a type is not valid. */
export function checkSchema({ type, schema }: EventType): void {
  schemaCheck ??= new Ajv2020();
  try {
    schemaCheck.validateSchema(schema, true);
  } catch (error) {
    throw invalidSchema(type, error as Error);
  }
}

function invalidSchema(type: string, { message }: Error): CatalogueError {
  return new CatalogueError(`the schema of ${type} is not valid: ${message}`);
}

/**
 * Creates a validator that compiles each schema when it is first needed. The validator throws a `CatalogueError` if that
 * fails, so validate the samples of types before they are used.
 */
export function createPayloadValidator(catalogue: Catalogue): PayloadValidator {
  const validate = madeFrom(catalogue, validatorOf);
  return (type, payload) => validate()(type, payload);
}

function validatorOf(catalogue: Catalogue): PayloadValidator {
  const compiled = new Map<string, ValidateFunction>();
  const ajv = new Ajv2020({
    allErrors: true,
    // Refuse unknown keywords and formats, because they are usually typos and would have no effect. The other strict
    // rules would reject valid schemas that people write for their own types.
    strict: true,
    // Schemas that were exported from an OpenAPI document contain this annotation.
    keywords: ['example'],
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    validateSchema: false,
  });
  addFormats.default(ajv);

  function compiledOf(known: EventType): ValidateFunction {
    const validate = compiled.get(known.type) ?? compile(known);
    compiled.set(known.type, validate);
    return validate;
  }

  function compile({ type, schema }: EventType): ValidateFunction {
    try {
      acceptExtensions(schema);
      return ajv.compile(schema);
    } catch (error) {
      throw invalidSchema(type, error as Error);
    }
  }

  /** Makes Ajv ignore the extensions in a schema by registering them: Ajv refuses keywords that it does not know. */
  function acceptExtensions(schema: object): void {
    JSON.stringify(schema, (name, value) => {
      if (extension.test(name) && !ajv.getKeyword(name)) ajv.addKeyword(name);
      return value;
    });
  }

  return (type, payload) => {
    const known = catalogue.get(type);
    if (!known)
      return [{ pointer: '', code: 'unknown_event_type', detail: 'does not belong to a known event type' }];
    if (!isObject(payload)) return faultsFromAjv([notAnObject], payload);
    const validate = compiledOf(known);
    return validate(payload) ? [] : faultsFromAjv(validate.errors, payload);
  };
}

/** Every payload must be an object, even if the schema of an added type does not say so. */
const notAnObject = { keyword: 'type', instancePath: '', schemaPath: '#/type', params: { type: 'object' } };

export function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
