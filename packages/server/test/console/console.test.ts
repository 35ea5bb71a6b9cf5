import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ConsoleOptions,
  consoleRoutes,
  findConsoleFiles,
  loadPortalLogo,
} from '../../src/console/console.js';
import { ConfigError, readConfig, version } from '../../src/settings/config.js';
import { createListener } from '../../src/web/listener.js';
import { sendRequest } from '../support/client.js';

const page = '<!doctype html><title>Console</title>';
const script = 'console.log(1);'.repeat(500);
const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
const defaults: Omit<ConsoleOptions, 'files'> = { ...readConfig({}), logo: undefined };

let directory: string;
const apps: FastifyInstance[] = [];

/** Serves the console of the directory, and returns its address. */
async function serve(options: Partial<ConsoleOptions> = {}): Promise<string> {
  const app = await createListener({ name: 'public', logger: pino({ level: 'silent' }), bodyLimit: 1_024 });
  apps.push(app);
  consoleRoutes(app, { ...defaults, files: findConsoleFiles(pathToFileURL(`${directory}/`)), ...options });
  return app.listen({ host: '127.0.0.1', port: 0 });
}

let url: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'posthorn-console-'));
  await mkdir(join(directory, 'assets'));
  await writeFile(join(directory, 'index.html'), page);
  await writeFile(join(directory, 'assets', 'main-4f3a.js'), script);
  await writeFile(join(directory, 'favicon.svg'), svg);
  url = await serve();
});
afterAll(async () => {
  await Promise.all(apps.map((app) => app.close()));
  await rm(directory, { recursive: true });
});

describe('GET /', () => {
  it.each([
    'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'text/html, application/json',
    'TEXT/HTML',
  ])('leads a browser to the console, for Accept: %s', async (accept) => {
    const headers = { accept };
    const response = await sendRequest(url, { headers });
    expect([response.status, response.headers.get('location')]).toEqual([302, '/console']);
    expect(response.headers.get('vary')).toMatch(/accept/i);
  });

  it.each([undefined, '*/*', 'application/json', 'application/json, text/html;q=0.5'])(
    'returns an index of links as JSON for Accept: %s',
    async (accept) => {
      const { status, body } = await sendRequest(url, accept === undefined ? {} : { headers: { accept } });
      expect(status).toBe(200);
      expect(body).toMatchObject({
        name: 'Posthorn',
        version,
        links: { console: '/console', reference: '/docs', events: '/v1/events' },
      });
    },
  );
});

