import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

declare const axe: typeof import('axe-core');

/** Minified, because every page that is checked parses it. */
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Returns what axe finds that is serious or worse in a part of the page, as one line each. */
async function seriousFaults(page: Page, within: string, rules: RunOptions): Promise<string[]> {
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(axeSource);
  const options: RunOptions = { ...rules, resultTypes: ['violations', 'incomplete'], preload: false };
  return page.evaluate(inPage, { within, options });
}

/** Runs in the page, because a whole report takes longer to transfer than to write. */
async function inPage({ within, options }: { within: string; options: RunOptions }): Promise<string[]> {
  const { violations, incomplete } = await axe.run(within, options);
  // In front of a gradient or an image, axe cannot tell the contrast of a text, and finds no fault.
  const untold = incomplete.map((rule) => ({
    ...rule,
    nodes: rule.nodes.filter(({ any }) =>
      any.some(({ data }) => /^bg(Gradient|Image)$/.test(data?.messageKey)),
    ),
  }));
  return [...violations, ...untold]
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')} ${failureSummary}`),
    );
}

/** All rules but one: its faults are not serious, and it takes a third of the time. */
const allRules: RunOptions = { rules: { region: { enabled: false } } };

const aboutColor: RunOptions = {
  runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] },
};

/**
 * Expects that axe finds nothing serious in a part of the page: with all rules in the colors that it has, light or
 * dark, and with those about color in the other ones. Only they can fail in one of the two, because the page is the
 * same. Leaves the page in the other colors, because changing them takes as long as checking them.
 */
export async function expectAccessible(page: Page, what: string, within = 'html'): Promise<void> {
  const colors = await page.locator(':root').getAttribute('data-theme');
  expect(await seriousFaults(page, within, allRules), `${what} in ${colors} colors`).toEqual([]);
  const otherColors = colors === 'dark' ? 'light' : 'dark';
  await page.emulateMedia({ colorScheme: otherColors });
  await page.locator(`:root[data-theme="${otherColors}"]`).waitFor({ state: 'attached' });
  expect(await seriousFaults(page, within, aboutColor), `${what} in ${otherColors} colors`).toEqual([]);
}
