import { identifierPattern, kindPattern } from './identifier.js';

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
