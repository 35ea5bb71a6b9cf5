import type { FastifyInstance } from 'fastify';
import { Problem } from '../domain/problem.js';

/** Remembers which methods each path has, to tell a wrong method (405) from a wrong path (404). */
export function knownRoutes(app: FastifyInstance): {
  missing: (method: string, url: string) => Problem;
} {
  const methodsByPath = new Map<string, { pattern: RegExp; methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    const pattern = new RegExp(`^${url.replace(/[.+*]/g, '\\$&').replace(/:[^/]+/g, '[^/]+')}$`);
    const known = methodsByPath.get(url) ?? { pattern, methods: new Set() };
    for (const name of [method].flat()) known.methods.add(name.toUpperCase());
    methodsByPath.set(url, known);
  });
  return {
    missing(method: string, url: string): Problem {
      const path = pathOf(url);
      const allowed = new Set<string>();
      for (const { pattern, methods } of methodsByPath.values()) {
        if (pattern.test(path)) for (const name of methods) allowed.add(name);
      }
      if (allowed.size === 0) return new Problem('not_found', 'There is nothing at this path.');
      const allow = [...allowed].sort().join(', ');
      return new Problem('method_not_allowed', `${method} is not available here; use ${allow}.`, {
        headers: { Allow: allow },
      });
    },
  };
}

/** The path as the router reads it: without an origin, without what follows it, decoded. */
function pathOf(url: string): string {
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] ?? '/';
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
