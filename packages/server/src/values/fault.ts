import type { DefinedError } from 'ajv';
import { patternInWords } from './pattern.js';

/** One error in a value: where it is, a code for programs, and a message for people. */
export interface Fault {
  /** JSON pointer (RFC 6901) inside the value. */
  readonly pointer: string;
  readonly code: string;
  /** Never includes the value itself, which may be a secret. */
  readonly detail: string;
}

/** An error for a failed keyword, as both Ajv and Fastify report it. */
interface KeywordError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly schemaPath: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string | undefined;
  /** Present only with Ajv's `verbose`. The detail of an unknown field then lists the known ones. */
  readonly parentSchema?: unknown;
}

/** An error. For a keyword such as `anyOf`, `tried` has the errors of the branches. */
interface Finding {
  readonly error: KeywordError;
  readonly tried: readonly Finding[];
}

const trying = new Set(['anyOf', 'oneOf', 'contains', 'propertyNames']);

/** Returns the faults without duplicates, in Ajv's order. `value` is the whole validated value. */
export function faultsFromAjv(errors: readonly KeywordError[] | null | undefined, value: unknown): Fault[] {
  const faults = nest(errors ?? []).flatMap((finding) => faultsOf(finding, value));
  const outOfChoice = new Set(
    faults.filter(({ code }) => code === 'not_one_of').map(({ pointer }) => pointer),
  );
  const seen = new Set<string>();
  return faults.filter(({ pointer, code, detail }) => {
    // The fault for the enum already lists the accepted values, so a second fault for the type adds nothing.
    if (code === 'wrong_type' && outOfChoice.has(pointer)) return false;
    const key = JSON.stringify([pointer, code, detail]);
    return !seen.has(key) && seen.add(key);
  });
}

/**
 * Puts the faults for unknown fields and parameters last. A request can have thousands of them, and only the first
 * faults are listed.
 */
export function knownFirst<T extends { readonly code: string }>(faults: readonly T[]): T[] {
  return [...faults.filter((fault) => !isUnknown(fault)), ...faults.filter(isUnknown)];
}

/** Returns whether this is a fault for a field or parameter that does not exist. */
export const isUnknown = ({ code }: { readonly code: string }): boolean =>
  code === 'unknown_field' || code === 'unknown_parameter';

/**
 * Nests the errors of branches in the error of their keyword, such as `anyOf`. Ajv reports the errors of
 * branches right before the error of the keyword, inner ones first.
 */
function nest(errors: readonly KeywordError[]): Finding[] {
  const findings: Finding[] = [];
  for (const error of errors) {
    // `if` only repeats that `then` or `else` failed, which is a separate error.
    if (error.keyword === 'if') continue;
    let start = findings.length;
    if (trying.has(error.keyword)) {
      while (start > 0 && isWithin(findings[start - 1]!.error, error)) start--;
    }
    findings.push({ error, tried: findings.splice(start) });
  }
  return findings;
}

function isWithin(inner: KeywordError, outer: KeywordError): boolean {
  return (
    inner.schemaPath.startsWith(`${outer.schemaPath}/`) &&
    (inner.instancePath === outer.instancePath || inner.instancePath.startsWith(`${outer.instancePath}/`))
  );
}

function faultsOf(finding: Finding, root: unknown): Fault[] {
  const { keyword } = finding.error;
  if ((keyword === 'anyOf' || keyword === 'oneOf') && finding.error.params.passingSchemas == null) {
    return faultsOfBranches(finding, root);
  }
  return [faultOf(finding.error, root)];
}

/**
 * Returns one fault that names all accepted types if the value has none of them. Otherwise returns the faults of the
 * closest branch that accepts the value's type.
 */
function faultsOfBranches({ error, tried }: Finding, root: unknown): Fault[] {
  const { instancePath, schemaPath } = error;
  const branches = new Map<string, Finding[]>();
  for (const finding of tried) {
    const branch = finding.error.schemaPath.slice(schemaPath.length + 1).split('/', 1)[0]!;
    const findings = branches.get(branch);
    if (findings) findings.push(finding);
    else branches.set(branch, [finding]);
  }
  const accepted: string[] = [];
  let onlyChoices = true;
  let nearest: Finding[] | undefined;
  for (const findings of branches.values()) {
    const own = findings.map((finding) => finding.error).filter((each) => each.instancePath === instancePath);
    const choice = own.find(({ keyword }) => keyword === 'const' || keyword === 'enum');
    const kind = own.find(({ keyword }) => keyword === 'type');
    const mismatch = choice ?? kind;
    if (mismatch) {
      accepted.push(...acceptedBy(mismatch));
      onlyChoices &&= choice !== undefined;
    } else if (!nearest || findings.length < nearest.length) {
      nearest = findings;
    }
  }
  if (nearest) return nearest.flatMap((finding) => faultsOf(finding, root));
  if (accepted.length === 0) return [faultOf(error, root)];
  const alternatives = anyOf([...new Set(accepted)]);
  if (onlyChoices) return [{ pointer: instancePath, code: 'not_one_of', detail: `must be ${alternatives}` }];
  const detail = `must be ${alternatives}, got ${kindOf(at(root, instancePath))}`;
  return [{ pointer: instancePath, code: 'wrong_type', detail }];
}

function acceptedBy(raw: KeywordError): string[] {
  const error = raw as DefinedError;
  switch (error.keyword) {
    case 'const':
      return [JSON.stringify(error.params.allowedValue)];
    case 'enum':
      return error.params.allowedValues.map((allowed: unknown) => JSON.stringify(allowed));
    case 'type':
      return [error.params.type].flat().map((type) => nameOfType[type] ?? type);
    default:
      return [];
  }
}

