/** The part after the prefix is opaque: printable ASCII without spaces, and short enough for the keys of indexes. */
const opaque = '[!-~]{1,120}';

export const identifierPattern = {
  organization: `^ORG-${opaque}$`,
  workspace: `^WS-${opaque}$`,
  /** Actors and subjects can be of any kind, so their IDs have no fixed prefix. */
  resource: '^[!-~]{1,128}$',
} as const;

/** The kind of an actor or a subject: `user`, `service_line`, … */
export const kindPattern = '^[a-z][a-z0-9_]{0,63}$';

/** Patterns for text that must not contain certain characters. */
export const textPattern = {
  /** Text that PostgreSQL can store. */
  storable: '^[^\\u0000\\ud800-\\udfff]*$',
  plain: '^[^\\u0000-\\u001f\\u007f]*$',
  /**
   * Text for a signing secret. An unpaired surrogate has no UTF-8 form, so the signing key would differ from
   * what the user entered.
   */
  signing: '^[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]*$',
} as const;

const printable = 'printable ASCII characters without spaces';

const words: Readonly<Record<string, string>> = {
  [identifierPattern.organization]: `ORG- followed by 1 to 120 ${printable}`,
  [identifierPattern.workspace]: `WS- followed by 1 to 120 ${printable}`,
  [identifierPattern.resource]: `1 to 128 ${printable}`,
  [kindPattern]: 'a lowercase letter followed by up to 63 lowercase letters, digits or underscores',
  [textPattern.storable]: 'text without NUL characters or unpaired surrogates',
  [textPattern.plain]: 'text without control characters',
  [textPattern.signing]: 'text without control characters',
  '^p\\d$': 'one of p0 to p9',
};

/** Returns a description of what a pattern accepts, or undefined if there is none. */
export function patternInWords(pattern: string): string | undefined {
  const prefix = /^\^([A-Z]+-)\.?$/.exec(pattern)?.[1];
  if (prefix !== undefined) return `an ID that starts with ${prefix}`;
  return Object.hasOwn(words, pattern) ? words[pattern] : undefined;
}
