import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeInBrowser } from './support/browser.js';
import { failing, nowMs, respondAlike } from './support/company.js';

/**
 * What the console looks like, compared with pictures. To make them again after a change that is meant, run
 * `UPDATE_PICTURES=1 npx vitest run packages/console/test/pictures.test.ts`, and look at them.
 */

const origin = 'http://console.test';
const dist = new URL('../dist/', import.meta.url);
const types: Record<string, string> = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/**
 * The share of pixels that may look different: edges of letters depend on the version of the browser. The borders of
 * controls are a little more.
 */
const budget = 0.001;

describeInBrowser('the console looks as before', async (open) => {
  it.each([
    ['overview', '', 'light', { width: 1060, height: 980 }],
    [
      'delivery',
      `/webhooks/${failing.webhook_id}/deliveries/${failing.id}`,
      'dark',
      { width: 1060, height: 900 },
    ],
    ['deliveries', '/deliveries', 'light', { width: 375, height: 812 }],
  ] as const)('%s', async (name, path, colorScheme, viewport) => {
    const { page, faults } = await open(origin);
    await page.clock.setFixedTime(nowMs);
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize(viewport);
    await serve(page);
    await respondAlike(page);
    await page.goto(`${origin}/console${path}#token=pht_picture`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => page.locator('.skeleton, .bone').count()).toBe(0);
    // Only this typeface is the same on every machine.
    await page.evaluate("document.documentElement.style.setProperty('--mono', 'Geist')");
    await page.evaluate('document.fonts.ready');
    const picture = await pictureOf(page);
    const file = new URL(`pictures/${name}.jpg`, import.meta.url);
    if (process.env.UPDATE_PICTURES) writeFileSync(file, picture);
    expect(await differenceOf(page, readFileSync(file), picture)).toBeLessThan(budget);
    // It is not blank, and a change is found: of a size, and of a color that few pixels have.
    for (const [role, value] of [
      ['--line-control', '#1d5ba3'],
      ['--t-body', '13px'],
    ] as const) {
      await page.evaluate(
        ([name, to]) => document.documentElement.style.setProperty(name!, to!),
        [role, value],
      );
      const changed = await differenceOf(page, picture, await pictureOf(page));
      expect(changed, role).toBeGreaterThan(budget);
      await page.evaluate((name) => document.documentElement.style.removeProperty(name), role);
    }
    expect(faults).toEqual([]);
  });
});

const pictureOf = (page: Page) => page.screenshot({ type: 'jpeg', quality: 50 });

/** Serves the build. Every path that is not a file is the page. */
async function serve(page: Page): Promise<void> {
  await page.route(`${origin}/**`, (route) => {
    const { pathname } = new URL(route.request().url());
    const file = new URL(pathname.replace('/console/', './'), dist);
    const contentType = types[extname(pathname)];
    return contentType && existsSync(file)
      ? route.fulfill({ body: readFileSync(file), contentType })
      : route.fulfill({ body: readFileSync(new URL('index.html', dist)), contentType: 'text/html' });
  });
}

/** Returns the share of pixels that look different, measured in the browser, which can read pictures. */
async function differenceOf(page: Page, one: Buffer, other: Buffer): Promise<number> {
  const urls = [one, other].map((picture) => `data:image/jpeg;base64,${picture.toString('base64')}`);
  return page.evaluate(async (sources) => {
    const pixels = await Promise.all(
      sources.map(async (source) => {
        const image = new Image();
        image.src = source;
        await image.decode();
        const canvas = new OffscreenCanvas(image.width, image.height);
        const context = canvas.getContext('2d')!;
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height);
      }),
    );
    const [a, b] = pixels;
    if (a!.width !== b!.width || a!.height !== b!.height) return 1;
    let different = 0;
    for (let at = 0; at < a!.data.length; at += 4) {
      const distance = [0, 1, 2].reduce(
        (sum, part) => sum + Math.abs(a!.data[at + part]! - b!.data[at + part]!),
        0,
      );
      if (distance > 120) different += 1;
    }
    return different / (a!.width * a!.height);
  }, urls);
}
