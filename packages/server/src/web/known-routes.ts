import type { FastifyInstance } from 'fastify';
import { Problem } from '../values/problem.js';

/** Returns where to send a request that has no route on this listener, or undefined if that is unknown. */
export type Elsewhere = (method: string, path: string) => string | undefined;

/**
 * Tracks the methods of each path. Returns a function that returns the problem of a request without a route, to
 * distinguish a wrong method (405) from a wrong path (404).
 */
export function missingRoutes(
  app: FastifyInstance,
  elsewhere: Elsewhere = () => undefined,
): (method: string, url: string) => Problem {
  const methodsByPath = new Map<string, { pattern: RegExp; methods: Set<string>; isOff: () => boolean }>();
  app.addHook('onRoute', ({ url, method, config }) => {
    const isOff = config?.isOff ?? (() => false);
    const known = methodsByPath.get(url) ?? { pattern: patternOf(url), methods: new Set(), isOff };
    for (const name of [method].flat()) known.methods.add(name.toUpperCase());
    methodsByPath.set(url, known);
  });

  /** Returns the known paths below the resource if only the last segment of the path is wrong. */
  function knownBelow(path: string): string {
    const known = [...methodsByPath].filter(([, { isOff }]) => !isOff()).map(([url]) => url);
    const before = path.slice(0, path.lastIndexOf('/'));
    const resource = known.find((url) => /\/:[^/]+$/.test(url) && patternOf(url).test(before));
    if (resource === undefined) return '';
    const ends = known
      .filter((url) => url.startsWith(`${resource}/`))
      .map((url) => url.slice(resource.length + 1))
      .filter((end) => !end.includes('/'));
    if (ends.length === 0) return '';
    return `. Known paths under ${resource.replace(/:([^/]+)/g, '{$1}')}: ${ends.join(', ')}`;
  }

  return (method, url) => {
    const path = pathOf(url);
    const allowed = new Set<string>();
    for (const { pattern, methods, isOff } of methodsByPath.values()) {
      if (pattern.test(path) && !isOff()) for (const name of methods) allowed.add(name);
    }
    const place = elsewhere(method, path);
    const hint = place === undefined ? '' : ` ${place}`;
    if (allowed.size === 0)
      return new Problem('not_found', `Nothing exists at this path${knownBelow(path)}.${hint}`);
    const allow = [...allowed].sort().join(', ');
    return new Problem('method_not_allowed', `This path does not support ${method}. Use ${allow}.${hint}`, {
      headers: { Allow: allow },
    });
  };
}

function patternOf(url: string): RegExp {
  const escaped = url.replace(/[.+*]/g, '\\$&').replace(/:[^/]+/g, '[^/]+');
  return new RegExp(`^${escaped.replace(/\\\*$/, '.*')}$`);
}

/** Returns the path as the router reads it: decoded, without origin, query and fragment. */
function pathOf(url: string): string {
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] ?? '/';
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
