import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page, Route } from 'playwright-core';
import { expect, it } from 'vitest';
import { event, sendRequest } from '../../server/test/support/client.js';
import { resets, startReceiver } from '../../server/test/support/receiver.js';
import { makeToken, platformToken, sharedService } from '../../server/test/support/service.js';
import { eventually, newTenant } from '../../server/test/support/tenant.js';
import { expectAccessible } from './support/axe.js';
import { describeInBrowser, pressKey, refreshOften, unexpected, visit } from './support/browser.js';

const scopes = ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'] as const;
const run = promisify(execFile);

describeInBrowser('the console at work', async (open) => {
  const service = await sharedService();
  const watched = () => open(service.publicUrl);
  const link = (token: string, path = '') => `${service.publicUrl}/console${path}#token=${token}`;

  it('narrows every view to a workspace, and keeps it in the address', async () => {
    const tenant = await newTenant(service, { scopes });
    const berlin = await tenant.connect(500, { description: 'berlin', workspace_id: 'WS-berlin' });
    await tenant.connect(500, { description: 'lyon', workspace_id: 'WS-lyon' });
    const inLyon = await tenant.record({
      workspace_id: 'WS-lyon',
      subject: { type: 'invoice', id: 'INV-lyon' },
    });
    await tenant.record({ workspace_id: 'WS-berlin', subject: { type: 'invoice', id: 'INV-berlin' } });
    await tenant.settled(berlin.webhook, 1);
    const { page, faults } = await watched();
    await page.goto(link(tenant.token));
    await page.getByRole('heading', { name: '2 webhooks need attention' }).waitFor();
    const field = page.getByRole('combobox', { name: 'Workspace', exact: true });
    await field.focus();
    const options = page.locator('.workspace option');
    expect(await options.evaluateAll((all) => all.map((one) => one.getAttribute('value')))).toEqual([
      'WS-berlin',
      'WS-lyon',
    ]);
    await expectAccessible(page, 'the workspaces', '.top');
    await page.keyboard.type('par');
    await page.keyboard.press('Escape');
    expect(await field.inputValue()).toBe('');
    // A part of a known ID is enough, and so is an ID without its prefix.
    await page.keyboard.type('lyo');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.searchParams.get('workspace_id') === 'WS-lyon');
    await field.fill('');
    await page.waitForURL((url) => !url.searchParams.has('workspace_id'));
    await field.fill('paris');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.searchParams.get('workspace_id') === 'WS-paris');
    await field.fill('berlin');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: '1 webhook needs attention' }).waitFor();
    const views = page.getByRole('navigation', { name: 'Views', exact: true });
    expect(await views.getByRole('link', { name: 'Webhooks' }).innerText()).toMatch(/^Webhooks\s+1\b/);
    await views.getByRole('link', { name: 'Deliveries' }).click();
    const rows = page.locator('tbody tr');
    // The overview has a row with this name too, without a state.
    await rows.filter({ hasText: 'berlin' }).filter({ hasText: 'Retrying' }).waitFor();
    expect(await rows.count()).toBe(1);
    await views.getByRole('link', { name: 'Events' }).click();
    await page.getByRole('link', { name: 'INV-berlin' }).waitFor();
    expect(await page.getByRole('link', { name: 'INV-lyon' }).count()).toBe(0);
    expect(new URL(page.url()).searchParams.get('workspace_id')).toBe('WS-berlin');
    await page.reload();
    await page.getByRole('link', { name: 'INV-berlin' }).waitFor();
    await field.fill('');
    await page.locator(`a[href*="${inLyon.id}"]`).first().waitFor();
    expect(new URL(page.url()).searchParams.has('workspace_id')).toBe(false);
    expect(faults).toEqual([]);
  });

  it('says which webhooks also receive the events of a workspace, and shows no empty chart instead of their deliveries', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(200, { description: 'everywhere' });
    await tenant.record({ workspace_id: 'WS-berlin' });
    await tenant.settled(webhook, 1, ({ status }) => status === 'success');
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, '?workspace_id=WS-berlin'));
    await page.getByRole('heading', { name: 'WS-berlin has no webhooks of its own' }).waitFor();
    const note = page.getByText('1 organization-wide webhook also receives the events of this workspace.');
    await note.waitFor();
    await page.locator('.chart').getByText('no attempts in this time range').waitFor();
    expect(await page.locator('.plot, .figure').count()).toBe(0);
    await visit(page, '/webhooks?workspace_id=WS-berlin', 'Webhooks');
    await note.waitFor();
    await visit(page, '/deliveries?workspace_id=WS-berlin', 'No deliveries to webhooks of WS-berlin');
    await note.getByRole('button', { name: 'Show the whole organization' }).click();
    await page.locator('tbody tr').filter({ hasText: 'everywhere' }).waitFor();
    await note.waitFor({ state: 'hidden' });
    // A filter can be cleared, a workspace is left.
    await visit(page, '/events?workspace_id=WS-lyon', 'No matching events');
    await page.getByText('Only WS-lyon is searched.').waitFor();
    expect(await page.locator('main .empty').getByRole('button').allInnerTexts()).toEqual([
      'Show the whole organization',
    ]);
    await page.locator('main .empty').getByRole('button').click();
    await page.locator('tbody tr').waitFor();
    expect(faults).toEqual([]);
  });

  it('asks for attention if attempts fail in a row, but not if the receiver asked to wait or one attempt failed', async () => {
    const tenant = await newTenant(service, { scopes });
    const busy = { status: 503, headers: { 'retry-after': '600' } };
    const waiting = await tenant.connect(busy, { description: 'waiting' });
    const flaky = await tenant.connect(200, { description: 'flaky' });
    await tenant.record();
    await tenant.settled(waiting.webhook, 1);
    await tenant.settled(flaky.webhook, 1, ({ status }) => status === 'success');
    flaky.receiver.onDelivery = 500;
    await tenant.record();
    await tenant.settled(flaky.webhook, 2);
    const { page, faults } = await watched();
    await page.goto(link(tenant.token));
    await page.getByRole('heading', { name: 'No webhook needs attention' }).waitFor();
    // An hour before midnight, the time is one of tomorrow.
    const asked = page.getByText(
      /^Waiting, because its receiver asked for it: waiting until (\d+ \w+ )?\d\d:\d\d(:\d\d)?\.$/,
    );
    await asked.waitFor();
    expect(await page.locator('.problem').count()).toBe(0);
    for (const count of [3, 4]) {
      await tenant.record();
      await tenant.settled(flaky.webhook, count);
    }
    await page.reload();
    await page.getByRole('heading', { name: '1 webhook needs attention' }).waitFor();
    // How bad it is: since when, how much waits, and when it will be disabled.
    const problem = page.locator('.problem').filter({ hasText: 'flaky' });
    await problem.getByText(/Nothing has arrived since [\d:]{8} \(\d min\) · 3 waiting · next /).waitFor();
    expect(await problem.getByText('will be disabled').count()).toBe(0);
    const delivered_at = new Date(Date.now() - 49 * 3_600_000).toISOString();
    await page.route('**/v1/deliveries?*status=success*', (route) =>
      route.fulfill({ json: { data: [{ delivered_at }], meta: { cursor: null, has_more: false } } }),
    );
    await page.reload();
    await problem.getByText(/\(2 d\) · 3 waiting · next .+ · will be disabled about \d+ \w+ · /).waitFor();
    await asked.waitFor();
    // The page of the webhook says the same, and both count down to the next of all attempts.
    await visit(page, `/webhooks/${flaky.webhook.id}`, 'flaky');
    const severity = page.locator('.note .small').filter({
      hasText: /^Nothing has arrived since .+ \(2 d\) · 3 waiting · next (in|due) .+ · will be disabled/,
    });
    await severity.waitFor();
    const dues = (await tenant.deliveries(flaky.webhook, '?status=failed')).map(
      (delivery: { next_attempt_at: string }) => delivery.next_attempt_at,
    );
    expect(await severity.locator('time').last().getAttribute('datetime')).toBe(dues.toSorted()[0]);
    // The list begins with what needs attention, and says why each webhook has its state.
    await visit(page, '/webhooks', 'Webhooks');
    const rows = page.locator('tbody tr');
    await rows.nth(0).filter({ hasText: 'flaky' }).getByText('Status 500', { exact: true }).waitFor();
    await rows
      .nth(1)
      .filter({ hasText: 'Waiting' })
      .getByText(/^Until (\d+ \w+ )?\d\d:\d\d(:\d\d)?$/)
      .waitFor();
    await visit(page, `/webhooks/${waiting.webhook.id}`, 'waiting');
    await page
      .locator('.head')
      .getByText(/^Waiting\W+until (\d+ \w+ )?\d\d:\d\d$/)
      .waitFor();
    const note = page.locator('.note.calm');
    await note.getByText(/^The receiver asked the service to wait until .+ \(status 503\)\.$/).waitFor();
    await note.getByText('You do not need to do anything').waitFor();
    await note.getByRole('link', { name: 'See the latest failed delivery' }).waitFor();
    expect(faults).toEqual([]);
  });

  it('copies a command that works when pasted, and hides its token on the screen', async () => {
    const tenant = await newTenant(service, { scopes });
    const receiver = await startReceiver();
    const { page, faults } = await watched();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(link(tenant.token));
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    expect(await page.content()).not.toContain(tenant.token);
    await page.getByRole('button', { name: 'Copy the command with the token' }).click();
    await page.getByText('Copied the command with the token.').waitFor();
    const command = String(await page.evaluate('navigator.clipboard.readText()'));
    expect(command).toContain(tenant.token);
    await run('sh', ['-c', command.replace('https://example.com/webhooks', receiver.url)]);
    expect(await tenant.data('GET', '/v1/webhooks')).toMatchObject([{ url: receiver.url, status: 'active' }]);
    // Without a secure connection, the browser has no clipboard for the page. The focus stays where it was.
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    const copy = page.getByRole('button', { name: 'Copy the command with the token' });
    await copy.click();
    expect(await copy.evaluate((button) => button.matches(':focus'))).toBe(true);
    await page.getByRole('button', { name: 'Show the token' }).click();
    await page.getByText(tenant.token).waitFor();
    expect(faults).toEqual([]);
  });

  it('says at the sign-in how to create a token, in a command that a phone breaks only where a part of it ends', async () => {
    const { page, faults } = await watched();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(`${service.publicUrl}/console`);
    const command = page.locator('pre', { hasText: 'posthorn token create' });
    expect(await command.evaluate(isBrokenInScope)).toBe(false);
    expect(faults).toEqual([]);
  });

  it('shows how deliveries ended on a phone, redelivers a selection, and waits as long as a rate limit says', async () => {
    const tenant = await newTenant(service, { scopes });
    const { receiver, webhook } = await tenant.connect(resets, {
      description: 'Order intake for the European warehouses (Rotterdam, Duisburg)',
    });
    for (let count = 0; count < 3; count += 1) await tenant.record();
    await tenant.settled(webhook, 3);
    receiver.onDelivery = 200;
    const { page, faults } = await watched();
    const refusedAt = await refuseOnce(page, '**/redeliver');
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(link(tenant.token, '/deliveries'));
    // The name is shortened, not what follows it.
    const outcome = page.locator('tbody tr').first().getByText('Connection closed').first();
    const [shown, cell] = [
      await outcome.boundingBox(),
      await page.locator('tbody td:has(.row-link)').first().boundingBox(),
    ];
    expect(shown!.x + shown!.width).toBeLessThanOrEqual(cell!.x + cell!.width);
    await page.setViewportSize({ width: 1280, height: 860 });
    await page.getByLabel('Select all deliveries shown').check();
    await pressKey(page, 'r');
    const dialog = page.getByRole('alertdialog', { name: 'Redeliver 3 deliveries?' });
    await dialog.getByText('3 deliveries are waiting to retry').waitFor();
    await dialog.getByRole('button', { name: 'Redeliver' }).click();
    await page.getByText('Too many requests.').waitFor();
    await page.getByText('3 deliveries are on the way.').waitFor();
    expect(refusedAt.again - refusedAt.first).toBeGreaterThanOrEqual(990);
    // Then it says how they ended, and the rows show it, without live mode and without a reload.
    await page.getByText('3 deliveries arrived.').waitFor();
    await expect.poll(() => page.locator('tbody .tag.ok').count()).toBe(3);
    expect(unexpected(faults, /status of 429/)).toEqual([]);

    // Canceled, it stops, says what it did, and leaves what was not sent selected.
    await page.unroute('**/redeliver');
    const sent: Route[] = [];
    await page.route('**/redeliver', (route) => void sent.push(route));
    const boxes = page.locator('tbody input[type=checkbox]');
    await boxes.nth(0).check();
    await boxes.nth(1).check();
    await pressKey(page, 'r');
    const second = page.getByRole('alertdialog', { name: 'Redeliver 2 deliveries?' });
    await second.getByRole('button', { name: 'Redeliver' }).click();
    await second.getByRole('button', { name: '1 of 2…' }).waitFor();
    await expect.poll(() => sent.length).toBe(1);
    await second.getByRole('button', { name: 'Cancel' }).click();
    await second.waitFor({ state: 'hidden' });
    await boxes.nth(2).check();
    await sent[0]!.continue();
    await page.getByText('Stopped. 1 delivery is on the way; 1 was not sent.').waitFor();
    await page.getByText('2 deliveries selected').waitFor();
    const all = page.getByLabel('Select all deliveries shown');
    expect(await all.evaluate((box: HTMLInputElement) => box.indeterminate)).toBe(true);
    // What a filter hides stays selected, and is counted.
    await page.getByRole('button', { name: 'Given up' }).click();
    await page.getByText('2 deliveries selected, 2 not shown').waitFor();
    await pressKey(page, 'r');
    await page.getByText('2 selected deliveries are not shown in the list.').waitFor();
    await page.keyboard.press('Escape');
    await page.goBack();
    await page.getByText('2 deliveries selected', { exact: true }).waitFor();
    // In a low window, the buttons for the selection stay at the bottom.
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 400 });
      expect(await isRedeliverCovered(page), `${width} px`).toBe(false);
    }
    expect(sent).toHaveLength(1);
    await receiver.deliveries.nth(7);
  });

  it('opens a delivery beside the list where there is room, moves the border, and selects all that match', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(500, { description: 'orders-eu' });
    await sendRequest(`${service.platformUrl}/platform/events`, {
      ...{ method: 'POST', token: platformToken },
      body: Array.from({ length: 30 }, () => event({ organization_id: tenant.organization })),
    });
    await tenant.settled(webhook, 30);
    const { page, faults } = await watched();
    await page.setViewportSize({ width: 1600, height: 860 });
    await page.goto(link(tenant.token, '/deliveries'));
    const links = page.locator('tbody .row-link');
    await links.first().click();
    const detail = page.getByRole('region', { name: 'Detail' });
    await detail.getByText('Request of attempt 1').waitFor();
    expect(new URL(page.url()).pathname).toMatch(/\/deliveries$/);
    // The list stays where it is, and its next row opens in the same place.
    const first = await detail.locator('[title$="(click to copy)"]').getAttribute('title');
    await page.keyboard.press('j');
    await expect
      .poll(() => detail.locator('[title$="(click to copy)"]').getAttribute('title'))
      .not.toBe(first);
    await page.keyboard.press('k');
    await expect.poll(() => detail.locator('[title$="(click to copy)"]').getAttribute('title')).toBe(first);
    await expectAccessible(page, 'a list and a detail', 'main');
    const widthOf = async () => Math.round((await detail.boundingBox())!.width);
    const before = await widthOf();
    const border = page.getByRole('separator', { name: 'Width of the detail' });
    await border.focus();
    await page.keyboard.press('ArrowLeft');
    await expect.poll(widthOf).toBe(before + 32);
    const box = (await border.boundingBox())!;
    await page.mouse.move(box.x + 6, 300);
    await page.mouse.down();
    await page.mouse.move(box.x + 56, 300);
    await page.mouse.up();
    expect(await widthOf()).toBeLessThan(before);
    const moved = await widthOf();
    await page.reload();
    await detail.getByText('Request of attempt 1').waitFor();
    expect(await widthOf()).toBe(moved);
    await detail.getByRole('button', { name: 'Close the detail' }).click();
    await detail.waitFor({ state: 'hidden' });
    await page.getByLabel('Select all deliveries shown').check();
    await page.getByText('25 deliveries selected').waitFor();
    await page.getByRole('button', { name: 'Select all that match' }).click();
    await page.getByText('30 deliveries selected, 5 not shown').waitFor();
    expect(faults).toEqual([]);
  });

  it('shows what is chosen in forced colors, draws stronger lines for more contrast, and prints a view alone', async () => {
    const tenant = await newTenant(service, { scopes });
    await tenant.connect(200, { description: 'orders-eu' });
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, '/webhooks'));
    await page.getByRole('link', { name: 'orders-eu' }).waitFor();
    const chosen = page.getByRole('navigation', { name: 'Views' }).locator('[aria-current="page"]').first();
    const styleOf = (name: 'outlineStyle' | 'outlineWidth') =>
      chosen.evaluate((element, property) => getComputedStyle(element)[property], name);
    expect(await styleOf('outlineStyle')).toBe('none');
    await page.emulateMedia({ forcedColors: 'active' });
    expect([await styleOf('outlineStyle'), await styleOf('outlineWidth')]).toEqual(['solid', '1px']);
    await page.emulateMedia({ forcedColors: null });
    const line = () =>
      page
        .locator('tbody td')
        .first()
        .evaluate((cell) => getComputedStyle(cell).borderBottomColor);
    const faint = await line();
    await page.emulateMedia({ contrast: 'more' });
    expect(await line()).not.toBe(faint);
    await page.emulateMedia({ contrast: null, media: 'print' });
    expect(await page.locator('.side, .top, main .btn').filter({ visible: true }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'orders-eu' }).isVisible()).toBe(true);
    expect(faults).toEqual([]);
  });

  it('keeps what is typed where it is typed, in fields whose value is in the address', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(200, { description: 'orders-eu' });
    const { page, faults } = await watched();
    const query = 'from=2025-10-16T10:00:00.000Z&to=2025-11-16T12:00:00.000Z';
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}/replay?${query}`));
    const from = page.getByLabel('From (local time)');
    await from.focus();
    await page.keyboard.type('11152025');
    expect(await from.inputValue()).toMatch(/^2025-11-15T/);
    await expect.poll(() => page.url()).toMatch(/from=2025-11-15T/);
    // A time that is not complete is not used.
    await page.keyboard.press('Backspace');
    await page.getByLabel('To (local time)').focus();
    await expect.poll(() => from.inputValue()).toMatch(/^2025-11-15T/);
    // What changes the address elsewhere changes the field.
    await page.getByRole('button', { name: 'Last 7 d' }).click();
    await expect.poll(() => from.inputValue()).not.toMatch(/^2025-11-15T/);

    await visit(page, '/webhooks', 'Webhooks');
    const filter = page.getByLabel('Filter webhooks');
    await filter.focus();
    await page.keyboard.type('ders');
    await page.keyboard.press('Home');
    await page.keyboard.type('or');
    expect(await filter.inputValue()).toBe('orders');
    await page.waitForURL((url) => url.searchParams.get('q') === 'orders');
    await page.getByRole('link', { name: 'orders-eu' }).waitFor();
    expect(faults).toEqual([]);
  });

  it('loads again automatically after a rate limit, but not too early', async () => {
    const tenant = await newTenant(service, { scopes });
    await tenant.connect(200, { description: 'orders-eu' });
    const { page, faults } = await watched();
    const refusedAt = await refuseOnce(page, '**/v1/webhooks?*');
    await page.goto(link(tenant.token, '/webhooks'));
    await page.getByText('Too many requests.').waitFor();
    await page.getByRole('link', { name: 'orders-eu' }).waitFor();
    await page.getByText('Too many requests.').waitFor({ state: 'hidden' });
    expect(refusedAt.again - refusedAt.first).toBeGreaterThanOrEqual(990);
    expect(unexpected(faults, /status of 429/)).toEqual([]);
  });

  it('asks before typed values are lost, and only then', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(200, { description: 'orders-eu' });
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}`));
    const dialog = page.getByRole('alertdialog', { name: 'Leave without saving?' });
    const tab = (name: string) => page.locator('.tabs').getByRole('link', { name });
    const name = page.getByLabel('Name', { exact: true });
    await tab('Settings').click();
    await name.fill('orders-us');
    await tab('Activity').click();
    await dialog.getByRole('button', { name: 'Keep editing' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect(await name.inputValue()).toBe('orders-us');
    // What keeps the form open loses nothing.
    await refreshOften(page);
    await page.getByRole('button', { name: 'Live', exact: true }).click();
    await page.waitForURL((url) => url.searchParams.has('live'));
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { rate_limit: 7 });
    await expect.poll(() => page.getByLabel('Rate limit').inputValue()).toBe('7');
    expect(await name.inputValue()).toBe('orders-us');
    // A question that has become pointless is not asked again.
    await page.getByRole('button', { name: 'Disable…' }).click();
    for (const [status, button] of [
      ['disabled', 'Activate'],
      ['active', 'Disable…'],
    ] as const) {
      await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status });
      await page.getByRole('button', { name: button }).waitFor();
    }
    expect(await page.getByRole('alertdialog').count()).toBe(0);
    await page.evaluate('history.back()');
    await dialog.waitFor();
    await expectAccessible(page, 'unsaved values', '[role="alertdialog"]');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(await name.inputValue()).toBe('orders-us');
    const asked = page.waitForEvent('dialog');
    const reloaded = page.reload();
    expect((await asked).type()).toBe('beforeunload');
    await (await asked).accept();
    await reloaded;

    // A fault is shown once, at its field, which gets the focus.
    const url = page.getByLabel('URL');
    await url.fill('ftp://example.com');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('The scheme "ftp" is not supported; use https.').waitFor();
    await expect.poll(() => url.evaluate((field) => field.matches(':focus'))).toBe(true);
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByText('The scheme "ftp" is not supported').waitFor({ state: 'hidden' });
    await name.fill('orders-us');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'orders-us' }).waitFor();
    // What was there before is a change now.
    await name.fill('orders-eu');
    await tab('Activity').click();
    await dialog.getByRole('button', { name: 'Keep editing' }).click();
    await page.getByRole('button', { name: 'Discard' }).click();
    await tab('Activity').click();
    await page.locator('.tabs [aria-current="page"]', { hasText: 'Activity' }).waitFor();
    await page.getByRole('heading', { name: 'No attempts yet' }).waitFor();
    expect(await page.locator('.chart').count()).toBe(0);

    await visit(page, '/webhooks/new', 'New webhook');
    await page.getByLabel('URL').fill('https://example.com/hook');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Go to' }).waitFor();
    await page.keyboard.press('Escape');
    await page
      .getByRole('navigation', { name: 'Views', exact: true })
      .getByRole('link', { name: 'Events' })
      .click();
    await dialog.getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('heading', { name: 'Events', exact: true }).waitFor();
    expect(unexpected(faults, /status of 422/)).toEqual([]);
  });

  it('shows the figures of the webhooks before they are scrolled to, and opens the deliveries of a bar by keyboard, also those created long before they failed', async () => {
    const tenant = await newTenant(service, { scopes });
    await tenant.connect(500);
    await tenant.record();
    await eventually(
      () => tenant.data('GET', `/v1/stats?from=${new Date(Date.now() - 3_600_000).toISOString()}`),
      ({ totals }) => totals.failed_attempts === 1,
    );
    const { page, faults } = await watched();
    await page.setViewportSize({ width: 1280, height: 120 });
    await page.goto(link(tenant.token));
    const rate = page.locator('td.rate');
    await expect.poll(() => rate.textContent()).not.toBe('');
    // In a narrower window, no figure is alone on a line.
    for (const [width, lines] of [
      [1280, [5]],
      [900, [3, 2]],
      [375, [2, 2, 1]],
      [1280, [5]],
    ] as const) {
      await page.setViewportSize({ width, height: 120 });
      const tops = await page
        .locator('.figure')
        .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
      expect(
        [...new Set(tops)].map((top) => tops.filter((one) => one === top).length),
        `${width} px`,
      ).toEqual(lines);
    }
    const bars = page.getByRole('slider', { name: /^0 delivered, 1 retried, 0 given up/ });
    // A receiver can make each of the four waits take four hours, and the statistics cover a day.
    const hours = (url: string) => {
      const { searchParams } = new URL(url, service.publicUrl);
      return (Date.parse(searchParams.get('to')!) - Date.parse(searchParams.get('from')!)) / 3_600_000;
    };
    const covered = async (link: string, name: string) =>
      hours((await page.locator(link, { hasText: name }).getAttribute('href'))!);
    expect(await covered('.legend a', 'delivered')).toBeLessThan(26);
    expect(await covered('.legend a', 'retried')).toBeGreaterThan(40);
    expect(await covered('.legend a', 'given up')).toBeGreaterThan(40);
    expect(await covered('a.figure', 'given up')).toBeGreaterThan(40);
    await bars.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('End');
    expect(await bars.getAttribute('aria-valuetext')).toMatch(/ · \d delivered · /);
    await page
      .locator('.readout')
      .getByText(/\d delivered/)
      .waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.pathname.endsWith('/deliveries') && url.searchParams.has('to'));
    expect(hours(page.url())).toBeGreaterThan(16);
    await page.locator('tbody tr').first().waitFor();
    // Why it starts earlier than the bar is said next to the range, and only as long as there is one.
    const why = page.getByText(/^Starts earlier: what failed from [\d:]+ on can have been created before\.$/);
    await why.waitFor();
    await page.getByRole('button', { name: /^Remove the filter created \d/ }).click();
    await why.waitFor({ state: 'hidden' });
    expect(new URL(page.url()).search).toBe('');
    expect(faults).toEqual([]);
  });

  it('is accessible in its dialogs, its palette and its empty states, which need no scrolling', async () => {
    const tenant = await newTenant(service, { scopes });
    const { page, faults } = await watched();
    await page.goto(link(tenant.token));
    for (const [path, heading] of [
      ['/events', 'Events'],
      ['/webhooks', 'Webhooks'],
      ['/deliveries', 'Deliveries'],
      ['/audit', 'Audit log'],
      ['/nowhere', 'Page not found'],
      ['', 'No webhooks yet'],
    ] as const) {
      await visit(page, path, heading);
      await page.locator('.empty').first().waitFor();
      expect(await page.evaluate('document.documentElement.scrollHeight - innerHeight'), path).toBe(0);
      // The rest of a list is the same as when it is not empty.
      await expectAccessible(page, `empty ${path}`, path === '' ? 'main' : '.empty');
    }
    const none = await makeToken(service.database, { organization_id: tenant.organization, scopes: [] });
    // Only the fragment of the address changes, so this opens another session in the same page.
    await page.goto(link(none));
    await page.getByRole('heading', { name: 'This token cannot see anything' }).waitFor();
    await expectAccessible(page, 'no scopes', 'main');

    const description = 'orders_eu_'.repeat(9);
    const { webhook } = await tenant.connect(500, { description });
    await page.goto(link(tenant.token));
    await visit(page, `/webhooks/${webhook.id}?tab=settings`, description);
    for (const name of ['Rotate…', 'Delete…', 'Disable…']) {
      await page.getByRole('button', { name }).click();
      const hidden = await page
        .getByRole('alertdialog')
        .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
      expect(hidden, name).toBe(0);
      await expectAccessible(page, name, '[role="alertdialog"]');
      await page.keyboard.press('Escape');
      await page.getByRole('alertdialog').waitFor({ state: 'hidden' });
    }
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await expectAccessible(page, 'shortcuts', '[role="dialog"]');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Go to' }).fill('invoice');
    await page.getByRole('option').first().waitFor();
    await expectAccessible(page, 'palette', '[role="dialog"]');
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 375, height: 812 });
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('dialog', { name: 'More' }).waitFor();
    await expectAccessible(page, 'more views', '[role="dialog"]');
    expect(faults).toEqual([]);
  });
});

