import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeToken, startTestService } from '../../server/test/support/service.js';
import { newTenant } from '../../server/test/support/tenant.js';
import { launch, watchedPage } from '../test/support/browser.js';
import { type Company, createCompany, createHardCompany } from './company.js';

/** Makes a picture of every view, on a desktop and a phone, in light and dark colors. */

const folder = process.env.SCREENSHOTS ?? 'screenshots';
const only = process.env.ONLY;
const scopes = ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'] as const;

const service = await startTestService({ POSTHORN_RETRY_SCHEDULE: '5m,1h,4h,12h' });
const acme = await newTenant(service, {
  organization_id: 'ORG-acme',
  scopes,
  actor: { type: 'user', id: 'USR-ada' },
});
const empty = await newTenant(service, {
  organization_id: 'ORG-newcomer',
  scopes,
  actor: { type: 'user', id: 'USR-new' },
});
const readOnly = await makeToken(service.database, {
  organization_id: 'ORG-acme',
  scopes: ['events:read', 'webhooks:read'],
});
const powerless = await makeToken(service.database, { organization_id: 'ORG-acme', scopes: [] });
let browser: Browser;
const hard = await newTenant(service, {
  organization_id: 'ORG-hard',
  scopes,
  actor: { type: 'user', id: 'USR-ada' },
});
let company: Company;
let hardest: { event: string; delivery: string };

beforeAll(async () => {
  await mkdir(folder, { recursive: true });
  company = await createCompany(service, acme);
  hardest = await createHardCompany(hard);
  browser = await launch();
});
afterAll(() => browser?.close());

const devices = [
  { name: 'desktop', viewport: { width: 1280, height: 860 } },
  { name: 'phone', viewport: { width: 375, height: 812 } },
];

function views(): [name: string, path: string, token?: string][] {
  const { webhooks, failing, givenUp, event } = company;
  const orders = `/webhooks/${webhooks['orders-eu']}`;
  return [
    ['overview', ''],
    ['events', '/events'],
    ['events-filtered', '/events?subject_id=INV-2042'],
    ['event', `/events/${event}`],
    ['webhooks', '/webhooks'],
    ['webhook-new', '/webhooks/new?event_type=invoice.paid'],
    ['webhook-deliveries', orders],
    ['webhook-activity', `${orders}?tab=activity`],
    ['webhook-settings', `/webhooks/${webhooks.warehouse}?tab=settings`],
    ['webhook-test', `${orders}?tab=test&test=invoice.paid`],
    ['webhook-receiver', `${orders}?tab=receiver`],
    ['webhook-unverified', `/webhooks/${webhooks['crm-sync']}`],
    ['webhook-disabled', `/webhooks/${webhooks['partner-feed']}`],
    ['filter-empty', `/webhooks/${webhooks['data-lake']}?tab=settings&edit=filter`],
    ['filter', `/webhooks/${webhooks['data-lake']}?tab=settings&edit=filter`],
    ['filter-error', `/webhooks/${webhooks['data-lake']}?tab=settings&edit=filter`],
    ['filter-json', `/webhooks/${webhooks['data-lake']}?tab=settings&edit=filter`],
    ['body', `/webhooks/${webhooks['data-lake']}?tab=settings&edit=body`],
    ['template-empty', `/webhooks/${webhooks['data-lake']}?tab=settings&edit=body`],
    ['template', `/webhooks/${webhooks.billing}?tab=settings&edit=body`],
    ['template-error', `/webhooks/${webhooks.billing}?tab=settings&edit=body`],
    ['webhook-lifetime', `/webhooks/${webhooks['data-lake']}?tab=settings`],
    ['webhook-pause', `/webhooks/${webhooks.billing}`],
    ['webhook-delete', `${orders}?tab=settings`],
    ['replay', `${orders}/replay`],
    ['deliveries', '/deliveries'],
    ['deliveries-selected', `${orders}?state=retrying`],
    ['deliveries-none', '/deliveries?state=given_up'],
    ['delivery', `/webhooks/${failing.webhook}/deliveries/${failing.delivery}`],
    ['delivery-given-up', `/webhooks/${givenUp.webhook_id}/deliveries/${givenUp.id}`],
    ['event-types', '/event-types?type=incident.opened'],
    ['audit', '/audit'],
    ['token', '/token'],
    ['search', ''],
    ['shortcuts', ''],
    ['not-found', '/nowhere'],
    ['missing', '/events/EVT-01ARZ3NDEKTSV4RRFFQ69G5FAV'],
    ['german', '', `${acme.token}&lang=de`],
    ['hard-overview', '', hard.token],
    ['hard-webhooks', '/webhooks', hard.token],
    ['hard-delivery', hardest.delivery, hard.token],
    ['hard-event', `/events/${hardest.event}`, hard.token],
    ['empty-overview', '', empty.token],
    ['empty-events', '/events', empty.token],
    ['empty-deliveries', '/deliveries', empty.token],
    ['readonly-webhook', `${orders}?tab=settings`, readOnly],
    ['no-scopes', '', powerless],
    ['sign-in', '', ''],
    ['sign-in-again', '', 'pht_unknown'],
  ];
}

