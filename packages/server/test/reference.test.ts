import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ProblemCode, problems } from '../src/domain/problem.js';
import type { ApiDocument } from '../src/web/api-document.js';
import { inline } from '../src/web/markup.js';
import { referencePage } from '../src/web/reference-page.js';
import { ask } from './support/client.js';
import { readPage, root } from './support/docs.js';
import { makeToken, startTestService, type TestService } from './support/service.js';

const chromiumPath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
const hasChromium = existsSync(chromiumPath);

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** Every place of a page that a link may lead to. */
function anchorsOf({ paths = {}, webhooks = {} }: ApiDocument): string[] {
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  return [
    ...operations.map(({ operationId }) => operationId ?? ''),
    ...Object.keys(webhooks).map((type) => `event-${type}`),
    ...['authentication', 'conventions', 'errors'],
  ];
}

/** The codes that the operations of a document name, and those of no operation. */
function codesOf({ paths = {} }: ApiDocument): Set<string> {
  const responses = Object.values(paths)
    .flatMap((item) => Object.values(item))
    .flatMap((operation) => Object.entries(operation.responses ?? {}));
  const named = responses
    .filter(([status]) => Number(status) >= 400)
    .flatMap(([, { description = '' }]) =>
      [...description.matchAll(/`([a-z_]+)`: /g)].map(([, code]) => code!),
    );
  return new Set([...named, 'malformed_request', 'method_not_allowed', 'not_found']);
}

describe.each(['publicUrl', 'platformUrl'] as const)('the API reference on %s', (listener) => {
  it('is open to everyone, guarded by strict headers, and asked for again only when it changed', async () => {
    const page = await ask(`${service[listener]}/docs`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; /);
    expect(page.headers.get('content-security-policy')).not.toMatch(/unsafe|\*|http/);
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('x-frame-options')).toBe('DENY');
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const etag = page.headers.get('etag') ?? '';
    const again = await ask(`${service[listener]}/docs`, { headers: { 'if-none-match': etag } });
    expect(again.status).toBe(304);
    expect(again.text).toBe('');
  });

  it('has an anchor for every operation and event type, and no link that leads nowhere', async () => {
    const { body } = await ask(`${service[listener]}/openapi.json`);
    const { text } = await ask(`${service[listener]}/docs`);
    const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(anchorsOf(body)));
    for (const [, target] of text.matchAll(/ href="#([^"]*)"/g)) expect(ids).toContain(target);
  });

  it('lists the problems that its own operations can answer, with what to do, and no others', async () => {
    const { body } = await ask(`${service[listener]}/openapi.json`);
    const { text } = await ask(`${service[listener]}/docs`);
    const rows = [...text.matchAll(/<tr id="problem-([a-z_]+)">([\s\S]*?)<\/tr>/g)];
    expect(new Set(rows.map(([, code]) => code))).toEqual(codesOf(body));
    for (const [, code, row = ''] of rows) {
      const { title, advice } = problems[code as ProblemCode];
      expect(row).toContain(`<p>${title}.</p>`);
      expect(row).toContain(`<p class="advice">${inline(advice).text}</p>`);
    }
  });

  it('names only guides that are in the repository', async () => {
    const { text } = await ask(`${service[listener]}/docs`);
    const named = new Set([...text.matchAll(/docs\/[a-zA-Z-]+\.md/g)].map(([path]) => path));
    expect(named.size).toBeGreaterThan(4);
    expect([...named].filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('says of every field and parameter what it is, without a pattern that only machines read', async () => {
    const { text } = await ask(`${service[listener]}/docs`);
    const rows = text.matchAll(
      /<tr><th scope="row"><code>(.*?)<\/code> <span class="kind">[\s\S]*?<td>([\s\S]*?)<\/td><\/tr>/g,
    );
    const silent = [...rows]
      .filter(([, , meaning = '']) => !/^<p>\S/.test(meaning.trim()))
      .map(([, name = '']) => name.replaceAll(/<[^>]*>/g, ''));
    // What is only around the others needs no words.
    expect(silent.filter((name) => !['data', 'meta', 'event'].includes(name))).toEqual([]);
    expect(text).not.toMatch(/matches <code>|at least 1 characters/i);
  });

  it('serves the assets it names, also to HEAD, and nothing else', async () => {
    const { text } = await ask(`${service[listener]}/docs`);
    const assets = new Set([...text.matchAll(/(?:src|href)="(docs\/[^"]*)"/g)].map(([, path]) => path));
    expect(assets).toEqual(new Set(['docs/posthorn.svg', 'docs/reference.css', 'docs/reference.js']));
    for (const path of assets) {
      const asset = await ask(`${service[listener]}/${path}`, { method: 'HEAD' });
      expect(asset.status).toBe(200);
      expect(asset.headers.get('content-security-policy')).toMatch(/^default-src 'none'/);
    }
    expect((await ask(`${service[listener]}/docs`, { method: 'POST' })).status).toBe(405);
    expect((await ask(`${service[listener]}/docs/`)).status).toBe(404);
    expect((await ask(`${service[listener]}/docs/package.json`)).status).toBe(404);
  });
});

describe('what the reference tells receivers', () => {
  it('has the headers, the fields and the waits of the guide', async () => {
    const { text } = await ask(`${service.publicUrl}/docs`);
    const guide = readPage('docs/receive-webhooks.md');
    const told = text.slice(text.indexOf('id="received"'), text.indexOf('class="domain"'));
    const namesBelow = (heading: string) => {
      const [, table = ''] = guide.split(`\n${heading}\n`)[1]!.split(/((?:^\|.*\n)+)/m);
      return [...table.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = '']) => cell.split(', '));
    };
    const headers = namesBelow('### Headers');
    expect(headers).toContain('`X-Service-Attempt`');
    // OpenAPI has its own place for the type of a body.
    const names = [...namesBelow('## The request'), ...headers].filter((name) => name !== '`Content-Type`');
    for (const name of names) expect(told).toContain(`${name.slice(1, -1)}</code>`);
    const waits = [...guide.matchAll(/^\| \d \| (\d+ \w+) \|$/gm)].map(([, wait]) => wait);
    expect(waits).toHaveLength(4);
    for (const wait of waits) expect(told).toContain(`<td>${wait}</td>`);
    for (const said of ['requireTimestamp: true', 'exactly 200', '410', '&quot;test&quot;: true'])
      expect(told).toContain(said);
  });
});