/** Returns whether a line of a command ends within the name of a scope. */
function isBrokenInScope({ childNodes, ownerDocument }: Element): boolean {
  return [...childNodes].some((node) => {
    const range = ownerDocument.createRange();
    range.selectNode(node);
    return /\w:\w/.test(node.textContent ?? '') && range.getClientRects().length > 1;
  });
}

/** Returns whether the message about what was done covers a button for the selection. */
async function isRedeliverCovered(page: Page): Promise<boolean> {
  const [message, ...buttons] = await page.locator('.toast, .selection .btn').evaluateAll((all) =>
    all
      .sort((one) => (one.className === 'toast' ? -1 : 1))
      .map((one) => one.getBoundingClientRect())
      .map(({ left, top, right, bottom }) => ({ left, top, right, bottom })),
  );
  expect(buttons).toHaveLength(2);
  return buttons.some(
    (button) =>
      button.left < message!.right &&
      button.right > message!.left &&
      button.top < message!.bottom &&
      button.bottom > message!.top,
  );
}

/** Refuses the first request to a path for a second, as the rate limit does, and notes when it came again. */
async function refuseOnce(page: Page, path: string): Promise<{ first: number; again: number }> {
  const at = { first: 0, again: 0 };
  await page.route(path, async (route) => {
    if (at.first === 0) {
      at.first = Date.now();
      await route.fulfill({
        status: 429,
        headers: { 'retry-after': '1' },
        contentType: 'application/problem+json',
        body: JSON.stringify({ code: 'rate_limited', title: 'Too many requests', detail: 'Slow down.' }),
      });
      return;
    }
    at.again ||= Date.now();
    await route.continue();
  });
  return at;
}
