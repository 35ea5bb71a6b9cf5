import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { ConfigError } from '../settings/config.js';
import { type Fault, under } from '../values/fault.js';
import { unstorableFaults } from '../values/storable.js';
import { CatalogueError, createCatalogue, type EventType, faultOfName } from './catalogue.js';
import { checkSchema, createPayloadValidator, isObject, type PayloadValidator } from './payload.js';

let builtin: readonly EventType[] | undefined;

/**
 * Returns the built-in types. Each also has `since` and `actors`, which only docs/event-types.md shows.
 *
 * The body of a webhook request contains the payload, but not the subject or the actor. Payloads therefore start with
 * the `id` of the subject, as in `incident.opened`. The exceptions are `service_line.activated` and
 * `agent.run.completed`, which do not contain that ID, and `webhook.*`, whose payloads start with `webhook_id`. Most
 * payloads require no field, because producers record what they know.
 */
export function builtinTypes(): readonly EventType[] {
  builtin ??= builtinData('catalogue.json') as readonly EventType[];
  return builtin;
}

/** Returns the content of a file that is part of this package. */
export function builtinData(file: 'catalogue.json' | 'lifecycles.json'): unknown {
  return JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'));
}

/** The types that the platform defines. */
export interface OwnCatalogue {
  /** Whether the built-in types are in the catalogue, too. The own types can redefine them. */
  builtin: boolean;
  types: readonly EventType[];
}

/** Returns the payloads that a lifecycle records as events of this type. A redefinition must accept them. */
export type RecordedPayloads = (type: string) => readonly object[];

const typesMax = 1_000;
const schemaBytesMax = 64 * 1024;

/**
 * Reads a catalogue: `{builtin, types}` or, in a file, only the array of types. Types that equal built-in ones are left
 * out, so that a catalogue can be sent back as it was read. Returns everything that is wrong with it.
 */
export function readOwnCatalogue(
  value: unknown,
  recorded: RecordedPayloads,
): { own: OwnCatalogue; faults: readonly Fault[] } {
  const given = Array.isArray(value) ? { types: value } : (value ?? {});
  const { builtin = true, types, ...unknown } = given as Record<string, unknown>;
  const faults: Fault[] = [];
  const refuse = (pointer: string, code: string, detail: string) => faults.push({ pointer, code, detail });
  for (const name of Object.keys(unknown)) refuse(`/${name}`, 'unknown_field', 'is not a known field');
  if (typeof builtin !== 'boolean') refuse('/builtin', 'wrong_type', 'must be true or false');
  if (!Array.isArray(types)) refuse('/types', 'wrong_type', 'is not an array of event types');
  else if (types.length > typesMax)
    refuse('/types', 'too_many_items', `must contain at most ${typesMax} types, got ${types.length}`);
  if (faults.length > 0) return { own: { builtin: true, types: [] }, faults };

  const known = new Map(builtinTypes().map((one) => [one.type, comparable(one)]));
  const own = { builtin: builtin === true, types: [] as EventType[] };
  const seen = new Set<string>();
  for (const [index, entry] of (types as unknown[]).entries()) {
    const at = `${Array.isArray(value) ? '' : '/types'}/${index}`;
    const shapeFaults = faultsOfShape(entry);
    faults.push(...under(at, shapeFaults));
    if (shapeFaults.length > 0) continue;
    const { type, description, schema, sample } = entry as EventType;
    const one: EventType = { type, description, schema, sample };
    const isKept = own.builtin || type.startsWith('webhook.');
    if (seen.has(type)) refuse(`${at}/type`, 'duplicate', `"${type}": the catalogue already has it`);
    seen.add(type);
    if (isKept && known.get(type) === comparable(one)) continue;
    const misnamed = faultOfName(type);
    if (misnamed) refuse(`${at}/type`, 'invalid_type', misnamed);
    else own.types.push(one);
    if (Buffer.byteLength(JSON.stringify(schema)) > schemaBytesMax)
      refuse(`${at}/schema`, 'too_large', `of ${type} must not be larger than ${schemaBytesMax} bytes`);
    else {
      const examples = own.builtin && known.has(type) ? recorded(type) : [];
      faults.push(...under(at, faultsOfType(one, examples)));
    }
  }
  return { own, faults };
}

