import { readdirSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Config, ConfigError, version } from '../settings/config.js';
import { Problem } from '../values/problem.js';
import { dayMs } from '../values/time.js';
import { urlOf } from '../web/listener.js';
import { encodedRoute, immutable, StaticContent } from '../web/static-content.js';

/** The files of the console by their path below `/console/`. */
type ConsoleFiles = ReadonlyMap<string, StaticContent>;

/** The names of the files in this folder contain a hash of their content. */
const hashedFolder = 'assets/';

const fileTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

export interface PortalLogo {
  bytes: Buffer;
  type: 'image/svg+xml' | 'image/png';
}

export interface ConsoleOptions
  extends Pick<
    Config,
    'eventRetentionMs' | 'portalAccent' | 'portalName' | 'portalOrigins' | 'retryScheduleMs'
  > {
  /** Undefined if the console is not built. */
  files: ConsoleFiles | undefined;
  logo: PortalLogo | undefined;
}

const logoBytesMax = 64 * 1024;
const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const notBuilt = 'The console has not been built. Run npm run build, then start the service again.\n';
const open = { open: true, queryIsIgnored: true };

/** Serves the console below `/console`, and redirects browsers there from `/`. */
export function consoleRoutes(app: FastifyInstance, options: ConsoleOptions): void {
  const guard = guardOf(options.portalOrigins);
  indexRoute(app);
  settingsRoute(app, options, guard);
  logoRoute(app, options.logo);
  filesRoutes(app, options.files, guard);
}

type Guard = (reply: FastifyReply) => FastifyReply;