const previewed = (page: Page) => page.getByText('would have been sent').waitFor();
const settledPreview = (page: Page) => page.locator('.preview[aria-busy="false"]').waitFor();

/** Makes a filter by clicking on values of an event. */
async function makeFilter(page: Page): Promise<void> {
  await page.locator('.previewed').getByRole('button', { name: 'invoice.paid' }).first().click();
  await page.getByRole('button', { name: 'Add a condition on payload.currency' }).click();
  await page.getByLabel('Value for payload.currency').fill('CHF');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Add a condition on payload.amount_minor' }).click();
  await page.getByLabel('Operator for payload.amount_minor').selectOption('gte');
  await page.getByLabel('Number for payload.amount_minor').fill('100000');
}

async function startTemplate(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Template', exact: true }).click();
  await page.getByRole('button', { name: 'Slack', exact: true }).click();
  await page.locator('.preview').getByText('plain_text').first().waitFor();
}

/** What to do in a view before its picture is made. */
const steps: Record<string, (page: Page) => Promise<void>> = {
  'webhook-test': async (page) => {
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('Request and response').waitFor();
  },
  'webhook-delete': async (page) => {
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('alertdialog').getByRole('textbox').fill('orders');
  },
  'filter-empty': (page) => previewed(page),
  filter: async (page) => {
    await previewed(page);
    await makeFilter(page);
    await settledPreview(page);
  },
  'filter-error': async (page) => {
    await previewed(page);
    await makeFilter(page);
    await page.getByLabel('Number for payload.amount_minor').fill('99007199254740991');
    await page.getByText('must be a number between').first().waitFor();
  },
  'filter-json': async (page) => {
    await previewed(page);
    await makeFilter(page);
    await page.getByRole('button', { name: 'JSON' }).click();
    await settledPreview(page);
  },
  body: (page) => page.locator('.preview').getByText('organization_id').waitFor(),
  'template-empty': async (page) => {
    await page.getByRole('button', { name: 'Template', exact: true }).click();
    await settledPreview(page);
  },
  template: startTemplate,
  'template-error': async (page) => {
    await startTemplate(page);
    const template = page.getByLabel('Template as JSON');
    await template.fill((await template.inputValue()).replace('{{type}}', '{{type}'));
    await page.getByText('must contain only placeholders').waitFor();
  },
  'webhook-lifetime': async (page) => {
    await page.getByText('Headers, rate limit, retries, expiry').click();
    await page.getByLabel('Waits between attempts').fill('30s, 10m, 6h');
    await page.getByLabel('Expires at').fill('2027-01-31T12:00');
  },
  'webhook-pause': async (page) => {
    await page.getByRole('button', { name: 'Pause…' }).click();
  },
  'deliveries-selected': async (page) => {
    for (const row of [0, 1, 2]) await page.locator('tbody').getByRole('checkbox').nth(row).check();
  },
  search: async (page) => {
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('combobox', { name: 'Go to' }).fill('orders');
  },
  shortcuts: async (page) => {
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor();
  },
};

test.each(devices.flatMap((device) => (['light', 'dark'] as const).map((scheme) => ({ device, scheme }))))(
  '$device.name in $scheme colors',
  async ({ device, scheme }) => {
    const { page } = await watchedPage(browser, service.publicUrl, {
      viewport: device.viewport,
      colorScheme: scheme,
      timezoneId: 'Europe/Berlin',
    });
    for (const [name, path, token = acme.token] of views()) {
      if (only && !only.split(',').includes(name)) continue;
      if (page.url() !== 'about:blank') await page.evaluate('sessionStorage.clear()');
      await page.goto('about:blank');
      await page.goto(`${service.publicUrl}/console${path}${token ? `#token=${token}` : ''}`);
      await page.waitForLoadState('networkidle');
      await steps[name]?.(page);
      await page.evaluate('document.fonts.ready');
      expect(await page.evaluate('document.documentElement.scrollWidth'), `${name} scrolls sideways`).toBe(
        device.viewport.width,
      );
      // A window as tall as the page: what sticks to the window's edges then stands where the page ends.
      const height = Number(await page.evaluate('document.documentElement.scrollHeight'));
      await page.setViewportSize({ ...device.viewport, height: Math.max(device.viewport.height, height) });
      // A taller window shows more webhooks, whose figures are then requested.
      // Polled from here: the page's policy forbids to evaluate text inside it.
      const figures = "[...document.querySelectorAll('td.rate')].every((cell) => cell.textContent !== '')";
      await expect.poll(() => page.evaluate<boolean>(figures), { timeout: 30_000 }).toBe(true);
      await page.screenshot({ path: join(folder, `${name}-${device.name}-${scheme}.png`), fullPage: true });
      await page.setViewportSize(device.viewport);
    }
    await page.context().close();
  },
);
