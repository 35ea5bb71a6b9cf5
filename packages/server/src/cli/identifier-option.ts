import { type Options, UsageError } from 'posthorn';
import { identifierPattern } from '../values/identifier.js';
import { patternInWords } from '../values/pattern.js';

/** Returns the organization from the options. A malformed ID is a usage error, not an empty list. */
export function organizationOf({ organization }: Options): string | undefined {
  return organization === undefined
    ? undefined
    : matching('organization', organization, identifierPattern.organization);
}

export function workspaceOf({ workspace }: Options): string | undefined {
  return workspace === undefined ? undefined : matching('workspace', workspace, identifierPattern.workspace);
}

export function matching(option: string, text: string, pattern: string): string {
  if (new RegExp(pattern).test(text)) return text;
  throw new UsageError(`--${option}: '${text}' is not valid. Expected ${patternInWords(pattern)}.`);
}
