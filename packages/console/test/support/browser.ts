import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe } from 'vitest';
import { buildConsole } from '../../build.js';

/** Chromium without its own windows. A page takes a third of the CPU that it takes in the whole browser. */
const headlessShell = '/usr/bin/chromium-headless-shell';

export const chromiumPath =
  process.env.CHROMIUM_PATH ?? (existsSync(headlessShell) ? headlessShell : '/usr/bin/chromium');
export const hasChromium = existsSync(chromiumPath);

/**
 * Launches a browser whose pages of one site share a process, even one after another. In a new process, a page takes
 * twice as much CPU to load, because its scripts are compiled again. No page lives long enough for optimized code to
 * pay for itself: without it, and without a process for drawing, the tests take a sixth less CPU.
 */
export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath,
    args: ['--no-sandbox', '--process-per-site', '--js-flags=--no-opt --no-maglev', '--in-process-gpu'],
  });
}

export interface Watched {
  page: Page;
  /** What the browser complained about, and every request to another origin. */
  faults: string[];
}

/** Opens a page in a context of its own and notes whatever it complains about or requests from another origin. */
export async function watchedPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({ viewport, ...options });
  const page = await context.newPage();
  return { page, faults: watch(page, origin) };
}

const viewport = { width: 1280, height: 860 };

/** Returns a list that grows with whatever a page complains about or requests from another origin. */
function watch(page: Page, origin: string): string[] {
  const faults: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== 'data:') faults.push(`requested ${request.url()}`);
  });
  return faults;
}

/** Resets a page that was used: clears its storage, permissions, routes and listeners. */
async function renew(page: Page): Promise<void> {
  // A handler may still be processing a request. Its result no longer matters.
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  if (page.url() !== 'about:blank') await page.evaluate('sessionStorage.clear(); localStorage.clear()');
  await page.context().clearPermissions();
  await page.goto('about:blank');
  for (const event of ['console', 'pageerror', 'request']) page.removeAllListeners(event);
  await page.emulateMedia({ colorScheme: null, contrast: null, forcedColors: null, media: null });
  await page.setViewportSize(viewport);
}

/** Goes to another view of the console as a link does, without loading the page again, and waits for its heading. */
export async function visit(page: Page, path: string, heading: string): Promise<void> {
  await page.evaluate(`history.pushState({}, '', ${JSON.stringify(`/console${path}`)})`);
  await page.locator('main').getByRole('heading', { name: heading, exact: true }).first().waitFor();
}

/** Presses a key once there is a button for it. A key that no button takes yet does nothing. */
export async function pressKey(page: Page, key: string): Promise<void> {
  await page.locator(`[data-key="${key}"]:enabled`).waitFor();
  await page.keyboard.press(key);
}

/** Makes live views refresh 20 times as often, until the page is loaded again. Call it before they are live. */
export async function refreshOften(page: Page): Promise<void> {
  await page.evaluate('const every = setInterval; setInterval = (work, ms) => every(work, ms / 20)');
}

/** Returns the complaints that a test did not bring about on purpose. */
export function unexpected(faults: readonly string[], expected: RegExp): string[] {
  return faults.filter((fault) => !expected.test(fault));
}

/**
 * Opens the page that the tests of a file share, because the first load of a page takes three times the CPU of later
 * ones.
 */
type OpenPage = (origin: string) => Promise<Watched>;

/** Describes what the built console does in a browser; without a browser, the title says why it is skipped. */
export function describeInBrowser(title: string, define: (open: OpenPage) => Promise<void>): void {
  const name = hasChromium ? title : `${title} (skipped: no ${chromiumPath})`;
  describe.runIf(hasChromium)(name, { timeout: 180_000 }, async () => {
    await buildConsole();
    let browser: Browser;
    let shared: Page;
    beforeAll(async () => {
      browser = await launch();
      shared = await (await browser.newContext({ viewport })).newPage();
    });
    afterAll(async () => {
      // A handler may still be waiting for a response, which is lost when the browser closes.
      await shared?.unrouteAll({ behavior: 'ignoreErrors' });
      await browser?.close();
    });
    await define(async (origin) => {
      await renew(shared);
      return { page: shared, faults: watch(shared, origin) };
    });
  });
}