/** Allows only the console's own files to run, and only the configured origins to frame it. */
function guardOf(frameOrigins: readonly string[]): Guard {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "manifest-src 'self'",
    `frame-ancestors ${frameOrigins.length > 0 ? frameOrigins.join(' ') : "'none'"}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return (reply) => {
    reply
      .header('Content-Security-Policy', policy)
      .header('Referrer-Policy', 'no-referrer')
      .header('Cross-Origin-Opener-Policy', 'same-origin');
    return frameOrigins.length > 0 ? reply : reply.header('X-Frame-Options', 'DENY');
  };
}

function indexRoute(app: FastifyInstance): void {
  const index = {
    name: 'Posthorn',
    version,
    links: {
      console: '/console',
      cli: '/cli/posthorn.mjs',
      reference: '/docs',
      openapi: '/openapi.json',
      events: '/v1/events',
      event_types: '/v1/event-types',
      webhooks: '/v1/webhooks',
      deliveries: '/v1/deliveries',
      stats: '/v1/stats',
      audit_logs: '/v1/audit-logs',
      token: '/v1/token',
      health: '/healthz',
      readiness: '/readyz',
    },
  };
  app.get('/', { config: { open: true } }, async (request, reply) => {
    reply.header('Vary', 'Accept');
    return prefersHtml(request.headers.accept ?? '') ? reply.redirect('/console', 302) : index;
  });
}

/** Serves what the page needs before anyone signs in. Browsers enforce the frame origins, so they are not included. */
function settingsRoute(app: FastifyInstance, options: ConsoleOptions, guard: Guard): void {
  const { portalName: name = null, portalAccent: accent = null, logo } = options;
  const settings = StaticContent.of(
    'application/json; charset=utf-8',
    JSON.stringify({
      name,
      accent,
      logo: logo ? '/console/logo' : null,
      version,
      retention_days: Math.floor(options.eventRetentionMs / dayMs),
      retry_waits_ms: options.retryScheduleMs,
    }),
  );
  app.get('/console/settings.json', { config: open, ...encodedRoute }, async (request, reply) =>
    settings.send(request, guard(reply)),
  );
}

function logoRoute(app: FastifyInstance, logo: PortalLogo | undefined): void {
  const image = logo && StaticContent.of(logo.type, logo.bytes);
  app.get('/console/logo', { config: open, ...encodedRoute }, async (request, reply) => {
    if (!image) throw new Problem('not_found', 'No logo is set.');
    // Browsers treat an SVG that is opened directly as a page. This policy prevents it from running or loading
    // anything.
    reply.header('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox");
    return image.send(request, reply);
  });
}

function filesRoutes(app: FastifyInstance, files: ConsoleFiles | undefined, guard: Guard): void {
  const send = async (path: string, request: FastifyRequest, reply: FastifyReply) => {
    guard(reply);
    if (!files) return reply.status(503).type('text/plain; charset=utf-8').send(notBuilt);
    const file = files.get(path);
    if (!file && (path.startsWith(hashedFolder) || extname(path) !== '')) {
      reply.header('Vary', 'Accept');
      // This build has no such file. If an older build had it, the error makes the open page reload itself.
      if (!prefersHtml(request.headers.accept ?? ''))
        throw new Problem('not_found', 'Nothing exists at this path.');
    }
    // Every other path is a view of the console, which the page's script renders. A path that looks like a missing file
    // is one, too, if a browser opens it as a page: an address copied from the end of a sentence can include the full
    // stop, which looks like a file extension.
    return (file ?? files.get('index.html')!).send(request, reply);
  };
  const route = { config: open, ...encodedRoute };
  app.get('/console', route, (request, reply) => send('index.html', request, reply));
  app.get<{ Params: { '*': string } }>('/console/*', route, (request, reply) =>
    send(request.params['*'] || 'index.html', request, reply),
  );
}

/** Returns where the build of `@posthorn/console` is, or undefined if the package is not installed. */
export function consoleBuild(): URL | undefined {
  try {
    return new URL('dist/', import.meta.resolve('@posthorn/console/package.json'));
  } catch {
    return undefined;
  }
}

/**
 * Finds all files of a build. Files are served by name from this list, so no path can lead outside it. Returns
 * undefined if there is no build.
 */
export function findConsoleFiles(build: URL | undefined): ConsoleFiles | undefined {
  if (build === undefined) return undefined;
  const files = new Map<string, StaticContent>();
  for (const entry of entriesOf(build)) {
    const path = entry.replaceAll('\\', '/');
    const type = fileTypes[extname(path)];
    if (type === undefined) continue;
    const location = new URL(pathToFileURL(`/${path}`).pathname.slice(1), build);
    files.set(
      path,
      StaticContent.file(location, type, path.startsWith(hashedFolder) ? immutable : 'no-cache'),
    );
  }
  return files.has('index.html') ? files : undefined;
}

function entriesOf(build: URL): readonly string[] {
  try {
    return readdirSync(build, { recursive: true, encoding: 'utf8' });
  } catch {
    return [];
  }
}

/** Returns whether an `Accept` header names HTML, and before JSON, as the header of a browser does. */
function prefersHtml(accept: string): boolean {
  return /^((?!application\/json).)*text\/html/i.test(accept);
}

/** Reads the logo of the portal. Reports an error in one line. */
export async function loadPortalLogo(file: string | undefined): Promise<PortalLogo | undefined> {
  if (file === undefined) return undefined;
  try {
    // Check the size before reading, because the file may be huge.
    const { size } = await stat(file);
    if (size > logoBytesMax) throw new Error(`the file has ${size} bytes`);
    const bytes = await readFile(file);
    const type = imageTypeOf(bytes);
    if (type === undefined) throw new Error('the file is neither SVG nor PNG');
    return { bytes, type };
  } catch (error) {
    throw new ConfigError(
      `POSTHORN_PORTAL_LOGO: ${JSON.stringify(file)} cannot be used: ${(error as Error).message.split('\n')[0]}. ` +
        'Expected a readable SVG or PNG file of at most 64 KiB.',
    );
  }
}

/** Returns the type of the content. Browsers are told not to detect it themselves. */
function imageTypeOf(bytes: Buffer): PortalLogo['type'] | undefined {
  if (bytes.subarray(0, pngSignature.length).equals(pngSignature)) return 'image/png';
  return /<svg[\s>]/i.test(bytes.toString('utf8')) ? 'image/svg+xml' : undefined;
}

/** Returns the address of the public API for clients. `listenerUrl` is undefined if another node has the role. */
export function publicUrlOf(config: Config, listenerUrl: string | undefined): string {
  return config.publicOrigin ?? listenerUrl ?? urlOf(config.host, config.port);
}

/** Returns a function that links to the console. Browsers do not send the fragment, so no log contains the token. */
export function consoleLinks(config: Config, publicUrl: string | undefined): (token?: string) => string {
  const base = publicUrlOf(config, publicUrl);
  return (token) => `${base}/console${token === undefined ? '' : `#token=${token}`}`;
}
