import { createHash } from 'node:crypto';
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
  const serve = (path: string, content: StaticContent) =>
    app.get(path, { config: { open: true }, ...encodedRoute }, async (request, reply) =>
      content.send(request, guarded(reply)),
    );
  const scalar = scalarScript();
  const scalarName = `scalar-${scalar.hash}.js`;
  serve(`/docs/assets/${scalarName}`, scalar);
  for (const [name, type] of Object.entries(ownAssets))
    serve(`/docs/assets/${name}`, StaticContent.of(type, readAsset(name)));
  // The paths in the page are relative, so that it also works behind a proxy that adds a prefix.
  const page = readAsset('reference.html').replace('{{title}}', title).replace('{{scalar}}', scalarName);
  serve('/docs', StaticContent.of('text/html; charset=utf-8', page));
}

/** Serves the command line of integrators as one file, so that nobody needs a checkout or a registry to run it. */
export function commandLineRoutes(app: FastifyInstance): void {
  const location = new URL('../../assets/posthorn.mjs', import.meta.url);
  const digest = createHash('sha256').update(readFileSync(location)).digest('hex');
  const files = {
    '/cli/posthorn.mjs': StaticContent.file(location, 'text/javascript; charset=utf-8', 'no-cache'),
    '/cli/posthorn.mjs.sha256': StaticContent.of('text/plain; charset=utf-8', `${digest}  posthorn.mjs\n`),
  };
  for (const [path, content] of Object.entries(files))
    app.get(path, { config: { open: true }, ...encodedRoute }, async (request, reply) =>
      content.send(request, reply.header('Content-Disposition', 'attachment')),
    );
}

function readAsset(name: string): string {
  return readFileSync(new URL(`../../assets/${name}`, import.meta.url), 'utf8');
}

function guarded(reply: FastifyReply): FastifyReply {
  return reply
    .header('Content-Security-Policy', contentSecurityPolicy)
    .header('Referrer-Policy', 'no-referrer')
    .header('X-Frame-Options', 'DENY')
    .header('Cross-Origin-Opener-Policy', 'same-origin');
}
