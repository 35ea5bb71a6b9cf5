import { fixedHeaders } from '../sending/request.js';
import { type Fault, pointerTo, under } from '../values/fault.js';
import { inputProblem, Problem } from '../values/problem.js';
import type { SecretBox } from '../values/secret-box.js';

/** A webhook's custom headers as given in a request. Null keeps the stored value. */
export type GivenHeaders = Readonly<Record<string, string | null>>;
export type CustomHeaders = Readonly<Record<string, string>>;

/** A webhook's custom headers as they are stored: encrypted. The names are also in plain text, so they can be shown. */
export interface SealedHeaders {
  header_names: readonly string[];
  headers: Buffer | null;
}

const countMax = 10;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const nameLengthMax = 256;
const value = /^[!-~](?:[ -~]{0,1022}[!-~])?$/;
/**
 * Names that belong to the connection or to this service. `Expect` asks for a response before the body, but no attempt
 * waits for one.
 */
const reserved =
  /^(connection|keep-alive|proxy-authenticate|proxy-authorization|proxy-connection|te|trailer|transfer-encoding|upgrade|expect|host|user-agent|content-.*|webhook-.*|x-service-.*)$/i;

/** The rules for headers as JSON Schema, for the OpenAPI document. */
export const documentedHeaders = {
  maxProperties: countMax,
  propertyNames: { pattern: token.source, maxLength: nameLengthMax },
  additionalProperties: { type: ['string', 'null'], pattern: value.source },
};

/** Returns every fault in the headers of a request. With `canKeep`, null may stand for a stored value. */
export function headerFaults(given: object | null, canKeep: boolean): readonly Fault[] {
  const entries = Object.entries(given ?? {});
  if (entries.length > countMax) {
    return [{ pointer: '', code: 'too_many_fields', detail: `must have at most ${countMax} headers` }];
  }
  const seen = new Set<string>();
  return entries.flatMap(([name, one]) => {
    const fault = nameFault(name, seen) ?? valueFault(one, canKeep);
    seen.add(name.toLowerCase());
    return fault ? [{ pointer: pointerTo('', name.slice(0, 100)), ...fault }] : [];
  });
}

function nameFault(name: string, seen: ReadonlySet<string>): Omit<Fault, 'pointer'> | undefined {
  if (!token.test(name) || name.length > nameLengthMax)
    return fail(
      'invalid_header_name',
      `must have a name of 1 to ${nameLengthMax} letters, digits or !#$%&'*+-.^_\`|~`,
    );
  if (reserved.test(name))
    return fail('reserved_header', 'is set by the service or the connection and cannot be changed');
  if (!seen.has(name.toLowerCase())) return undefined;
  return fail('repeated_header', 'is given twice; header names are not case-sensitive');
}

function valueFault(given: unknown, canKeep: boolean): Omit<Fault, 'pointer'> | undefined {
  if (given === null && canKeep) return undefined;
  if (typeof given !== 'string') return fail('wrong_type', 'must be a string');
  if (value.test(given)) return undefined;
  const accepted = '1 to 1,024 printable ASCII characters, and must not start or end with a space';
  return fail('invalid_header_value', `must be ${accepted}`);
}

const fail = (code: string, detail: string) => ({ code, detail });

/** Returns a fault for each name that is meant to keep a stored value but has none. */
function keptHeaderFaults(given: GivenHeaders, stored: CustomHeaders): readonly Fault[] {
  const names = new Set(Object.keys(stored).map((name) => name.toLowerCase()));
  return Object.entries(given)
    .filter(([name, one]) => one === null && !names.has(name.toLowerCase()))
    .map(([name]) => ({
      pointer: pointerTo('', name.slice(0, 100)),
      code: 'no_stored_value',
      detail: 'must be a string: null keeps a stored value, but this webhook has no header with this name',
    }));
}

/** Returns the headers that replace those of the webhook. A name without a value keeps its stored value. */
export function changedHeaders(
  { id, headers }: { id: string; headers: Buffer | null },
  given: GivenHeaders | null,
  secrets: SecretBox,
): SealedHeaders {
  const keeps = Object.values(given ?? {}).includes(null);
  const stored = keeps ? openHeaders(headers, id, secrets) : {};
  const faults = keptHeaderFaults(given ?? {}, stored);
  const problem = inputProblem(under('/headers', faults));
  if (problem) throw problem;
  return sealHeaders(replacedHeaders(given, stored), id, secrets);
}

/**
 * Returns the problem of a change that would send stored values to another origin, or undefined. Without it, whoever may
 * change the URL could read them on a server of their own.
 */
export function movedHeaders(
  { url: before, header_names }: { url: string; header_names: readonly string[] },
  url: string | undefined,
  given: GivenHeaders | null | undefined,
): Problem | undefined {
  if (url === undefined || new URL(url).origin === new URL(before).origin) return undefined;
  const kept =
    given === undefined ? header_names : Object.keys(given ?? {}).filter((name) => given?.[name] === null);
  if (kept.length === 0) return undefined;
  const detail =
    'must be given again, or removed: a stored value is never sent to another scheme, host or port';
  return new Problem(
    'secrets_required',
    'The new URL has another scheme, host or port. Give the values of all headers again, or remove the headers.',
    {
      faults: kept.map((name) => ({
        pointer: pointerTo('/headers', name.slice(0, 100)),
        code: 'secret_required',
        detail,
      })),
    },
  );
}

/** Returns the headers that replace the stored ones. */
export function replacedHeaders(given: GivenHeaders | null, stored: CustomHeaders): CustomHeaders {
  const byName = new Map(Object.entries(stored).map(([name, one]) => [name.toLowerCase(), one]));
  return Object.fromEntries(
    Object.entries(given ?? {}).flatMap(([name, one]) => {
      const kept = one ?? byName.get(name.toLowerCase());
      return kept === undefined ? [] : [[name, kept]];
    }),
  );
}

export function sealHeaders(headers: CustomHeaders, webhookId: string, secrets: SecretBox): SealedHeaders {
  const header_names = Object.keys(headers);
  if (header_names.length === 0) return { header_names, headers: null };
  return { header_names, headers: secrets.seal(JSON.stringify(headers), ownerOf(webhookId)) };
}

/** Decrypts headers. Throws if no key matches or if the data was changed. */
export function openHeaders(sealed: Buffer | null, webhookId: string, secrets: SecretBox): CustomHeaders {
  return sealed === null ? {} : (JSON.parse(secrets.open(sealed, ownerOf(webhookId))) as CustomHeaders);
}

/** Encrypts headers again, with the first key of `into`. */
export function reencryptHeaders(sealed: Buffer, webhookId: string, secrets: SecretBox): Buffer {
  const owner = ownerOf(webhookId);
  return secrets.seal(secrets.open(sealed, owner), owner);
}

/**
 * Returns the owner of the headers. It differs from the owner of a secret, so encrypted headers cannot pass for an
 * encrypted secret, or the other way around.
 */
const ownerOf = (webhookId: string) => `${webhookId} headers`;

/**
 * Returns the headers of every request to the webhook: the custom headers, and the fixed ones that they do not
 * replace.
 */
export function constantHeaders(own: CustomHeaders, contentType: string): string[] {
  const names = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const headers: string[] = [];
  const fixed = fixedHeaders(contentType);
  for (let index = 0; index < fixed.length; index += 2) {
    const name = fixed[index]!;
    if (!names.has(name.toLowerCase())) headers.push(name, fixed[index + 1]!);
  }
  for (const [name, one] of Object.entries(own)) headers.push(name, one);
  return headers;
}
