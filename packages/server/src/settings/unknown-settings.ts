import { distance } from 'fastest-levenshtein';
import { settings } from './config.js';

/** Variables of clients and of single commands. They are not settings, but must not be reported as typos. */
const otherVariables: readonly string[] = ['POSTHORN_URL', 'POSTHORN_TOKEN', 'POSTHORN_TARGET_SECRET_KEY'];

/** Returns one line for each variable that looks like a setting but is not one: most likely a typo. */
export function unknownSettings(env: Record<string, string | undefined>): string[] {
  const known = Object.values(settings).map((setting): string => setting.env);
  return Object.keys(env)
    .filter((name) => /^POSTHORN_/i.test(name) && ![...known, ...otherVariables].includes(name))
    .sort()
    .map((name) => `Ignoring ${name}: there is no such setting. Did you mean ${nearestOf(known, name)}?`);
}

function nearestOf(known: readonly string[], name: string): string {
  const core = (text: string) => text.slice(0, 200).toUpperCase().replace('POSTHORN_', '');
  return known.reduce((nearest, candidate) =>
    distance(core(candidate), core(name)) < distance(core(nearest), core(name)) ? candidate : nearest,
  );
}