function faultsOfShape(entry: unknown): Fault[] {
  const { type, description, schema, sample } = (entry ?? {}) as Record<string, unknown>;
  const checks = { type: typeof type === 'string', description: typeof description === 'string' };
  const all = { ...checks, schema: isObject(schema), sample: isObject(sample) };
  const faults = Object.entries(all)
    .filter(([, isValid]) => !isValid)
    .map(([name]) => ({ name, kind: name in checks ? 'a string' : 'an object' }))
    .map(({ name, kind }) => ({ pointer: `/${name}`, code: 'wrong_type', detail: `must be ${kind}` }));
  return faults.length > 0 ? faults : [...unstorableFaults(entry)];
}

/** Checks the schema and the sample, which test events send. */
function faultsOfType(one: EventType, recorded: readonly object[]): Fault[] {
  let validate: PayloadValidator;
  let faults: readonly Fault[];
  try {
    checkSchema(one);
    validate = createPayloadValidator(createCatalogue([one]));
    faults = validate(one.type, one.sample);
  } catch (error) {
    if (!(error instanceof CatalogueError)) throw error;
    return [{ pointer: '/schema', code: 'invalid_schema', detail: error.message }];
  }
  const refused = recorded.flatMap((payload) => validate(one.type, payload))[0];
  const narrow =
    refused && `of ${one.type} refuses what its lifecycle records: ${refused.pointer} ${refused.detail}`;
  return [
    ...under('/sample', faults),
    ...(narrow ? [{ pointer: '/schema', code: 'refuses_lifecycle', detail: narrow }] : []),
  ];
}

const comparable = ({ type, description, schema, sample }: EventType) =>
  JSON.stringify([type, description, schema, sample]);

/** Reads the file with the platform's own types, if there is one. Reports any fault in it in one line. */
export async function readCatalogueFile(
  file: string | undefined,
  recorded: RecordedPayloads,
): Promise<OwnCatalogue | undefined> {
  if (file === undefined) return undefined;
  let reason: string;
  try {
    const content = JSON.parse(await readFile(file, 'utf8'));
    const { own, faults } = readOwnCatalogue(content, recorded);
    if (!faults[0]) return own;
    reason = reasonOf(faults[0], content);
  } catch (error) {
    reason = (error as Error).message;
  }
  throw new ConfigError(
    `POSTHORN_CATALOGUE: ${JSON.stringify(file)} cannot be used: ${reason.split('\n')[0]}. ` +
      'Expected a JSON file with {"builtin": true or false, "types": [{type, description, schema, sample}]}, or only ' +
      'the array of types.',
  );
}

/** Returns the fault with the name of the type that has it. */
export function reasonOf({ pointer, detail }: Fault, content: unknown): string {
  const [, index, rest] = /^(?:\/types)?\/(\d+)(.*)$/.exec(pointer) ?? [];
  if (index === undefined) return `${pointer} ${detail}`;
  const types = Array.isArray(content) ? content : (content as { types: unknown[] }).types;
  const name = (types[Number(index)] as { type?: unknown } | null)?.type;
  return `entry ${index}${typeof name === 'string' ? ` (${name})` : ''}: ${rest} ${detail}`;
}

/** Returns all types of a catalogue: the built-in ones, redefined or not, and the platform's own. */
export function typesOf({ builtin, types }: OwnCatalogue): readonly EventType[] {
  const redefined = new Map(types.map((one) => [one.type, one]));
  const kept = builtinTypes().filter(({ type }) => builtin || type.startsWith('webhook.'));
  const names = new Set(kept.map(({ type }) => type));
  return [
    ...kept.map((one) => redefined.get(one.type) ?? one),
    ...types.filter(({ type }) => !names.has(type)),
  ];
}
