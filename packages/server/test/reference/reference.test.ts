import { createHash } from 'node:crypto';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, hasChromium, launch } from '../../../console/test/support/browser.js';
import { sendRequest } from '../support/client.js';
import { makeToken, platformToken, sharedService } from '../support/service.js';

const service = await sharedService();
const listeners = [
  {
    listener: 'public listener',
    url: service.publicUrl,
    title: 'Posthorn API',
    token: await makeToken(service.database, { organization_id: 'ORG-demo', scopes: ['audit:read'] }),
    // Neighbors, because the page renders everything between two operations.
    requests: [
      { section: 'token/GET/v1/token', status: 200 },
      { section: 'audit-log/GET/v1/audit-logs', status: 200 },
    ],
  },
  {
    listener: 'platform listener',
    url: service.platformUrl,
    title: 'Posthorn platform API',
    token: platformToken,
    // The example of the body is sent.
    requests: [{ section: 'events/POST/platform/events', status: 201 }],
  },
];
type Listener = (typeof listeners)[number];
const [publicListener, platformListener] = listeners as [Listener, Listener];
const named = listeners.map((each) => [each.listener, each] as const);

describe.each(named)('the API reference on the %s', (_name, { url }) => {
  const scriptPath = async () =>
    /src="(docs\/assets\/scalar-[^"]+)"/.exec((await sendRequest(`${url}/docs`)).text)?.[1];

  it('needs no token and has strict security headers', async () => {
    const page = await sendRequest(`${url}/docs`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; /);
    expect(policy.replace("style-src 'unsafe-inline'", '')).not.toMatch(/unsafe|\*|http|blob/);
    expect(page.text).not.toMatch(/<script(?! src=")|<style| on\w+=/);
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('x-frame-options')).toBe('DENY');
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  });

  it('is downloaded again only after a change', async () => {
    const page = await sendRequest(`${url}/docs`);
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const etag = page.headers.get('etag') ?? '';
    const again = await sendRequest(`${url}/docs`, { headers: { 'if-none-match': etag } });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  it('has a compressed script that can be cached forever', async () => {
    const path = `${url}/${await scriptPath()}`;
    const { headers, body } = await fetchRaw(path, 'gzip');
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(headers.get('vary')).toBe('accept-encoding');
    const plain = await fetchRaw(path, 'identity');
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(body.length).toBe(plain.body.length);
    for (const encoding of ['gzip', 'br']) {
      const head = await sendRequest(path, { method: 'HEAD', headers: { 'accept-encoding': encoding } });
      expect(head.headers.get('content-encoding')).toBe(encoding);
      expect(Number(head.headers.get('content-length'))).toBeLessThan(plain.body.length / 3);
      const etag = head.headers.get('etag') ?? '';
      expect(etag).toMatch(new RegExp(`-${encoding}"$`));
      expect((await sendRequest(path, { headers: { 'if-none-match': etag } })).status).toBe(304);
    }
  });

  it('serves only what the page refers to', async () => {
    const { text } = await sendRequest(`${url}/docs`);
    const paths = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, path]) => path);
    expect(paths).toHaveLength(4);
    for (const path of paths)
      expect((await sendRequest(`${url}/${path}`, { method: 'HEAD' })).status, path).toBe(200);
    expect((await sendRequest(`${url}/docs`, { method: 'POST' })).status).toBe(405);
    for (const path of ['/docs/', '/docs/assets/', '/docs/assets/package.json', '/docs/assets/scalar-0.js'])
      expect((await sendRequest(`${url}${path}`)).status, path).toBe(404);
  });
});

it('the API reference is the same on both listeners, except for its title and its OpenAPI document', async () => {
  const of = async ({ url, title }: Listener) => {
    const { text, headers } = await sendRequest(`${url}/docs`);
    expect(text.split(title)).toHaveLength(2);
    const scripts = [...text.matchAll(/src="([^"]*)"/g)].map(([, path]) =>
      fetchRaw(`${url}/${path}`, 'identity'),
    );
    return {
      page: text.replace(title, ''),
      policy: headers.get('content-security-policy'),
      scripts: (await Promise.all(scripts)).map(({ body }) =>
        createHash('sha256').update(body).digest('hex'),
      ),
    };
  };
  const onPublic = await of(publicListener);
  expect(onPublic.scripts).toHaveLength(2);
  expect(await of(platformListener)).toEqual(onPublic);
});

