import type { Page, Route } from 'playwright-core';
import { expect, it } from 'vitest';
import { sharedService } from '../../server/test/support/service.js';
import { newTenant } from '../../server/test/support/tenant.js';
import { describeInBrowser, unexpected, visit } from './support/browser.js';

const scopes = ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'] as const;

describeInBrowser('the forms of the console', async (open) => {
  const service = await sharedService();
  const watched = () => open(service.publicUrl);
  const link = (token: string, path = '') => `${service.publicUrl}/console${path}#token=${token}`;
  const inDialog = (page: Page) => page.getByRole('alertdialog');

  it('keep what was typed if the page cannot be loaded again', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(200, { description: 'orders-eu' });
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}?tab=settings`));
    const name = page.getByLabel('Name', { exact: true });
    await name.fill('orders-us');
    await fail(page, 'GET', `**/v1/webhooks/${webhook.id}`);
    await page.getByRole('button', { name: 'Live', exact: true }).click();
    await page.getByText('Out of order.').waitFor();
    expect(await name.inputValue()).toBe('orders-us');
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Out of order.').waitFor({ state: 'hidden' });
    expect(await name.inputValue()).toBe('orders-us');
    expect(unexpected(faults, /status of 500/)).toEqual([]);
  });

  it('show a field for as long as it is edited, and again if its value is refused', async () => {
    const tenant = await newTenant(service, { scopes });
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, '/webhooks/new'));
    const more = page.getByText('Workspace, headers, rate limit');
    const rate = page.getByLabel('Rate limit');
    await more.click();
    await rate.fill('5');
    await page.keyboard.press('Backspace');
    await page.keyboard.type('5000');
    expect(await rate.inputValue()).toBe('5000');
    await more.click();
    await rate.waitFor({ state: 'hidden' });
    await page.getByLabel('URL').fill('https://example.com/orders');
    await page.getByRole('checkbox', { name: 'invoice.paid' }).check();
    await page.getByRole('button', { name: 'Create and verify' }).click();
    await expect.poll(() => rate.evaluate((field) => field.matches(':focus'))).toBe(true);
    await page.getByRole('alert').getByText('Enter a whole number from 1 to 1,000').waitFor();

    // The service refuses what the browser does not check.
    await rate.fill('5');
    await page.getByLabel('Workspace', { exact: true }).last().fill('Berlin');
    await more.click();
    await rate.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Create and verify' }).click();
    await page.locator('details .fault').waitFor();
    expect(unexpected(faults, /status of 422/)).toEqual([]);
  });

  it('say what is wrong with a URL where it is typed, until it is changed', async () => {
    const tenant = await newTenant(service, { scopes });
    const { page, faults } = await watched();
    await page.setViewportSize({ width: 390, height: 600 });
    await page.goto(link(tenant.token, '/webhooks/new'));
    const url = page.getByLabel('URL');
    await expect.poll(() => url.evaluate((field) => field.matches(':focus'))).toBe(true);
    const fault = page.locator('.form .fault');
    const create = page.getByRole('button', { name: 'Create and verify' });
    await url.fill('example.com/hook');
    await page.getByRole('checkbox', { name: 'invoice.paid' }).check();
    // The field is behind the bar at the top.
    await page.evaluate(`{
      const field = document.querySelector('.form input');
      field.blur();
      scrollBy(0, field.getBoundingClientRect().top - 5);
      field.form.requestSubmit();
    }`);
    await fault.getByText('Start the URL with https://').waitFor();
    expect(await url.evaluate((field) => field.matches(':focus'))).toBe(true);
    const bar = (await page.locator('header.top').boundingBox())!;
    expect((await url.boundingBox())!.y).toBeGreaterThan(bar.y + bar.height);
    await url.fill('htp://example.com/hook');
    expect(await fault.count()).toBe(0);

    await page.getByText('Workspace, headers, rate limit').click();
    await page.getByLabel('Workspace', { exact: true }).last().fill('Berlin');
    await create.click();
    await expect.poll(() => fault.count()).toBe(2);
    await url.fill('https://example.com/hook');
    expect(await fault.allInnerTexts()).toEqual([expect.stringContaining('WS-')]);
    await page.getByLabel('Workspace', { exact: true }).last().fill('WS-berlin');
    expect(await fault.count()).toBe(0);
    expect(unexpected(faults, /status of 422/)).toEqual([]);
  });

  it('say that the event types could not be loaded, and load them again', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(200, { description: 'orders-eu' });
    const { page, faults } = await watched();
    await fail(page, 'GET', '**/v1/event-types*');
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}?tab=test`));
    await page.getByText('Out of order.').waitFor();
    await visit(page, '/webhooks/new', 'New webhook');
    await page.getByText('Out of order.').waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('checkbox', { name: 'invoice.paid' }).waitFor();
    expect(unexpected(faults, /status of 500/)).toEqual([]);
  });

  it('change the URL to the one that a receiver redirects to, after a question, from every page that says so', async () => {
    const tenant = await newTenant(service, { scopes });
    const { receiver, webhook } = await tenant.connect(200, { description: 'orders-eu' });
    const moved = `${receiver.url}/moved`;
    receiver.onDelivery = { status: 308, headers: { location: moved } };
    await tenant.record();
    const [delivery] = await tenant.settled(webhook, 1);
    const { page, faults } = await watched();
    const button = page.getByRole('button', { name: 'Change the URL…' });
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}/deliveries/${delivery.id}`));
    await button.waitFor();
    await visit(page, `/webhooks/${webhook.id}`, 'orders-eu');
    await button.waitFor();
    await visit(page, '', '1 webhook needs attention');
    await page.locator('.problem').getByRole('button', { name: 'Change the URL…' }).click();
    await inDialog(page).getByText(moved, { exact: true }).waitFor();
    await inDialog(page).getByRole('button', { name: 'Change and verify' }).click();
    await page.getByText('Changed and verified: events go to the new URL.').waitFor();
    expect(await tenant.data('GET', `/v1/webhooks/${webhook.id}`)).toMatchObject({
      url: moved,
      status: 'active',
    });
    await visit(page, `/webhooks/${webhook.id}/deliveries/${delivery.id}`, 'invoice.paid');
    await page.getByText('The receiver redirected').waitFor();
    await button.waitFor({ state: 'hidden' });
    expect(faults).toEqual([]);
  });

  it('explain why a time range that ends before it starts is refused', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect();
    const { page, faults } = await watched();
    const range = 'from=2025-11-10T00:00:00.000Z&to=2025-11-09T00:00:00.000Z';
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}/replay?${range}`));
    await page.getByText('The time range must start before it ends.').waitFor();
    expect(await page.getByRole('button', { name: 'Replay…' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Last 7 d' }).click();
    await page.getByText('0 events will be sent.').waitFor();
    expect(faults).toEqual([]);
  });

  it('open without an earlier error, show an action in progress, and accept a name as it is displayed', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(200, { description: 'orders\neu  (old)' });
    const { page, faults } = await watched();
    await fail(page, 'PATCH', '**/v1/webhooks/*');
    await fail(page, 'DELETE', '**/v1/webhooks/*');
    const held = await hold(page, '**/v1/webhooks/*', /PATCH|DELETE/);
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}?tab=settings`));
    for (const action of ['Disable', 'Delete']) {
      await page.getByRole('button', { name: `${action}…` }).click();
      if (action === 'Delete') await inDialog(page).getByRole('textbox').fill('orders eu (old)');
      await inDialog(page).getByRole('button', { name: action }).click();
      const failing = await held();
      await inDialog(page).getByRole('button', { name: 'Cancel' }).click();
      await inDialog(page).waitFor({ state: 'hidden' });
      await page.getByRole('button', { name: `${action}…` }).click();
      await inDialog(page)
        .getByRole('button', { name: /^(Disabling|Deleting)…/ })
        .waitFor();
      await failing.fallback();
      await inDialog(page).getByText('Out of order.').waitFor();
      await inDialog(page).getByRole('button', { name: 'Cancel' }).click();
      await inDialog(page).waitFor({ state: 'hidden' });
      await page.getByRole('button', { name: `${action}…` }).click();
      await inDialog(page).getByRole('button', { name: action }).waitFor();
      expect(await inDialog(page).getByText('Out of order.').count()).toBe(0);
      await inDialog(page).getByRole('button', { name: 'Cancel' }).click();
      await inDialog(page).waitFor({ state: 'hidden' });
    }
    expect(unexpected(faults, /status of 500/)).toEqual([]);
  });

  it('stay open when an action ends that was started in another view', async () => {
    const tenant = await newTenant(service, { scopes });
    const { receiver, webhook } = await tenant.connect(200, { description: 'orders-eu' });
    await tenant.record();
    const [delivery] = await tenant.settled(webhook, 1, ({ status }) => status === 'success');
    const { page, faults } = await watched();
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
    await page.goto(link(tenant.token, '/webhooks/new'));
    const held = await hold(page, '**/v1/webhooks{,/**}', /POST|PATCH|DELETE/);
    await page.getByLabel('URL').fill(`${receiver.url}/new`);
    await page.getByRole('checkbox', { name: 'invoice.paid' }).check();
    await press('Create and verify');
    const routes = [await held()];
    await page.getByRole('link', { name: 'Cancel' }).click();
    await inDialog(page).getByText('The webhook may have been created already.').waitFor();
    await press('Leave');
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();

    const path = `/webhooks/${webhook.id}`;
    await visit(page, `${path}/replay?only_failed=0`, 'Replay events');
    await press('Replay…');
    await press('Replay');
    routes.push(await held());
    await press('Cancel');
    await visit(page, `${path}?tab=settings`, 'orders-eu');
    await page.getByLabel('URL').fill(`${receiver.url}/moved`);
    await press('Save');
    routes.push(await held());
    await page.locator('.crumb').getByRole('link', { name: 'Webhooks' }).click();
    await press('Leave');
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
    await visit(page, `${path}/deliveries/${delivery.id}`, 'invoice.paid');
    await press('Redeliver now');
    routes.push(await held());
    await visit(page, `${path}?tab=settings`, 'orders-eu');
    await press('Delete…');
    await inDialog(page).getByRole('textbox').fill('orders-eu');
    await press('Delete');
    routes.push(await held());
    await press('Cancel');

    await visit(page, '/webhooks/new', 'New webhook');
    await page.getByLabel('URL').fill('https://example.com/typed');
    for (const route of routes) {
      const responded = page.waitForResponse((response) => response.request() === route.request());
      await route.continue();
      expect((await responded).ok()).toBe(true);
    }
    await page.getByText('Deleted orders-eu.').waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/webhooks/new');
    expect(await page.getByLabel('URL').inputValue()).toBe('https://example.com/typed');
    expect(await inDialog(page).count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it('lose no secret and create nothing twice if there is no response', async () => {
    const tenant = await newTenant(service, { scopes });
    const { receiver, webhook } = await tenant.connect(200, { description: 'orders-eu' });
    const { page, faults } = await watched();
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}?tab=settings`));
    const rotations = await loseFirst(page, '**/rotate-secret');
    await press('Rotate…');
    const secret = await inDialog(page)
      .getByText(/^whsec_/)
      .innerText();
    await press('Rotate');
    await inDialog(page).getByText('You can safely press the button again.').waitFor();
    expect(await inDialog(page).getByText('takes effect when you rotate').count()).toBe(0);
    expect(await page.getByRole('button', { name: '7 days' }).isDisabled()).toBe(true);
    await press('Close');
    await page.getByText('The new secret may already be in effect.').waitFor();
    await page.getByText(secret).waitFor();
    await press('Rotate again…');
    await press('Rotate again');
    await inDialog(page).getByText('Requests are now signed with the new secret').waitFor();
    expect(await inDialog(page).getByText(secret).count()).toBe(1);
    expect(rotations[1]).toEqual(rotations[0]);
    await press('Done');
    await page.getByText('may already be in effect').waitFor({ state: 'hidden' });

    await visit(page, '/webhooks/new', 'New webhook');
    await loseFirst(page, '**/v1/webhooks');
    const url = page.getByLabel('URL');
    await url.fill(`${receiver.url}/new`);
    await page.getByRole('checkbox', { name: 'invoice.paid' }).check();
    await press('Create and verify');
    await page.getByText('The webhook may have been created already').waitFor();
    await url.fill(`${receiver.url}/changed`);
    await page.getByText('the button creates another webhook').waitFor();
    await url.fill(`${receiver.url}/new`);
    await page.getByText('there will be only one webhook').waitFor();
    await press('Create and verify');
    await page.getByRole('link', { name: 'Receiver' }).waitFor();
    expect(await tenant.data('GET', '/v1/webhooks')).toHaveLength(2);

    await tenant.record();
    await visit(page, `/webhooks/${webhook.id}/replay?only_failed=0`, 'Replay events');
    const replays = await loseFirst(page, '**/replay');
    await press('Replay…');
    await press('Replay');
    await inDialog(page).getByText('You can safely press the button again.').waitFor();
    await press('Cancel');
    await press('Replay…');
    await press('Replay');
    await page.getByText('Done: 1 event is queued.').waitFor();
    expect(replays[1]).toEqual(replays[0]);

    await page.route('**/readyz', (route) => route.abort());
    const { webhook: other } = await tenant.connect(200, { description: 'orders-us' });
    for (const { id, description } of [webhook, other]) {
      await loseFirst(page, `**/v1/webhooks/${id}`, 'DELETE');
      await visit(page, `/webhooks/${id}?tab=settings`, description);
      await press('Delete…');
      await inDialog(page).getByRole('textbox').fill(description);
      await press('Delete');
      await inDialog(page).getByText('You can safely press the button again.').waitFor();
      if (id === other.id) break;
      await press('Delete');
      await page.getByText('Deleted orders-eu.').waitFor();
    }
    // When the service is reachable again, the page is loaded again.
    await page.unroute('**/readyz');
    await page.getByText('The webhook does not exist').waitFor();
    expect(unexpected(faults, /net::ERR_|status of 404/)).toEqual([]);
  });
});