describe('the API reference in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    if (hasChromium)
      browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
  });
  afterAll(() => browser?.close());

  /** A page, with whatever it asked others for or complained about. */
  async function open(
    url: string,
    options: BrowserContextOptions = {},
  ): Promise<{ page: Page; faults: string[] }> {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
    });
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== new URL(url).origin) faults.push(request.url());
    });
    page.on('response', (response) => {
      if (response.status() >= 400) faults.push(`${response.status()} ${response.url()}`);
    });
    await page.goto(url);
    return { page, faults };
  }

  it.runIf(hasChromium).each([
    ['publicUrl', 1440],
    ['publicUrl', 375],
    ['platformUrl', 1440],
    ['platformUrl', 375],
  ] as const)(
    'shows %s at %i px without a fault, a foreign request or a sideways scroll',
    async (listener, width) => {
      for (const colorScheme of ['light', 'dark'] as const) {
        const { page, faults } = await open(`${service[listener]}/docs`, {
          viewport: { width, height: 900 },
          colorScheme,
        });
        await page.evaluate(`for (const one of document.querySelectorAll('main details')) one.open = true`);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
        expect(await page.locator('nav').isVisible()).toBe(width === 1440);
        expect(faults).toEqual([]);
        await page.context().close();
      }
    },
  );

  it.runIf(hasChromium)('leads to an event type that is folded away, and unfolds it', async () => {
    const { page } = await open(`${service.publicUrl}/docs#event-invoice.paid`);
    expect(await page.locator('[id="event-invoice.paid"] pre').isVisible()).toBe(true);
    expect(await page.locator('[id="event-invoice.voided"] pre').isVisible()).toBe(false);
    await page.context().close();
  });

  it.runIf(hasChromium)('leads to an operation that is folded away, and unfolds it', async () => {
    const { page, faults } = await open(`${service.platformUrl}/docs`);
    expect(await page.locator('#pauseServiceLine pre').first().isVisible()).toBe(false);
    await page.locator('.moves a[href="#pauseServiceLine"]').click();
    await page.locator('#pauseServiceLine pre').first().waitFor();
    expect(await page.locator('#closeServiceLine pre').first().isVisible()).toBe(false);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it.runIf(hasChromium)('copies a curl line with its own address and the token of this tab', async () => {
    const { page, faults } = await open(`${service.publicUrl}/docs`, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.getByLabel('Token').fill('pht_abc');
    await page.reload();
    await page.locator('#listEvents').getByRole('button', { name: 'Copy' }).first().click();
    await page.locator('#listEvents').getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      `curl "${service.publicUrl}/v1/events?organization_id=ORG-demo" \\\n  -H "Authorization: Bearer pht_abc"`,
    );
    await page.getByLabel('Token').fill('$(reboot)');
    expect(await page.locator('#listEvents pre').first().textContent()).not.toContain('reboot');
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it.runIf(hasChromium)('filters the navigation by every word typed, from the keyboard alone', async () => {
    const { page, faults } = await open(`${service.publicUrl}/docs`);
    await page.keyboard.press('/');
    await page.keyboard.type('get /v1/events one');
    const shown = page.locator('nav li:visible');
    expect(await shown.allInnerTexts()).toEqual([expect.stringContaining('Read one event')]);
    await page.keyboard.press('Enter');
    expect(new URL(page.url()).hash).toBe('#getEvent');
    await page.getByLabel('Filter').fill('no such thing');
    expect(await shown.count()).toBe(0);
    expect(await page.getByText('Nothing matches.').isVisible()).toBe(true);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it.runIf(hasChromium)('sends a request that only reads and shows the answer', async () => {
    const token = await makeToken(service.database);
    const { page, faults } = await open(`${service.publicUrl}/docs`);
    await page.getByLabel('Token').fill(token);
    const operation = page.locator('#listEvents');
    await operation.getByText('Try it').click();
    await operation.getByLabel('organization_id').fill('ORG-acme');
    await operation.getByLabel('limit').fill('1');
    await operation.getByRole('button', { name: 'Send' }).click();
    await operation.getByText(/^200 in \d+ ms$/).waitFor();
    expect(await operation.locator('.result pre').textContent()).toContain('"has_more": false');
    expect(await operation.locator('pre').first().textContent()).toContain(
      '?organization_id=ORG-acme&limit=1"',
    );
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it.runIf(hasChromium)('needs no script: all of it can be read, and the menu opens on a phone', async () => {
    const { page, faults } = await open(`${service.publicUrl}/docs`, {
      javaScriptEnabled: false,
      viewport: { width: 375, height: 812 },
    });
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('link', { name: 'Query the event stream' }).first().click();
    expect(new URL(page.url()).hash).toBe('#listEvents');
    expect(await page.locator('#listEvents pre').first().textContent()).toContain('$POSTHORN_URL/v1/events');
    await page.keyboard.press('Escape');
    expect(await page.locator('nav').isVisible()).toBe(false);
    await page.locator('[id="event-invoice.paid"] > summary').click();
    expect(await page.locator('[id="event-invoice.paid"] pre').isVisible()).toBe(true);
    for (const scripted of ['.token', '.filter', '.try', 'button:text("Copy")'])
      expect(await page.locator(`${scripted}:visible`).count()).toBe(0);
    expect(faults).toEqual([]);
    await page.context().close();
  });
});

describe('referencePage', () => {
  const hostile = `"'><script>alert(1)</script>&amp;<img src=x onerror=alert(1)>`;

  /** A document in which every text, name and value is the hostile one. */
  const document: ApiDocument = {
    info: { title: hostile, version: hostile, description: hostile },
    tags: [{ name: hostile, description: hostile }],
    paths: {
      [`/${hostile}/{${hostile}}`]: {
        get: {
          operationId: hostile,
          tags: [hostile],
          summary: hostile,
          description: `${hostile}\n\n**${hostile}** [${hostile}](https://example.com/"onclick=alert(1))`,
          deprecated: true,
          security: [{ [hostile]: [hostile] }],
          parameters: [
            { name: hostile, in: 'path', required: true, description: hostile, example: hostile },
            { name: hostile, in: 'query', required: true, schema: { enum: [hostile], default: hostile } },
            { name: hostile, in: 'header', required: true, schema: { type: hostile, pattern: hostile } },
            { name: 'cursor', in: 'query', schema: { title: hostile, format: hostile } },
          ],
          requestBody: { description: hostile, content: { [hostile]: { example: hostile } } },
          responses: {
            200: {
              description: hostile,
              headers: { [hostile]: { description: hostile } },
              content: {
                [`${hostile}json`]: {
                  schema: { properties: { [hostile]: { const: hostile, description: hostile } } },
                },
              },
            },
            [hostile]: { description: `\`${hostile}\`` },
          },
        },
      },
    },
    webhooks: {
      [hostile]: {
        post: {
          summary: hostile,
          description: hostile,
          parameters: [{ name: hostile, in: 'header', description: hostile }],
          requestBody: {
            content: {
              'application/json': {
                schema: {
                  properties: {
                    data: { properties: { [hostile]: { description: hostile, enum: [hostile] } } },
                  },
                },
                example: { [hostile]: hostile },
              },
            },
          },
          responses: { [hostile]: { description: hostile } },
        },
      },
    },
    components: { securitySchemes: { [hostile]: { description: hostile } } },
  };

  it('escapes every text of the document and of the problems', () => {
    const page = referencePage(document, { [hostile]: { status: 400, title: hostile } });
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page).toContain('<script src="docs/reference.js" type="module"></script>');
    expect(page).not.toMatch(/<img src=x|alert\(1\)<|"'>/);
    const attributes = [...page.matchAll(/<[a-z][^<>]*>/g)].map(([tag]) => tag.replace(/"[^"]*"/g, '""'));
    for (const tag of attributes) expect(tag).not.toMatch(/onerror|onclick|alert|'/);
  });

  it('makes links only of addresses that cannot run a script', () => {
    const paths = {
      '/x': {
        get: {
          description:
            '[a](javascript:alert(1)) [b](//evil.example) [c](data:text/html,x) [d](https://example.com) [e](#errors)',
        },
      },
    };
    const page = referencePage({ info: document.info, paths }, problems);
    expect(page).toContain('<a href="https://example.com">d</a> <a href="#errors">e</a>');
    expect(page).not.toMatch(/href="(?:javascript|data|\/\/)/);
  });

  it('shows what a later endpoint declares, without knowing of it', () => {
    const page = referencePage(
      {
        info: { title: 'T', version: '1' },
        paths: {
          '/v1/things/{thing_id}/copies': {
            post: {
              operationId: 'copyThing',
              tags: ['Things'],
              summary: 'Copy a thing',
              security: [{ accessToken: ['things:write'] }],
              parameters: [{ name: 'thing_id', in: 'path', required: true, schema: { pattern: '^THG-' } }],
              requestBody: {
                content: {
                  'application/json': {
                    schema: {
                      type: 'object',
                      required: ['name'],
                      properties: {
                        name: { type: 'string', minLength: 1, maxLength: 80, examples: ["Ada's"] },
                        count: { anyOf: [{ type: 'integer', maximum: 1000 }, { type: 'null' }], default: 1 },
                      },
                    },
                  },
                },
              },
              responses: {
                201: {
                  description: 'Created',
                  content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
                },
                409: { description: '`not_found`: None. `internal`: Ours.' },
              },
            },
          },
        },
        components: {
          schemas: { Thing: { type: 'object', properties: { id: { type: 'string', pattern: '^THG-' } } } },
        },
      },
      problems,
    );
    expect(page).toContain('id="copyThing"');
    expect(page).toContain('<summary>Things</summary>');
    expect(page).toContain('<code>things:write</code>');
    expect(page).toContain('/v1/things/THG-01JAB3C4D5E6F7G8H9J0K1M2N3/copies');
    expect(page).toContain('Ada&#39;\\&#39;&#39;s');
    expect(page).toContain('1 to 80 characters');
    expect(page).toContain('integer or null');
    expect(page).toContain('At most 1,000');
    expect(page).toContain('Default <code>1</code>');
    expect(page).toContain('<p><a href="#problem-not_found"><code>not_found</code></a>: None.</p>');
  });
});
