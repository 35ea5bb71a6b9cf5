import { instantOf, type Options, UsageError } from 'posthorn';
import { identifierPattern } from '../values/identifier.js';
import { parseInstantMs } from '../values/instant.js';
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

/** Returns the requested time range. */
export function rangeOf(options: Options): { fromMs: number | undefined; toMs: number | undefined } {
  const [fromMs, toMs] = [timeOf('from', 'start', options), timeOf('to', 'end', options)];
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs)
    throw new UsageError('--from must not be later than --to.');
  return { fromMs, toMs };
}

function timeOf(name: 'from' | 'to', edge: 'start' | 'end', options: Options): number | undefined {
  const text = options[name];
  if (text === undefined) return undefined;
  const ms = parseInstantMs(instantOf(text), edge);
  if (ms === undefined)
    throw new UsageError(
      `--${name}: '${text}' is not valid. Expected a date (2026-11-15), a time with Z or an offset (2026-11-15T09:30:00Z), ` +
        'or how long ago (1h).',
    );
  return ms;
}
