import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import Type, { type TObject, type TSchema } from 'typebox';
import { faultsFromAjv, knownFirst } from '../values/fault.js';
import { type InputFault, inputProblem, Problem } from '../values/problem.js';

/** A query string as sent. A name that appears twice keeps both values, so that the request can be refused. */
export type RawQuery = Record<string, string | string[]>;

/** Marks a name or value whose percent-encoding is not UTF-8. No valid one contains NUL. */
const undecodable = '\0undecodable';

/** Checks what schemas cannot express. It must handle values that the schemas refused. */
type InputCheck = (request: FastifyRequest) => readonly InputFault[] | Promise<readonly InputFault[]>;

declare module 'fastify' {
  interface FastifyContextConfig {
    check?: InputCheck;
    /** Whether the route's `check` or its handler validates the body. The schema then only documents the body. */
    bodyIsChecked?: boolean;
    /** Whether to ignore the query string, because it is meant for the page that this route serves. */
    queryIsIgnored?: boolean;
    validate?: InputCheck;
  }
}

/** A request can contain thousands of unknown fields and parameters. Nobody needs a fault for each. */
const faultsMax = 100;
const noQuery = Type.Object({}, { additionalProperties: false });
/**
 * The schemas are our own, so they are not validated at run time. The tests of the OpenAPI document do that.
 */
const ajv = new Ajv2020({ allErrors: true, strict: false, verbose: true, validateSchema: false });
(addFormats as unknown as (ajv: Ajv2020) => void)(ajv);

/**
 * Validates the query string and the body and runs the route's own check, so that one response lists the faults of all
 * three. Fastify would stop at the first part that is wrong.
 */
export function installValidation(app: FastifyInstance): void {
  app.setValidatorCompiler(() => () => true);

  app.addHook('onRoute', (route: RouteOptions) => {
    const schema = { ...route.schema };
    schema.querystring ??= noQuery;
    route.schema = schema;
    const query = route.config?.queryIsIgnored ? () => [] : queryValidator(schema.querystring as TObject);
    const body =
      schema.body && !route.config?.bodyIsChecked ? bodyValidator(schema.body as TSchema) : undefined;
    route.config = {
      ...route.config,
      validate: (request) => {
        const faults = query(request.query as RawQuery);
        const checked = request.routeOptions.config.check?.(request) ?? [];
        return checked instanceof Promise
          ? checked.then((found) => together(request, faults, found))
          : together(request, faults, checked);
      },
    };
    const together = (
      request: FastifyRequest,
      faults: readonly InputFault[],
      checked: readonly InputFault[],
    ): readonly InputFault[] => {
      const refused = body?.(request) ?? [];
      if (faults.length + checked.length + refused.length === 0) return noFaults;
      // Report one fault per parameter: the check may find another one in a parameter that is already refused, for
      // example because the route does not know it.
      const known = new Set(faults.map(parameterOf));
      const found = checked.filter((fault) => !('parameter' in fault && known.has(fault.parameter)));
      // Parameters come first: they decide the status, and only the first faults are listed.
      return [
        ...knownFirst([...faults, ...found.filter(isOfParameter)]),
        ...knownFirst([...refused, ...found.filter((fault) => !isOfParameter(fault))]),
      ];
    };
  });

  app.addHook('preHandler', (request, _reply, done) => {
    // A hook that returned a promise would cost as much as the validation itself.
    // No ID contains NUL, and PostgreSQL would refuse the query.
    if (!Object.values(request.params as Record<string, string>).every(isReadable))
      throw new Problem('not_found', 'Nothing exists at this path.');
    const conclude = (faults: readonly InputFault[]) => done(inputProblem(faults, faultsMax));
    const faults = request.routeOptions.config.validate?.(request) ?? noFaults;
    if (faults instanceof Promise) faults.then(conclude, done);
    else conclude(faults);
  });
}

const noFaults: readonly InputFault[] = [];

const compiled = new WeakMap<TSchema, ValidateFunction>();

