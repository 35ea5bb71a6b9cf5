import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** Minified, because every page that is checked parses it. */
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Returns what axe finds that is serious or worse in a part of the page, as one line each. */
async function seriousFaults(page: Page, within: string, rules: axe.RunOptions): Promise<string[]> {
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(axeSource);
  const options: axe.RunOptions = { ...rules, resultTypes: ['violations'], preload: false };
  const found = (await page.evaluate(
    `axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)})`,
  )) as axe.AxeResults;
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')} ${failureSummary}`),
    );
}

/**
 * Expects that axe finds nothing serious in a part of the page: with all rules in light colors, and with those about
 * color in dark ones. Only they can fail in one of the two, because the page is the same.
 */
export async function expectAccessible(page: Page, what: string, within = 'html'): Promise<void> {
  const aboutColor: axe.RunOptions = {
    runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] },
  };
  for (const [colorScheme, rules] of [['light', {}] as const, ['dark', aboutColor] as const]) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`:root[data-theme="${colorScheme}"]`).waitFor({ state: 'attached' });
    expect(await seriousFaults(page, within, rules), `${what} in ${colorScheme} colors`).toEqual([]);
  }
}
