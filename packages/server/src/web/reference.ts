import { readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { FixedText } from './fixed-text.js';
import { referencePage } from './reference-page.js';

const assets = {
  'reference.css': 'text/css; charset=utf-8',
  'reference.js': 'text/javascript; charset=utf-8',
  'posthorn.svg': 'image/svg+xml',
} as const;

const contentSecurityPolicy = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

/** `/docs`: the API reference. Everything it loads is served from here. */
export function referenceRoutes(app: FastifyInstance): void {
  let page: FixedText | undefined;
  app.get('/docs', { config: { open: true } }, async (request, reply) => {
    page ??= new FixedText('text/html; charset=utf-8', referencePage(app.apiDocument(), app.apiProblems()));
    return page.send(request, guarded(reply));
  });
  for (const [name, type] of Object.entries(assets)) {
    const text = readFileSync(new URL(`../../assets/${name}`, import.meta.url), 'utf8');
    const asset = new FixedText(type, text);
    app.get(`/docs/${name}`, { config: { open: true } }, async (request, reply) =>
      asset.send(request, guarded(reply)),
    );
  }
}

function guarded(reply: FastifyReply): FastifyReply {
  return reply
    .header('Content-Security-Policy', contentSecurityPolicy)
    .header('Referrer-Policy', 'no-referrer')
    .header('X-Frame-Options', 'DENY')
    .header('Cross-Origin-Opener-Policy', 'same-origin');
}
