import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** Returns what axe finds that is serious or worse in a part of the page, as one line each. */
async function seriousFaults(page: Page, within = 'html'): Promise<string[]> {
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(axe.source);
  const options = { resultTypes: ['violations'], preload: false };
  const found = (await page.evaluate(
    `axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)})`,
  )) as axe.AxeResults;
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')} ${failureSummary}`),
    );
}

/** Looks at a part of the page with all rules, in light and then in dark colours. */
export async function expectAccessible(page: Page, what: string, within = 'html'): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await seriousFaults(page, within), `${what} in ${colorScheme} colours`).toEqual([]);
  }
}