/** Holds requests back. Returns a function that waits for the next of them. */
async function hold(page: Page, path: string, method: RegExp): Promise<() => Promise<Route>> {
  const held: Route[] = [];
  await page.route(path, (route) =>
    method.test(route.request().method()) ? void held.push(route) : route.fallback(),
  );
  return async () => {
    await expect.poll(() => held.length).toBe(1);
    return held.pop()!;
  };
}

/** Loses the response to the first request. Returns the idempotency keys and the bodies of all of them. */
async function loseFirst(
  page: Page,
  path: string,
  method = 'POST',
): Promise<{ key: string | undefined; body: string | null }[]> {
  const sent: { key: string | undefined; body: string | null }[] = [];
  await page.route(path, async (route) => {
    const request = route.request();
    if (request.method() !== method) return route.fallback();
    sent.push({ key: request.headers()['idempotency-key'], body: request.postData() });
    if (sent.length > 1) return route.fallback();
    await route.fetch();
    await route.abort('connectionreset');
  });
  return sent;
}

/** Responds to requests as the service does if something goes wrong inside it. */
async function fail(page: Page, method: string, path: string): Promise<void> {
  const problem = { code: 'internal', title: 'Internal error', detail: 'Out of order.' };
  await page.route(path, async (route) => {
    if (route.request().method() !== method) await route.fallback();
    else
      await route.fulfill({
        ...{ status: 500, contentType: 'application/problem+json', body: JSON.stringify(problem) },
      });
  });
}
