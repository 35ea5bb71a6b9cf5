import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** Returns what axe finds that is serious or worse in a part of the page, as one line each. */
export async function seriousFaults(
  page: Page,
  { rules, within = 'html' }: { rules?: readonly string[]; within?: string } = {},
): Promise<string[]> {
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(axe.source);
  const options = { resultTypes: ['violations'], preload: false, ...(rules && { runOnly: rules }) };
  const found = (await page.evaluate(
    `axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)})`,
  )) as axe.AxeResults;
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')} ${failureSummary}`),
    );
}
