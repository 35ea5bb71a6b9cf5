import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** Returns what axe finds that is serious or worse in a part of the page, as one line each. */
async function seriousFaults(page: Page, within: string, rules: axe.RunOptions): Promise<string[]> {
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(axe.source);
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
  const schemes = { light: {}, dark: { runOnly: { type: 'tag', values: ['cat.color'] } } } as const;
  for (const [colorScheme, rules] of Object.entries(schemes)) {
    await page.emulateMedia({ colorScheme: colorScheme as keyof typeof schemes });
    const faults = await seriousFaults(page, within, rules as axe.RunOptions);
    expect(faults, `${what} in ${colorScheme} colors`).toEqual([]);
  }
}