describe('the console', () => {
  it.each(['', '/', '/webhooks/WHK-1?tab=settings&x=1', '/events%20and'])(
    'shows its page at /console%s',
    async (path) => {
      const { status, text, headers } = await sendRequest(`${url}/console${path}`);
      expect([status, text, headers.get('cache-control')]).toEqual([200, page, 'no-cache']);
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    },
  );

  it.each(['/logo.txt', '/assets/none', '/deep/missing.js', '/favicon.png'])(
    'has nothing at /console%s',
    async (path) => {
      for (const accept of ['*/*', 'application/json'])
        expect((await sendRequest(`${url}/console${path}`, { headers: { accept } })).status).toBe(404);
    },
  );

  it.each(['/webhooks/WHK-1.', '/assets/none', '/deep/missing.js'])(
    'shows its page, not an error in JSON, to someone who opens /console%s',
    async (path) => {
      const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
      const { status, text, headers } = await sendRequest(`${url}/console${path}`, { headers: { accept } });
      expect([status, text, headers.get('cache-control')]).toEqual([200, page, 'no-cache']);
      expect(headers.get('vary')).toMatch(/accept(,|$)/i);
    },
  );

  it('lets nothing run but its own files, and nobody frame it', async () => {
    const { headers } = await sendRequest(`${url}/console`);
    const policy = headers.get('content-security-policy')!;
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "img-src 'self' data:",
      "font-src 'self'",
      "manifest-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'none'",
    ]);
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
  });

  it('may be framed by the origins of the settings, and by no other', async () => {
    const framed = await serve({ portalOrigins: ['https://app.example.com', 'http://localhost:3000'] });
    const { headers } = await sendRequest(`${framed}/console`);
    expect(headers.get('content-security-policy')).toContain(
      'frame-ancestors https://app.example.com http://localhost:3000; ',
    );
    expect(headers.get('x-frame-options')).toBeNull();
  });

  it('lets browsers keep hashed files forever, compressed, with an entity tag', async () => {
    const path = `${url}/console/assets/main-4f3a.js`;
    const plain = await fetch(path, { headers: { 'accept-encoding': 'identity' } });
    expect(await plain.text()).toBe(script);
    expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(plain.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    for (const encoding of ['br', 'gzip']) {
      const response = await sendRequest(path, { headers: { 'accept-encoding': encoding } });
      expect(response.text).toBe(script);
      expect(response.headers.get('content-encoding')).toBe(encoding);
      const again = await sendRequest(path, { headers: { 'if-none-match': response.headers.get('etag')! } });
      expect([again.status, again.text]).toEqual([304, '']);
    }
  });

  it('is 404 for a part of another build, and 405 for another method', async () => {
    expect((await sendRequest(`${url}/console/assets/main-0000.js`)).status).toBe(404);
    const { status, headers } = await sendRequest(`${url}/console/events`, { method: 'POST' });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it.each(['/console/../package.json', '/console/..%2f..%2fetc%2fpasswd', '/console/%2e%2e/x'])(
    'serves nothing but its own files: %s',
    async (path) => {
      const { text } = await sendRequest(`${url}${path}`);
      expect([page, ''].includes(text) || text.includes('"status":404')).toBe(true);
    },
  );

  it('says in one sentence that it is not built', async () => {
    const { status, text } = await sendRequest(`${await serve({ files: undefined })}/console`);
    expect(status).toBe(503);
    expect(text).toBe('The console has not been built. Run npm run build, then start the service again.\n');
    expect(findConsoleFiles(pathToFileURL(`${directory}/none/`))).toBeUndefined();
  });
});

describe('GET /console/settings.json', () => {
  it('has nulls where nothing is set', async () => {
    const { body, headers } = await sendRequest(`${url}/console/settings.json`);
    expect(body).toEqual({
      ...{ name: null, accent: null, logo: null, version },
      ...{ retention_days: 90, retry_waits_ms: readConfig({}).retryScheduleMs },
    });
    expect(headers.get('cache-control')).toBe('no-cache');
    expect(headers.get('etag')).not.toBeNull();
    expect((await sendRequest(`${url}/console/logo`)).status).toBe(404);
  });

  it('has the name, the accent and the logo of the platform, and not who may frame it', async () => {
    const branded = await serve({
      ...{ portalName: 'Acme', portalAccent: '#0a7d55', portalOrigins: ['https://app.example.com'] },
      logo: { bytes: Buffer.from(svg), type: 'image/svg+xml' },
    });
    const { body, text } = await sendRequest(`${branded}/console/settings.json`);
    expect(body).toMatchObject({ name: 'Acme', accent: '#0a7d55', logo: '/console/logo' });
    expect(text).not.toContain('app.example.com');
    const logo = await fetch(`${branded}${body.logo}`);
    expect(await logo.text()).toBe(svg);
    expect(logo.headers.get('content-type')).toBe('image/svg+xml');
    expect(logo.headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    );
  });
});

describe('POSTHORN_PORTAL_LOGO', () => {
  const fileWith = async (content: string | Buffer) => {
    const file = join(directory, 'a logo');
    await writeFile(file, content);
    return file;
  };

  it('may be an SVG or a PNG file, by its content', async () => {
    expect((await loadPortalLogo(await fileWith(`<?xml version="1.0"?>\n${svg}`)))?.type).toBe(
      'image/svg+xml',
    );
    const png = Buffer.from('89504e470d0a1a0a0000000d', 'hex');
    expect(await loadPortalLogo(await fileWith(png))).toEqual({ bytes: png, type: 'image/png' });
    expect(await loadPortalLogo(undefined)).toBeUndefined();
  });

  it.each([
    ['too large', svg.padEnd(65_537), /65537 bytes/],
    ['another kind of file', 'GIF89a', /neither SVG nor PNG/],
    ['missing', undefined, /ENOENT/],
  ])('stops the start with one clear line if the file is %s', async (_what, content, reason) => {
    const file = content === undefined ? join(directory, 'none') : await fileWith(content);
    const failure = await loadPortalLogo(file).catch((error) => error);
    expect(failure).toBeInstanceOf(ConfigError);
    expect(failure.message).toMatch(/^POSTHORN_PORTAL_LOGO: .* Expected a readable SVG or PNG file/);
    expect(failure.message).toMatch(reason);
    expect(failure.message).not.toContain('\n');
  });
});
