import { readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { encodedRoute, immutable, StaticContent } from '../web/static-content.js';

const ownAssets = {
  'reference.js': 'text/javascript; charset=utf-8',
  'posthorn.svg': 'image/svg+xml',
} as const;

/** Scalar uses inline styles. Everything else it needs comes from this listener. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

let scalarFile: StaticContent | undefined;

/** Returns Scalar's script, which is read and compressed once for both listeners. */
function scalarScript(): StaticContent {
  scalarFile ??= StaticContent.file(
    new URL('js/standalone.js', import.meta.resolve('@scalar/fastify-api-reference')),
    'text/javascript; charset=utf-8',
    immutable,
  );
  return scalarFile;
}

/**
 * Serves the API reference at `/docs`: Scalar, which reads `/openapi.json`. The script comes from the Fastify
 * package, which has 15 dependencies; `@scalar/api-reference` contains the same script and has 270.
 */
export function referenceRoutes(app: FastifyInstance, title: string): void {
  const scalar = scalarScript();
  const scalarName = `scalar-${scalar.hash}.js`;
  app.get(`/docs/assets/${scalarName}`, { config: { open: true }, ...encodedRoute }, async (request, reply) =>
    scalar.send(request, guarded(reply)),
  );
  for (const [name, type] of Object.entries(ownAssets)) {
    const text = readFileSync(new URL(`../../assets/${name}`, import.meta.url), 'utf8');
    const asset = StaticContent.of(type, text);
    app.get(`/docs/assets/${name}`, { config: { open: true }, ...encodedRoute }, async (request, reply) =>
      asset.send(request, guarded(reply)),
    );
  }
  const page = StaticContent.of('text/html; charset=utf-8', pageOf(title, scalarName));
  app.get('/docs', { config: { open: true }, ...encodedRoute }, async (request, reply) => {
    return page.send(request, guarded(reply));
  });
}

/** Returns the page. Its paths are relative, so that it also works behind a proxy that adds a prefix. */
function pageOf(title: string, scalarName: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} reference</title>
<link rel="icon" href="docs/assets/posthorn.svg" type="image/svg+xml">
</head>
<body>
<div id="reference"></div>
<noscript>This page needs JavaScript. Programs can read the reference at <a href="openapi.json">openapi.json</a>.</noscript>
<script src="docs/assets/${scalarName}"></script>
<script src="docs/assets/reference.js"></script>
</body>
</html>
`;
}

function guarded(reply: FastifyReply): FastifyReply {
  return reply
    .header('Content-Security-Policy', contentSecurityPolicy)
    .header('Referrer-Policy', 'no-referrer')
    .header('X-Frame-Options', 'DENY')
    .header('Cross-Origin-Opener-Policy', 'same-origin');
}
