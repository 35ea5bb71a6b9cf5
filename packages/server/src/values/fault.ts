import type { ErrorObject } from 'ajv';
import { patternInWords } from './pattern.js';

/** One error in a value: where it is, a code for programs, and a message for people. */
export interface Fault {
  /** JSON pointer (RFC 6901) inside the value. */
  readonly pointer: string;
  readonly code: string;
  /** Never includes the value itself, which may be a secret. */
  readonly detail: string;
}

/** Reports everything that is wrong with a value. */
export class InvalidInput extends Error {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; '));
    this.faults = faults;
  }
}

/** An error. For a keyword such as `anyOf`, `tried` has the errors of the branches. */
interface Finding {
  readonly error: ErrorObject;
  readonly tried: readonly Finding[];
}

const trying = new Set(['anyOf', 'oneOf', 'contains', 'propertyNames']);

/** Returns the faults without duplicates, in Ajv's order. `value` is the whole validated value. */
export function faultsFromAjv(errors: readonly ErrorObject[] | null | undefined, value: unknown): Fault[] {
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
  const isUnknown = ({ code }: T) => code === 'unknown_field' || code === 'unknown_parameter';
  return [...faults.filter((fault) => !isUnknown(fault)), ...faults.filter(isUnknown)];
}

/**
 * Nests the errors of branches in the error of their keyword, such as `anyOf`. Ajv reports the errors of
 * branches right before the error of the keyword, inner ones first.
 */
function nest(errors: readonly ErrorObject[]): Finding[] {
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

function isWithin(inner: ErrorObject, outer: ErrorObject): boolean {
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

function acceptedBy({ keyword, params }: ErrorObject): string[] {
  if (keyword === 'const') return [JSON.stringify(params.allowedValue)];
  if (keyword === 'enum') return params.allowedValues.map((allowed: unknown) => JSON.stringify(allowed));
  return [params.type].flat().map((type) => nameOfType[type] ?? type);
}

type Rule = readonly [
  code: string,
  detailOf: (params: ErrorObject['params'], error: ErrorObject, root: unknown) => string,
];

const atLeast = (code: string, noun: string): Rule => [
  code,
  ({ limit }) => `must have at least ${countOf(limit, noun)}`,
];
const atMost = (code: string, noun: string): Rule => [
  code,
  ({ limit }) => `must have at most ${countOf(limit, noun)}`,
];
const notOneOf: Rule = ['not_one_of', (_, error) => `must be ${anyOf(acceptedBy(error))}`];
const requiredWith: Rule = ['required', ({ property }) => `is required when ${property} is given`];
const tooManyItems = atMost('too_many_items', 'item');
const notAllowed: Rule = ['not_allowed', () => 'is not allowed'];

/** The code and the detail of a fault, for each keyword. */
const rules: ReadonlyMap<string, Rule> = new Map(
  Object.entries<Rule>({
    required: ['required', () => 'is required'],
    dependencies: requiredWith,
    dependentRequired: requiredWith,
    additionalProperties: ['unknown_field', (_, { parentSchema }) => unknownField(parentSchema)],
    unevaluatedProperties: ['unknown_field', () => unknownField(undefined)],
    propertyNames: ['invalid_name', () => 'is not a valid field name'],
    type: [
      'wrong_type',
      (_, error, root) => `must be ${anyOf(acceptedBy(error))}, got ${kindOf(at(root, error.instancePath))}`,
    ],
    const: notOneOf,
    enum: notOneOf,
    minimum: ['too_small', ({ limit }) => `must be at least ${limit}`],
    exclusiveMinimum: ['too_small', ({ limit }) => `must be greater than ${limit}`],
    maximum: ['too_large', ({ limit }) => `must be at most ${limit}`],
    exclusiveMaximum: ['too_large', ({ limit }) => `must be less than ${limit}`],
    multipleOf: ['not_a_multiple', ({ multipleOf }) => `must be a multiple of ${multipleOf}`],
    minLength: atLeast('too_short', 'character'),
    maxLength: atMost('too_long', 'character'),
    pattern: ['pattern_mismatch', ({ pattern }) => `must ${patternPhrase(pattern)}`],
    format: ['invalid_format', ({ format }) => `must be ${nameOfFormat[format] ?? `a valid ${format}`}`],
    minItems: atLeast('too_few_items', 'item'),
    maxItems: tooManyItems,
    additionalItems: tooManyItems,
    items: tooManyItems,
    unevaluatedItems: tooManyItems,
    uniqueItems: [
      'duplicate_items',
      ({ i, j }) => `must not contain duplicates: items ${j} and ${i} are the same`,
    ],
    contains: [
      'wrong_item_count',
      ({ minContains, maxContains }) =>
        `must have at least ${countOf(minContains, 'matching item')}` +
        (maxContains === undefined ? '' : ` and at most ${maxContains}`),
    ],
    minProperties: atLeast('too_few_fields', 'field'),
    maxProperties: atMost('too_many_fields', 'field'),
    oneOf: ['ambiguous', () => 'must match exactly one of the accepted forms, but matches several'],
    anyOf: ['no_match', () => 'must match one of the accepted forms'],
    not: notAllowed,
    'false schema': notAllowed,
  }),
);

function faultOf(error: ErrorObject, root: unknown): Fault {
  const { params, instancePath } = error;
  const [code, detailOf] = rules.get(error.keyword) ?? ['invalid', () => error.message ?? 'is not valid'];
  const field =
    params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty ?? params.propertyName;
  const pointer = field === undefined ? instancePath : pointerTo(instancePath, field);
  return { pointer, code, detail: detailOf(params, error, root) };
}

function patternPhrase(pattern: string): string {
  const words = patternInWords(pattern);
  return words === undefined ? `match the pattern ${pattern}` : `be ${words}`;
}

function unknownField(schema: unknown): string {
  const known = Object.keys((schema as { properties?: object } | undefined)?.properties ?? {});
  return `is not a known field${known.length === 0 ? '' : `; known fields: ${known.join(', ')}`}`;
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

/** Returns the faults of a value that is at this place in a larger one. */
export const under = (pointer: string, faults: readonly Fault[]): Fault[] =>
  faults.map((fault) => ({ ...fault, pointer: pointer + fault.pointer }));

/** Returns the pointer to a field of what `pointer` leads to. */
export function pointerTo(pointer: string, field: string): string {
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