function faultOf(raw: KeywordError, root: unknown): Fault {
  const error = raw as DefinedError;
  const pointer = error.instancePath;
  const fault = (code: string, detail: string): Fault => ({ pointer, code, detail });
  switch (error.keyword) {
    case 'required':
      return {
        pointer: join(pointer, error.params.missingProperty),
        code: 'required',
        detail: 'is required',
      };
    case 'dependencies':
    case 'dependentRequired': {
      const { missingProperty, property } = error.params;
      return {
        pointer: join(pointer, missingProperty),
        code: 'required',
        detail: `is required when ${property} is given`,
      };
    }
    case 'additionalProperties':
      return unknownField(join(pointer, error.params.additionalProperty), raw.parentSchema);
    case 'unevaluatedProperties':
      return unknownField(join(pointer, error.params.unevaluatedProperty), undefined);
    case 'propertyNames': {
      const { propertyName } = error.params;
      return {
        pointer: join(pointer, propertyName),
        code: 'invalid_name',
        detail: 'is not a valid field name',
      };
    }
    case 'type':
      return fault('wrong_type', `must be ${anyOf(acceptedBy(raw))}, got ${kindOf(at(root, pointer))}`);
    case 'const':
    case 'enum':
      return fault('not_one_of', `must be ${anyOf(acceptedBy(raw))}`);
    case 'minimum':
      return fault('too_small', `must be at least ${error.params.limit}`);
    case 'exclusiveMinimum':
      return fault('too_small', `must be greater than ${error.params.limit}`);
    case 'maximum':
      return fault('too_large', `must be at most ${error.params.limit}`);
    case 'exclusiveMaximum':
      return fault('too_large', `must be less than ${error.params.limit}`);
    case 'multipleOf':
      return fault('not_a_multiple', `must be a multiple of ${error.params.multipleOf}`);
    case 'minLength':
      return fault('too_short', `must have at least ${countOf(error.params.limit, 'character')}`);
    case 'maxLength':
      return fault('too_long', `must have at most ${countOf(error.params.limit, 'character')}`);
    case 'pattern':
      return fault('pattern_mismatch', `must ${patternPhrase(error.params.pattern)}`);
    case 'format':
      return fault(
        'invalid_format',
        `must be ${nameOfFormat[error.params.format] ?? `a valid ${error.params.format}`}`,
      );
    case 'minItems':
      return fault('too_few_items', `must have at least ${countOf(error.params.limit, 'item')}`);
    case 'maxItems':
    case 'additionalItems':
    case 'items':
    case 'unevaluatedItems':
      return fault('too_many_items', `must have at most ${countOf(error.params.limit, 'item')}`);
    case 'uniqueItems':
      return fault(
        'duplicate_items',
        `must not contain duplicates: items ${error.params.j} and ${error.params.i} are the same`,
      );
    case 'contains': {
      const { minContains, maxContains } = error.params;
      const atMost = maxContains === undefined ? '' : ` and at most ${maxContains}`;
      const items = countOf(minContains, 'matching item');
      return fault('wrong_item_count', `must have at least ${items}${atMost}`);
    }
    case 'minProperties':
      return fault('too_few_fields', `must have at least ${countOf(error.params.limit, 'field')}`);
    case 'maxProperties':
      return fault('too_many_fields', `must have at most ${countOf(error.params.limit, 'field')}`);
    case 'oneOf':
      return fault('ambiguous', 'must match exactly one of the accepted forms, but matches several');
    case 'anyOf':
      return fault('no_match', 'must match one of the accepted forms');
    case 'not':
    case 'false schema':
      return fault('not_allowed', 'is not allowed');
    default:
      return fault('invalid', raw.message ?? 'is not valid');
  }
}

function patternPhrase(pattern: string): string {
  const words = patternInWords(pattern);
  return words === undefined ? `match the pattern ${pattern}` : `be ${words}`;
}

function unknownField(pointer: string, schema: unknown): Fault {
  const known = Object.keys((schema as { properties?: object } | undefined)?.properties ?? {});
  const detail =
    known.length === 0 ? 'is not a known field' : `is not a known field; known fields: ${known.join(', ')}`;
  return { pointer, code: 'unknown_field', detail };
}

const nameOfType: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  object: 'an object',
  array: 'an array',
  null: 'null',
};

const nameOfFormat: Readonly<Record<string, string>> = {
  'date-time': 'an RFC 3339 date and time with an offset, such as 2026-01-31T09:30:00.000Z',
  date: 'a date such as 2026-01-31',
  email: 'an email address',
  uri: 'an absolute URI',
  uuid: 'a UUID',
};

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'boolean') return 'a boolean';
  if (typeof value === 'object') return 'an object';
  if (typeof value !== 'number') return `a ${typeof value}`;
  // JSON.parse turns 1e400 into Infinity.
  if (!Number.isFinite(value)) return 'a number out of range';
  return Number.isInteger(value) ? 'an integer' : 'a number with a fraction';
}

function at(root: unknown, pointer: string): unknown {
  let value = root;
  for (const token of pointer.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return undefined;
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~');
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

function join(pointer: string, field: string): string {
  return `${pointer}/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function anyOf(alternatives: readonly string[]): string {
  if (alternatives.length < 2) return alternatives.join('');
  if (alternatives.length === 2) return alternatives.join(' or ');
  return `one of ${alternatives.join(', ')}`;
}

function countOf(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
