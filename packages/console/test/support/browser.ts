import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe } from 'vitest';
import { buildConsole } from '../../build.js';

/** Chromium without its own windows. A page takes a third of the CPU that it takes in the whole browser. */
const headlessShell = '/usr/bin/chromium-headless-shell';

export const chromiumPath =
  process.env.CHROMIUM_PATH ?? (existsSync(headlessShell) ? headlessShell : '/usr/bin/chromium');
export const hasChromium = existsSync(chromiumPath);

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
}

export interface Watched {
  page: Page;
  /** What the browser complained about, and every request to another origin. */
  faults: string[];
}

/** Opens a page in a context of its own and notes whatever it complains about or asks another origin for. */
export async function watchedPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== 'data:') faults.push(`asked ${request.url()}`);
  });
  return { page, faults };
}

/** Returns the complaints that a test did not bring about on purpose. */
export function unexpected(faults: readonly string[], expected: RegExp): string[] {
  return faults.filter((fault) => !expected.test(fault));
}

/** Opens a page of a browser that the tests of a file share. */
type OpenPage = (origin: string, options?: BrowserContextOptions) => Promise<Watched>;

/** Describes what the built console does in a browser; without a browser, the title says why it is skipped. */
export function describeInBrowser(title: string, define: (open: OpenPage) => Promise<void>): void {
  const name = hasChromium ? title : `${title} (skipped: no ${chromiumPath})`;
  describe.runIf(hasChromium)(name, { timeout: 180_000 }, async () => {
    await buildConsole();
    let browser: Browser;
    beforeAll(async () => {
      browser = await launch();
    });
    afterAll(() => browser?.close());
    await define((origin, options) => watchedPage(browser, origin, options));
  });
}