/** A response as it came over the wire, decoded by nobody but us. */
async function fetchRaw(url: string, encoding: string): Promise<{ headers: Headers; body: Buffer }> {
  const response = await fetch(url, { headers: { 'accept-encoding': encoding } });
  return { headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
}

describe.runIf(hasChromium)(
  `in a browser${hasChromium ? '' : ` (skipped: no ${chromiumPath})`}`,
  { timeout: 60_000 },
  () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await launch();
      return () => browser.close();
    });

    /** Opens the page and notes whatever it complains about or requests from another host. */
    async function open(
      { url, title }: Listener,
      options: BrowserContextOptions,
      hash: string,
    ): Promise<{ page: Page; faults: string[] }> {
      const faults: string[] = [];
      const page = await (await browser.newContext(options)).newPage();
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) faults.push(message.text());
      });
      page.on('pageerror', (error) => faults.push(String(error)));
      page.on('request', (request) => {
        if (new URL(request.url()).origin !== url) faults.push(request.url());
      });
      await page.goto(`${url}/docs${hash}`);
      await page.getByRole('heading', { name: title, exact: true }).waitFor();
      return { page, faults };
    }

    const menuEntry = (page: Page, name: string) =>
      page.locator('aside').getByText(name, { exact: true }).first();
    const isOnScreen = (page: Page, selector: string) =>
      page.evaluate<boolean>(`(() => {
        const { top, bottom } = document.querySelector('${selector}').getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight;
      })()`);
    /** Returns the start of each text of which a part is hidden. Descriptions in tables are one line by design. */
    const cutTexts = (page: Page) =>
      page.evaluate<string[]>(`[...document.querySelectorAll('.markdown')]
        .filter((text) => !text.matches('table *') && text.scrollHeight > text.clientHeight + 1)
        .map((text) => text.textContent.slice(0, 40))`);
    const colorOf = (page: Page) => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');

    // Loading the page takes seconds, so the tests of a listener share one. Each continues where the one before ended.
    describe.each(named)('the API reference on the %s', (_name, listener) => {
      const { url, title, token, requests } = listener;
      let page: Page;
      let faults: string[];
      beforeAll(async () => {
        const options: BrowserContextOptions = {
          viewport: { width: 1440, height: 900 },
          colorScheme: 'light',
        };
        ({ page, faults } = await open(listener, options, '#problem-not_found'));
        return () => page.context().close();
      });

      it('explains an error at the URL of its type', async () => {
        const row = 'tr[data-opened]';
        await page.locator(row).getByText('not_found', { exact: true }).waitFor();
        await expect.poll(() => isOnScreen(page, row)).toBe(true);
        expect(new URL(page.url()).hash).toBe('#tag/errors');
        expect(faults).toEqual([]);
      });

      it('shows every guide to its end', async () => {
        expect(await cutTexts(page)).toEqual([]);
      });

      // The pages differ only in their documents, so what works with one document works with the other.
      if (listener === publicListener) {
        it('works on a desktop, in light colors', async () => {
          expect(await colorOf(page)).toBe('rgb(255, 255, 255)');
          expect(await page.title()).toBe(`${title} reference`);
          expect(await menuEntry(page, 'Errors').isVisible()).toBe(true);
          const toConsole = page.getByRole('link', { name: 'console', exact: true });
          expect(await toConsole.getAttribute('href')).toMatch(/\/console$/);
          expect(faults).toEqual([]);
        });

        it('finds operations from the keyboard', async () => {
          await page.keyboard.press('Control+k');
          await page.getByRole('combobox', { name: 'Enter search query' }).fill('token details');
          await page.getByRole('option', { name: 'Get token details' }).first().waitFor();
          await page.keyboard.press('ArrowDown');
          await page.keyboard.press('Enter');
          await page.getByRole('heading', { name: 'Get token details', exact: true }).waitFor();
          expect(faults).toEqual([]);
        });
      }

      it('sends requests with a token entered once', async () => {
        for (const [index, { section, status }] of requests.entries()) {
          await page.goto(`${url}/docs#tag/${section}`);
          const operation = page.locator(`section[id$="tag/${section}"]`);
          await operation.getByRole('button', { name: 'Test Request' }).click();
          const client = page.getByRole('dialog');
          if (index === 0) await client.getByPlaceholder('Token').fill(token);
          await send(client, page, status);
          await page.getByRole('button', { name: 'Close Client' }).click();
        }
        expect(faults).toEqual([]);
      });

      it('needs no horizontal scrolling on a phone', async () => {
        await page.setViewportSize({ width: 375, height: 812 });
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(375);
      });

      if (listener === publicListener) {
        it('works on a phone, in dark colors, with a menu', async () => {
          await page.emulateMedia({ colorScheme: 'dark' });
          await expect.poll(() => colorOf(page)).toBe('rgb(15, 15, 15)');
          await page.getByRole('button', { name: 'Open Menu' }).click();
          await menuEntry(page, 'Errors').click();
          await page.getByRole('heading', { name: /^Errors/ }).waitFor();
          await page.waitForURL('**/docs#tag/errors');
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(375);
        });
      }
    });

    async function send(client: Locator, page: Page, status: number): Promise<void> {
      const responded = page.waitForResponse((response) => response.request().resourceType() === 'fetch');
      await client.getByRole('button', { name: /^Send/ }).first().click();
      const response = await responded;
      expect(response.status(), response.url()).toBe(status);
      await client.getByText(`${status} `, { exact: false }).first().waitFor();
    }
  },
);