/** Compiles a schema when a request first needs it. Compiling all of them would add 0.2 s to every start. */
function validatorOf(schema: TSchema, changes: object = {}): ValidateFunction {
  let validate = compiled.get(schema);
  if (!validate) {
    validate = ajv.compile({ ...schema, ...changes });
    compiled.set(schema, validate);
  }
  return validate;
}

function bodyValidator(schema: TSchema): (request: FastifyRequest) => readonly InputFault[] {
  return (request) => {
    const validate = validatorOf(schema);
    // A missing body counts as an empty object, so that each required field is reported. A body of `null` does not.
    if (request.body === undefined) request.body = {};
    return validate(request.body) ? [] : faultsFromAjv(validate.errors ?? [], request.body);
  };
}

/** Validates a query and converts integer parameters to numbers in place. */
function queryValidator(schema: TObject): (query: RawQuery) => readonly InputFault[] {
  const known = new Map(Object.entries(schema.properties));
  return (query) => {
    const validate = validatorOf(schema, { additionalProperties: true });
    const faults: InputFault[] = [];
    const values: Record<string, unknown> = {};
    for (const [name, given] of Object.entries(query)) {
      const property = known.get(name) as { type?: string } | undefined;
      const fault = (code: string, detail: string) =>
        faults.push({ parameter: printable(name), code, detail });
      if (!property)
        fault(
          'unknown_parameter',
          `is not a known parameter; known parameters: ${listed([...known.keys()])}`,
        );
      else if (Array.isArray(given)) fault('repeated_parameter', 'must be given only once');
      else if (!isReadable(given)) fault('unreadable', 'must be percent-encoded UTF-8 text without NUL');
      else values[name] = property.type === 'integer' && /^-?\d{1,15}$/.test(given) ? Number(given) : given;
    }
    const refused = new Set(faults.map(parameterOf));
    if (!validate(values)) {
      for (const { pointer, code, detail } of faultsFromAjv(validate.errors ?? [], values)) {
        const parameter = pointer.slice(1);
        if (!refused.has(parameter)) faults.push({ parameter, code, detail });
      }
    }
    Object.assign(query, values);
    return faults;
  };
}

const isOfParameter = (fault: InputFault) => 'parameter' in fault;
const parameterOf = (fault: InputFault) => ('parameter' in fault ? fault.parameter : '');
const printable = (name: string) => (isReadable(name) ? name.slice(0, 100) : '(unreadable)');
const listed = (names: string[]) => (names.length > 0 ? names.join(', ') : 'none');

/** An object without inherited fields. V8 reads it faster than one of `Object.create(null)`, which it keeps as a dictionary. */
class Query {}
Object.setPrototypeOf(Query.prototype, null);
Reflect.deleteProperty(Query.prototype, 'constructor');

export function parseQueryString(text: string): RawQuery {
  const query = new Query() as RawQuery;
  for (const part of text.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decode(equals < 0 ? part : part.slice(0, equals));
    const value = equals < 0 ? '' : decode(part.slice(equals + 1));
    const before = query[name];
    if (before === undefined) query[name] = value;
    else if (Array.isArray(before)) before.push(value);
    else query[name] = [before, value];
  }
  return query;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undecodable;
  }
}

/** Returns whether a name or value could be decoded and has no NUL, which PostgreSQL cannot store. */
function isReadable(text: string): boolean {
  return !text.includes('\0');
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function decodeBody(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch {
    throw new Problem('malformed_json', 'The body is not UTF-8 text.');
  }
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Problem('malformed_json', `The body is not valid JSON${placeOf(error as Error)}.`);
  }
}

/** Returns where a text stops being JSON, if V8 says so. Its message may quote the text, which may contain a secret. */
function placeOf({ message }: Error): string {
  if (message.startsWith('Unexpected end')) return ': unexpected end';
  const [, position] = /^(?!Unexpected token).* at position (\d+)/.exec(message) ?? [];
  return position === undefined ? '' : `: error at character ${position}`;
}
