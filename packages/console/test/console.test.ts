import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Frame, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { afterFile } from '../../server/test/support/cleanup.js';
import { event, record, sendRequest } from '../../server/test/support/client.js';
import { Held, startReceiver } from '../../server/test/support/receiver.js';
import { makeToken, platformToken, startTestService } from '../../server/test/support/service.js';
import { eventually, newTenant } from '../../server/test/support/tenant.js';
import { shortId } from '../src/text/identifier.js';
import { expectAccessible } from './support/axe.js';
import { describeInBrowser, pressKey, refreshOften, unexpected, visit } from './support/browser.js';
import { openDoor } from './support/door.js';

const scopes = ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'] as const;

const german: Record<string, string> = JSON.parse(
  readFileSync(new URL('../src/text/german.json', import.meta.url), 'utf8'),
);

/** Returns the texts of a page that should be German. */
async function englishIn(frame: Frame): Promise<string[]> {
  const texts = await frame.evaluate(() => {
    const found: string[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { parentElement, textContent } = walker.currentNode;
      if (!parentElement!.closest('code, pre, script, .mono')) found.push(textContent!.trim());
    }
    const named = document.querySelectorAll('[aria-label], [title], [placeholder]');
    for (const element of named)
      for (const name of ['aria-label', 'title', 'placeholder']) found.push(element.getAttribute(name) ?? '');
    return found;
  });
  return texts.filter((text) => (german[text] ?? text) !== text);
}

/** A page of another application, which shows the portal in a frame. */
async function startHost(): Promise<{ origin: string; frame: { url: string } }> {
  const frame = { url: 'about:blank' };
  const server = createServer((_request, response) => {
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(
        `<!doctype html><title>host</title><iframe title="portal" width="1000" height="700" src="${frame.url}">`,
      );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterFile(() => server.close());
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, frame };
}

describeInBrowser('the console in a browser', async (open) => {
  const friend = await startHost();
  const stranger = await startHost();
  const service = await startTestService({
    POSTHORN_PORTAL_ORIGINS: friend.origin,
    POSTHORN_PORTAL_NAME: 'Acme Cloud',
    POSTHORN_PORTAL_ACCENT: '#0a7d55',
    POSTHORN_RETRY_SCHEDULE: '5m,1h,4h,12h',
    // Longer than a test may take: a request that a receiver holds stays on its way.
    POSTHORN_DELIVERY_TIMEOUT: '10m',
  });
  const door = await openDoor(service.publicUrl);
  const watched = () => open(door.url);
  const link = (token: string, path = '') => `${door.url}/console${path}#token=${token}`;
  const platform = (method: string, path: string, body?: unknown) =>
    sendRequest(`${service.platformUrl}/platform${path}`, {
      ...{ method, token: platformToken },
      ...(body !== undefined && { body }),
    });

  it('leads from a webhook that is not verified to one that delivers, and to its deletion', async () => {
    const tenant = await newTenant(service, { scopes });
    const receiver = await startReceiver({ onVerification: { status: 404, body: 'not yet' } });
    const { page, faults } = await watched();

    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET') sent.push(request.url().replace(/^.*\//, ''));
    });
    await page.goto(link(tenant.token));
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    expect(page.url()).not.toContain(tenant.token);

    await page.getByRole('link', { name: 'New webhook' }).click();
    await page.getByLabel('URL').fill('htp://example.com');
    await page.getByLabel('Name').fill('orders-eu');
    await page.getByLabel('invoice.*').check();
    await page.getByRole('button', { name: 'Create and verify' }).click();
    await page.getByText('The scheme "htp" is not supported; use https.', { exact: true }).waitFor();
    await page.getByLabel('URL').fill(receiver.url);
    await page.getByRole('button', { name: 'Create and verify' }).click();
    await page.getByText('Unverified', { exact: true }).waitFor();
    await page.getByText('not yet').first().waitFor();

    receiver.onVerification = 200;
    await page.getByRole('button', { name: 'Verify now' }).click();
    await page.getByText('Active', { exact: true }).waitFor();

    await page.getByRole('link', { name: 'Test', exact: true }).click();
    await page.getByRole('button', { name: 'Send a test' }).dblclick();
    await page.getByText(/The receiver responded with 200 in/).waitFor();
    expect(receiver.deliveries.last.envelope.test).toBe(true);

    receiver.onDelivery = { status: 500, body: 'the disk is full' };
    await tenant.record({ type: 'invoice.paid', subject: { type: 'invoice', id: 'INV-77' } });
    await receiver.deliveries.nth(2);
    await eventually(
      () => tenant.data('GET', '/v1/webhooks'),
      ([webhook]) => webhook.last_delivery_status === 'failed',
    );
    await page.getByRole('link', { name: 'Overview' }).first().click();
    // The next automatic update would take seconds.
    await page.reload();
    await page.getByRole('heading', { name: '1 webhook needs attention' }).waitFor();
    await page.getByRole('link', { name: 'See why' }).click();
    await page.getByText('Retrying', { exact: true }).waitFor();
    await page
      .getByText(/the disk is full/)
      .first()
      .waitFor();
    await page.getByText('Attempt 2').first().waitFor();

    receiver.onDelivery = 200;
    await pressKey(page, 'r');
    await page.getByText(/^Delivered after 2 attempts: the receiver responded with 200/).waitFor();

    await page.getByRole('navigation', { name: 'Breadcrumb' }).getByText('orders-eu').click();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Rotate…' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Rotate' }).dblclick();
    await page.getByText(/The old secret expires in 2[34] h/).waitFor();
    const rotated = page.getByRole('alertdialog', { name: 'Requests are now signed with the new secret' });
    await rotated.getByText(/^whsec_/).waitFor();
    await page.keyboard.press('Escape');
    await rotated.getByRole('button', { name: 'Copy the secret' }).waitFor();
    await rotated.getByRole('button', { name: 'Done' }).click();
    await rotated.waitFor({ state: 'hidden' });
    // A second rotation would end the first grace period.
    await page.getByRole('button', { name: 'Rotate…' }).click();
    await page.getByText('The secret before the current one is still valid.').waitFor();
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'Delete…' }).click();
    const dialog = page.getByRole('alertdialog');
    expect(await dialog.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill('orders-eu');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    expect(await tenant.data('GET', '/v1/webhooks')).toEqual([]);
    // A double click sends one request.
    expect(sent.filter((name) => name === 'test' || name === 'rotate-secret')).toEqual([
      'test',
      'rotate-secret',
    ]);
    expect(unexpected(faults, /status of 422/)).toEqual([]);
  });

  it('shows events as they happen, in an address that can be shared', async () => {
    const tenant = await newTenant(service, { scopes });
    const { page, faults } = await watched();
    // It says why it is not live, and connects again on request and when the service asks for it.
    const refusal = { status: 403, json: { code: 'forbidden', title: 'Forbidden', detail: 'Not now.' } };
    const waits = [{}, { 'retry-after': '1' }];
    await page.route(
      '**/v1/events/tail?*',
      (route) => route.fulfill({ ...refusal, headers: waits.shift()! }),
      {
        times: 2,
      },
    );
    await page.goto(link(tenant.token, '/events?live=1&type=invoice.paid'));
    await page
      .getByRole('alert')
      .filter({ hasText: 'Not now.' })
      .getByRole('button', { name: 'Try again' })
      .click();
    await page.getByRole('status').getByText('live').waitFor();
    await tenant.record({ type: 'invoice.voided', subject: { type: 'invoice', id: 'INV-0' } });
    await tenant.record({ type: 'invoice.paid', subject: { type: 'invoice', id: 'INV-1' } });
    const rows = page.locator('tbody tr');
    await rows.filter({ hasText: 'INV-1' }).waitFor();
    expect(await rows.count()).toBe(1);
    await rows.getByRole('link', { name: 'INV-1' }).click();
    await page.getByRole('heading', { name: 'History of INV-1' }).waitFor();
    expect(new URL(page.url()).searchParams.get('live')).toBe('1');
    expect(unexpected(faults, /status of 403/)).toEqual([]);
  });

  it('shows every event once, whenever live mode is turned on and off, and which webhooks received it', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(200);
    const record = (name: string) => tenant.record({ subject: { type: 'invoice', id: `INV-${name}` } });
    await record('first');
    const [other] = await tenant.settled(webhook, 1);
    const { page, faults } = await watched();
    // More than a hundred deliveries of other events do not hide those of the events on the page.
    const others = Array(100).fill({ ...other, event_id: 'EVT-other' });
    let loading: Promise<void> | undefined;
    await page.route(/\/v1\/deliveries\?/, async (route) => {
      // Until they are found, it is loading, not unknown.
      loading ??= page.locator('tbody .bone').waitFor();
      await loading;
      const url = new URL(route.request().url());
      const meta = { cursor: 'others', has_more: true };
      if (!url.searchParams.has('cursor')) return route.fulfill({ json: { data: others, meta } });
      url.searchParams.delete('cursor');
      return route.fulfill({ response: await route.fetch({ url: url.href }) });
    });
    // No event has to be looked up alone.
    await page.route(/\/events\/[^/]+\/deliveries\?/, () => undefined);
    await page.goto(link(tenant.token, '/events?type=invoice.paid'));
    const rows = () => page.locator('tbody a[title*="INV-"]').allTextContents();
    const reached = () => page.locator('tbody td:last-child').allTextContents();
    await expect.poll(rows).toEqual(['INV-first']);
    await expect.poll(reached).toEqual(['1 of 1']);
    const live = page.getByRole('button', { name: 'Live', exact: true });
    await refreshOften(page);
    await record('second');
    await live.click();
    await expect.poll(rows).toEqual(['INV-second', 'INV-first']);
    await record('third');
    const three = ['INV-third', 'INV-second', 'INV-first'];
    await expect.poll(rows).toEqual(three);
    await live.click();
    await page.getByRole('status').getByText('live').waitFor({ state: 'hidden' });
    expect(await rows()).toEqual(three);
    await record('fourth');
    await live.click();
    await expect.poll(rows).toEqual(['INV-fourth', ...three]);
    await record('fifth');
    await expect.poll(rows).toEqual(['INV-fifth', 'INV-fourth', ...three]);
    await page.getByText('All 5 events').waitFor();
    // One search finds the deliveries of all events that have arrived.
    await expect.poll(reached).toEqual(Array(5).fill('1 of 1'));
    expect(faults).toEqual([]);
  });

  it('shows which webhooks received the newest events, even if so many arrive that a search for all takes long', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(200);
    await tenant.record({ subject: { type: 'invoice', id: 'INV-first' } });
    const [first] = await tenant.settled(webhook, 1);
    const { page, faults } = await watched();
    await page.route(/\/v1\/deliveries\?/, async (route) => {
      // Every page is followed by one that does not come.
      if (new URL(route.request().url()).searchParams.has('cursor')) return;
      const { data } = await (await route.fetch()).json();
      const meta = { cursor: 'more', has_more: true };
      await route.fulfill({ json: { data: [...data, { ...first, event_id: 'EVT-other' }], meta } });
    });
    await page.route(/\/events\/[^/]+\/deliveries\?/, () => undefined);
    await page.goto(link(tenant.token, '/events?type=invoice.paid'));
    await page.getByRole('link', { name: 'INV-first' }).waitFor();
    await refreshOften(page);
    // Live mode reads the list again. An event in that list is found only by the search that does not end.
    const readAgain = page.waitForResponse(/\/v1\/events\?/);
    await page.getByRole('button', { name: 'Live', exact: true }).click();
    await readAgain;
    await page.getByRole('status').getByText('live').waitFor();
    await tenant.record({ subject: { type: 'invoice', id: 'INV-second' } });
    await page
      .getByRole('row')
      .filter({ hasText: 'INV-second' })
      .getByText('1 of 1', { exact: true })
      .waitFor();
    expect(faults).toEqual([]);
  });

  it('says that the service is unreachable, and reconnects automatically without missing an event', async () => {
    const tenant = await newTenant(service, { scopes });
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, '/events?live=1'));
    await page.getByRole('status').getByText('live').waitFor();
    await tenant.record({ subject: { type: 'invoice', id: 'INV-before' } });
    await page.getByRole('link', { name: 'INV-before' }).waitFor();
    await door.shut();
    await page.getByText('The service is unreachable.').waitFor();
    await tenant.record({ subject: { type: 'invoice', id: 'INV-meanwhile' } });
    await page.getByRole('link', { name: 'INV-before' }).waitFor();
    await door.open();
    await page.getByRole('link', { name: 'INV-meanwhile' }).waitFor();
    await page.getByText('The service is unreachable.').waitFor({ state: 'hidden' });
    expect(await page.locator('tbody a[title*="INV-"]').allTextContents()).toEqual([
      'INV-meanwhile',
      'INV-before',
    ]);
    expect(unexpected(faults, /net::ERR_/)).toEqual([]);
  });

  it('opens a view whose files it could not load as soon as the service responds, and never reloads in a loop', async () => {
    const tenant = await newTenant(service, { scopes });
    const { page, faults } = await watched();
    // With a route, the browser does not cache: it requests the files of each view.
    const loads: string[] = [];
    await page.route(/\/console/, async (route) => {
      const request = route.request();
      if (request.resourceType() === 'document') loads.push(request.url());
      const isMissing = /audit-log-[^/]*\.js$/.test(request.url()) && loads.length === 2;
      if (isMissing) await route.abort();
      else await route.continue();
    });
    await page.goto(link(tenant.token));
    await page.getByRole('heading', { name: 'Welcome' }).waitFor();
    const open = (view: string) => page.getByRole('link', { name: view, exact: true }).first().click();
    const notLoaded = page.getByRole('alert').getByText('This part of the console could not be loaded.');

    await door.shut();
    await open('Event types');
    await page.getByRole('alert').getByText('This view opens when the service is back').waitFor();
    expect(await notLoaded.count()).toBe(0);
    await page.getByText('The service is unreachable.').waitFor();
    await door.open();
    await page.getByRole('heading', { name: 'Event types', exact: true }).waitFor();

    const checked = page.waitForResponse('**/readyz');
    await open('Audit log');
    await notLoaded.waitFor();
    await checked;
    expect(loads).toHaveLength(2);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Audit log', exact: true }).waitFor();
    expect(loads).toHaveLength(3);

    expect(unexpected(faults, /net::ERR_|could not be loaded|dynamically imported/)).toEqual([]);
  });

  it('shows only what the token may see, and no buttons for what it may not do', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect();
    const none = await makeToken(service.database, { organization_id: tenant.organization, scopes: [] });
    const readOnly = await makeToken(service.database, {
      ...{ organization_id: tenant.organization, scopes: ['webhooks:read'] },
    });
    const { page, faults } = await watched();
    await page.goto(link(none));
    await page.getByRole('heading', { name: 'This token cannot see anything' }).waitFor();
    expect(await page.getByRole('navigation', { name: 'Views', exact: true }).getByRole('link').count()).toBe(
      0,
    );

    await page.goto('about:blank');
    await page.goto(link(readOnly, `/webhooks/${webhook.id}?tab=settings`));
    await page.getByRole('link', { name: 'Settings' }).waitFor();
    await page
      .getByText('whole organization')
      .or(page.getByText('all of the organization'))
      .first()
      .waitFor();
    const buttons = await page.locator('main').getByRole('button').allTextContents();
    expect(buttons.filter((text) => /Save|Delete|Rotate|Disable|Verify|Replay|Test/.test(text))).toEqual([]);
    const views = page.getByRole('navigation', { name: 'Views', exact: true }).getByRole('link');
    expect(await views.allTextContents()).toEqual(['Overview', 'Webhooks', 'Deliveries']);
    await visit(page, '/webhooks/new', 'This token cannot create webhooks');
    await page.getByText('Missing: webhooks:write, events:read.').waitFor();
    expect(faults).toEqual([]);
  });

  it('shows no more data of a token once a link with another token is opened in the same tab', async () => {
    const tenant = await newTenant(service, { scopes });
    await tenant.connect(200, { description: 'orders-eu' });
    const other = await newTenant(service, { scopes });
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, '/webhooks'));
    await page.getByRole('link', { name: 'orders-eu' }).waitFor();
    // Only the fragment of the address changes, so the page is not loaded again.
    await page.goto(link(other.token, '/webhooks'));
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    expect(await page.getByText('orders-eu').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it('asks for another token if one has expired, and says why', async () => {
    const expired = await makeToken(service.database, { expires_at: new Date(Date.now() - 1_000) });
    const good = await makeToken(service.database, { scopes });
    const { page, faults } = await watched();
    // The address was copied out of a sentence.
    await page.goto(link(expired, '/webhooks.'));
    await page.getByText('This link is no longer valid').waitFor();
    await page.setViewportSize({ width: 1920, height: 860 });
    const { x, width } = (await page.locator('.signin > div').boundingBox())!;
    expect(x, 'the sign-in is in the middle').toBe(1920 - x - width);
    const signIn = async (token: string) => {
      await page.getByLabel('Token').fill(token);
      await page.getByRole('button', { name: 'Sign in' }).click();
    };
    await signIn(await makeToken(service.database, { expires_at: new Date(Date.now() - 1_000) }));
    await page.getByText('The token was not accepted').waitFor();
    // The customers of a named product do not operate the service.
    expect(await page.getByText('posthorn token create').count()).toBe(0);
    // Copied from an example, it cannot be sent at all.
    await signIn('pht_…');
    await page.getByText('It contains a character that is not allowed in a token.').waitFor();
    // Copied from a header, it comes with the scheme.
    await signIn(`Bearer ${good}`);
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/webhooks');
    expect(unexpected(faults, /status of 401/)).toEqual([]);
  });

  it('closes an overlay together with its view: when the user goes back, and when the session ends', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(200, { description: 'orders-eu' });
    const { page, faults } = await watched();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(link(tenant.token, '/events'));
    await page.getByRole('link', { name: 'Webhooks' }).last().click();
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
    const more = page.getByRole('dialog', { name: 'More' });
    await page.getByRole('button', { name: 'More' }).click();
    await more.waitFor();
    await page.goBack();
    await more.waitFor({ state: 'hidden' });
    await page.getByRole('heading', { name: 'Events', exact: true }).waitFor();

    const again = async () => {
      await page.getByRole('heading', { name: 'Sign in with a token' }).waitFor();
      await page.unroute('**/v1/**');
      await page.getByLabel('Token').fill(tenant.token);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.locator('main h1').waitFor();
      expect(await page.locator('[role="dialog"], [role="alertdialog"]').count()).toBe(0);
    };
    await refreshOften(page);
    await visit(page, '/webhooks?live=1', 'Webhooks');
    await page.getByRole('button', { name: 'More' }).click();
    await more.waitFor();
    await page.route('**/v1/**', (route) => route.fulfill({ status: 401, body: '{}' }));
    await again();
    await visit(page, `/webhooks/${webhook.id}`, 'orders-eu');
    await page.getByRole('button', { name: 'Disable…' }).click();
    await page.route('**/v1/**', (route) => route.fulfill({ status: 401, body: '{}' }));
    await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click();
    await again();
    expect(unexpected(faults, /status of 401/)).toEqual([]);
  });

  it('keeps what was typed into a form while one session ends and another one starts', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(200, { description: 'orders-eu' });
    const again = await makeToken(service.database, { organization_id: tenant.organization, scopes });
    const { page, faults } = await watched();
    const url = page.getByLabel('URL');
    const name = page.getByLabel('Name', { exact: true });
    const press = (button: string) => page.getByRole('button', { name: button, exact: true }).click();
    const endSession = async (button: string) => {
      await page.route('**/v1/**', (route) => route.fulfill({ status: 401, body: '{}' }));
      await press(button);
      await page.getByText('What you entered in the form has been kept.').waitFor();
      await page.unroute('**/v1/**');
    };
    const signIn = async (token: string) => {
      await page.getByLabel('Token').fill(token);
      await press('Sign in');
    };
    const fillNew = async () => {
      await url.fill('https://example.com/orders');
      await page.getByRole('checkbox', { name: 'invoice.paid' }).check();
    };

    // A change follows what was changed elsewhere meanwhile.
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}?tab=settings`));
    await name.fill('orders-us');
    await endSession('Save');
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { rate_limit: 7 });
    await signIn(again);
    await expect.poll(() => page.getByLabel('Rate limit').inputValue()).toBe('7');
    expect(await name.inputValue()).toBe('orders-us');
    await press('Save');
    await page.getByRole('heading', { name: 'orders-us' }).waitFor();

    // A session of the portal starts with another load of the page.
    await visit(page, '/webhooks/new', 'New webhook');
    await fillNew();
    await page.getByText('Workspace, headers, rate limit').click();
    await press('Add a header');
    await page.getByLabel('Name of header 1').fill('X-Api-Key');
    await page.getByLabel('Value of header 1').fill('abc');
    const secret = await page.locator('.form .copy-line').innerText();
    await endSession('Create and verify');
    await page.goto('about:blank');
    await page.goto(link(tenant.token));
    await page.getByText('orders-us').first().waitFor();
    await visit(page, '/webhooks/new', 'New webhook');
    expect(await url.inputValue()).toBe('https://example.com/orders');
    expect(await page.getByRole('checkbox', { name: 'invoice.paid' }).isChecked()).toBe(true);
    expect(await page.locator('.form .copy-line').innerText()).toBe(secret);
    await press('Add a header');
    await page.getByLabel('Name of header 2').fill('X-More');
    expect(await page.getByLabel('Name of header 1').inputValue()).toBe('X-Api-Key');
    expect(await page.getByLabel('Value of header 1').inputValue()).toBe('abc');
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
    await visit(page, '/webhooks/new', 'New webhook');
    expect(await url.inputValue()).toBe('');

    // A user of another organization does not see it.
    await fillNew();
    await endSession('Create and verify');
    await signIn((await newTenant(service, { scopes })).token);
    await page.getByRole('heading', { name: 'New webhook' }).waitFor();
    expect(await url.inputValue()).toBe('');
    expect(unexpected(faults, /status of 401/)).toEqual([]);
  });

  it('ends an expired session automatically, but only if the service confirms that it has expired', async () => {
    const tenant = await newTenant(service, { scopes });
    const { body } = await platform('POST', '/portal-sessions', { organization_id: tenant.organization });
    const { page, faults } = await watched();
    // To this page, the session ends in a second, as if its clock were ahead.
    let requests = 0;
    await page.route('**/v1/token', async (route) => {
      requests += 1;
      const response = await route.fetch();
      if (!response.ok()) return route.fulfill({ response });
      const { data } = await response.json();
      const expires_at = new Date(Date.now() + 1_000).toISOString();
      await route.fulfill({ response, json: { data: { ...data, expires_at } } });
    });
    await page.goto(link(body.data.token, '/webhooks/new'));
    await refreshOften(page);
    await page.getByText('Session ends soon').waitFor();
    await expect.poll(() => requests).toBeGreaterThan(1);
    await page.getByLabel('URL').fill('https://example.com/orders');
    const { body: tokens } = await platform('GET', `/tokens?organization_id=${tenant.organization}`);
    const ours = tokens.data.find((token: { portal: boolean }) => token.portal);
    await platform('DELETE', `/tokens/${ours.id}`);
    await page.getByRole('heading', { name: 'This session has ended' }).waitFor();
    await page.getByText('What you entered in the form has been kept.').waitFor();
    expect(unexpected(faults, /status of 401/)).toEqual([]);
  });

  it('shows customers the name of the product, and no instructions for operators', async () => {
    const tenant = await newTenant(service, { scopes });
    const { body } = await platform('POST', '/portal-sessions', { organization_id: tenant.organization });
    const { page, faults } = await watched();
    await page.goto(body.data.url);
    await page.getByRole('link', { name: 'New webhook' }).first().click();
    await page.getByText('Acme Cloud sends a signed request').waitFor();
    await page.getByText('An https URL at a public address.', { exact: true }).waitFor();
    expect(await page.locator('main').innerText()).not.toMatch(/npm start|operator/);
    // The reference does not show the name.
    expect(await page.getByText('API reference').count()).toBe(0);
    expect(unexpected(faults, new RegExp(`^requested ${new URL(body.data.url).origin}/`))).toEqual([]);
  });

  it('can be framed only by the origins in the settings, and explains the end of a session', async () => {
    const tenant = await newTenant(service, { scopes });
    const { body } = await platform('POST', '/portal-sessions', {
      ...{ organization_id: tenant.organization, read_only: true },
    });
    const { page, faults } = await watched();
    stranger.frame.url = body.data.url;
    await page.goto(stranger.origin);
    await page.waitForLoadState('networkidle');
    const framed = page.frames().find((frame) => frame !== page.mainFrame());
    expect(framed?.url()).toMatch(/^chrome-error:/);

    friend.frame.url = body.data.url;
    await page.goto(friend.origin);
    const portal = page.frameLocator('iframe');
    await portal.getByText('Acme Cloud').first().waitFor();
    await portal.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    expect(await portal.getByRole('link', { name: 'New webhook' }).count()).toBe(0);
    await portal.getByText('This session cannot create one. Missing: webhooks:write.').waitFor();

    const { body: tokens } = await platform('GET', `/tokens?organization_id=${tenant.organization}`);
    const ours = tokens.data.find((token: { portal: boolean }) => token.portal);
    await platform('DELETE', `/tokens/${ours.id}`);
    await eventually(
      () => tenant.request('GET', '/v1/token', { token: body.data.token }),
      ({ status }) => status === 401,
    );
    await portal.getByRole('link', { name: 'Events' }).first().click();
    await portal.getByRole('heading', { name: 'This session has ended' }).waitFor();
    const own = new RegExp(`^requested (${friend.origin}|${stranger.origin}|${service.publicUrl})/`);
    expect(unexpected(unexpected(faults, own), /status of 401|frame-ancestors/)).toEqual([]);
  });

  it('fits the page around it: side bar, colors, font, height, and German in every view', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(500, { description: 'orders-eu' });
    const event = await tenant.record();
    const [delivery] = await tenant.settled(webhook, 1);
    const { body } = await platform('POST', '/portal-sessions', { organization_id: tenant.organization });
    const { page } = await watched();
    friend.frame.url = `${body.data.url}&nav=top&theme=dark&accent=c026d3&font=Georgia&lang=de`;
    await page.goto(friend.origin);
    await page.evaluate(
      "globalThis.heights = []; addEventListener('message', ({ data }) => heights.push(data.height))",
    );
    const portal = page.frameLocator('iframe');
    await portal.getByRole('heading', { name: '1 Webhook braucht Aufmerksamkeit' }).waitFor();
    const frame = page.frames().find((one) => one !== page.mainFrame())!;
    const looks = await frame.evaluate(() => {
      const { lang, dataset, style, clientWidth } = document.documentElement;
      const main = document.querySelector('main')!;
      return {
        ...{ lang, theme: dataset.theme, accent: style.getPropertyValue('--accent') },
        font: getComputedStyle(document.body).fontFamily,
        isWhole: main.getBoundingClientRect().width === clientWidth,
        // Neither the token nor what the page around wants stays in the address.
        hash: location.hash,
      };
    });
    expect(looks).toMatchObject({ lang: 'de', theme: 'dark', isWhole: true, hash: '' });
    expect(looks.font).toMatch(/^Georgia,/);
    expect(looks.accent).toContain('#c026d3');
    for (const [path, title] of views(webhook.id, delivery.id, event.id)) {
      const heading = title.replace('This token', 'This session');
      await frame.evaluate((to) => history.pushState({}, '', `/console${to}`), path);
      const name = german[heading] ?? german[heading.replace('1', '{0}')]?.replace('{0}', '1') ?? heading;
      await portal.locator('main').getByRole('heading', { name, exact: true }).first().waitFor();
      await expect.poll(() => portal.locator('.skeleton').count()).toBe(0);
      expect(await englishIn(frame), path).toEqual([]);
    }
    // The page around the frame learns the height of each view.
    const height = await portal.locator('#root').evaluate((root) => root.getBoundingClientRect().height);
    await expect.poll(() => page.evaluate('heights.at(-1)')).toBe(Math.ceil(height));
  });

  it('runs no scripts from events, webhooks or responses', async () => {
    const tenant = await newTenant(service, { scopes });
    const bomb = `"><img/src=x/onerror="window.hit=1"><script>window.hit=1</script>`;
    const receiver = await startReceiver({
      onDelivery: {
        status: 500,
        headers: { 'content-type': 'text/html', server: '<script>window.hit=1</script>' },
        body: bomb,
      },
    });
    const webhook = await tenant.webhook(receiver, {
      description: bomb,
      url: `${receiver.url}/${encodeURIComponent(bomb)}?javascript:alert(1)`,
    });
    const event = await tenant.record({
      subject: { type: 'invoice', id: bomb },
      actor: { type: 'user', id: `USR-${bomb}` },
      payload: { [bomb]: bomb, link: 'javascript:window.hit=1' },
    });
    const [delivery] = await tenant.settled(webhook, 1);
    const { page, faults } = await watched();
    await page.goto(link(tenant.token));
    for (const [path, heading] of [
      ['', '1 webhook needs attention'],
      ['/events', 'Events'],
      [`/events?subject_id=${encodeURIComponent(bomb)}`, `History of ${bomb}`],
      [`/events/${event.id}`, 'invoice.paid'],
      ['/webhooks', 'Webhooks'],
      [`/webhooks/${webhook.id}?tab=settings`, bomb],
      ['/deliveries', 'Deliveries'],
      [`/webhooks/${webhook.id}/deliveries/${delivery.id}`, 'invoice.paid'],
      ['/audit', 'Audit log'],
    ] as const) {
      await visit(page, path, heading);
      await page.getByText('img/src=x').first().waitFor({ state: 'attached' });
      expect(await page.locator('img[src="x"], main script').count(), path).toBe(0);
      expect(await page.evaluate('window.hit'), path).toBeUndefined();
    }
    expect(faults).toEqual([]);
  });

  it('counts the events that a replay will send, without those that it skips, and shows a replay that was started', async () => {
    const tenant = await newTenant(service, { scopes });
    // Only the service records such an event. It is sent to nobody, so that there are no loops.
    const payload = { webhook_id: 'WHK-other', event_type: 'webhook.disabled' };
    await service.database.query({
      text: `update posthorn.events set type = 'webhook.delivery_failed' where organization_id = $1 and id = $2`,
      values: [tenant.organization, (await tenant.record({ payload })).id],
    });
    await tenant.record();
    const held = new Held();
    const { receiver, webhook } = await tenant.connect(held.reply);
    await tenant.record();
    await receiver.deliveries.nth(1);
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}`));
    await page.getByRole('link', { name: 'Replay…' }).click();
    await page.getByText('1 event will be sent.').waitFor();
    await page.getByRole('button', { name: 'Replay…' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Replay' }).click();
    await page.getByText('Done: 1 event is queued.').waitFor();
    await page.reload();
    await page.getByText('Done: 1 event is queued.').waitFor();
    await receiver.deliveries.nth(2);

    // Now both wait for their first attempt.
    await page.getByRole('link', { name: 'Another replay' }).click();
    await page.getByText('0 events will be sent.').waitFor();
    await page.getByRole('checkbox').uncheck();
    await page.getByText('2 events will be sent.').waitFor();
    held.release(200);

    // Only a replay that runs is loaded again and again.
    await page.evaluate(
      'every = setInterval, waits = [], setInterval = (work, ms) => (waits.push(ms), every(work, ms))',
    );
    await visit(
      page,
      `/webhooks/${webhook.id}/replay?replay=RPL-01ARZ3NDEKTSV4RRFFQ69G5FAV`,
      'Replay events',
    );
    await page.getByRole('alert').getByText('does not exist').waitFor();
    expect(await page.evaluate('waits')).not.toContain(1_000);

    expect(unexpected(faults, /status of 404/)).toEqual([]);
  });

  it('estimates from the statistics how many of more than 100 events a replay will send', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(200, { event_types: ['invoice.*'] });
    const { page, faults } = await watched();
    // The statistics list only 20 of these 22 types.
    const many = event({ organization_id: tenant.organization, type: 'task.created' });
    await record(service, ...Array<unknown>(101).fill(many));
    await service.database.query({
      text: `
  insert into posthorn.event_counts
  select $1, '', 1, date_trunc('minute', now() - interval '5 minutes'), type, events
    from (values ('invoice.paid', 40), ('task.created', 60), ('invoice.voided', 5), ('run.started', 3)) v (type, events)
   union all
  select $1, '', 1, date_trunc('minute', now() - interval '5 minutes'), 'incident.' || n, 30
    from generate_series(1, 18) n`,
      values: [tenant.organization],
    });
    const replayTo = async (event_types: string[], query: string, sentence: string, id = webhook.id) => {
      await tenant.data('PATCH', `/v1/webhooks/${id}`, { event_types });
      await page.goto(link(tenant.token, `/webhooks/${id}/replay${query}`));
      // The address may be the same as before.
      await page.reload();
      await page.getByText(sentence, { exact: true }).waitFor();
    };
    const unknown = page.getByText('8 events have other types and may go to this webhook, too.');
    await replayTo(['invoice.*'], '?only_failed=0', 'About 40 to 48 events will be sent.');
    await unknown.waitFor();
    await page.getByRole('button', { name: 'Replay…' }).click();
    await page.getByRole('alertdialog').getByText('About 40 to 48 events will be sent.').waitFor();
    await replayTo(['service_line.*'], '?only_failed=0', 'Up to about 8 events will be sent.');

    // Of the events that were not delivered, only those that failed or were never sent are left.
    const failing = await tenant.connect(500, { event_types: ['invoice.paid'] });
    const replayFailed = async (delivered: number, types: string[], sentence: string) => {
      await service.database.query({
        text: `
  insert into posthorn.delivery_counts
         (organization_id, scope, step, at, part, delivered, failed_attempts, given_up, latencies)
  values ($1, $2, 1, date_trunc('minute', now() - interval '5 minutes'), 1, $3, 0, 0, '{}')
  on conflict (organization_id, scope, step, at, part) do update set delivered = excluded.delivered`,
        values: [tenant.organization, failing.webhook.id, delivered],
      });
      await replayTo(types, '', sentence, failing.webhook.id);
    };
    await replayFailed(0, ['invoice.*'], 'Up to about 48 events will be sent.');
    await unknown.waitFor();
    // The statistics list the only type of this webhook, so nothing is missing.
    await replayFailed(34, ['invoice.paid'], 'Up to about 6 events will be sent.');
    expect(await unknown.count()).toBe(0);
    // What was resent counts as delivered twice.
    await tenant.record();
    await tenant.settled(failing.webhook, 1);
    await replayFailed(400, ['invoice.paid'], 'Up to about 1 event will be sent.');
    expect(faults).toEqual([]);
  });

  it('opens every view by keyboard', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(500);
    const event = await tenant.record();
    const [delivery] = await tenant.settled(webhook, 1);
    const ownToken = await tenant.data('GET', '/v1/token');
    const { page, faults } = await watched();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(link(tenant.token));
    await page.getByRole('heading', { name: /needs attention/ }).waitFor();
    await page.evaluate(`navigator.clipboard.writeText('${event.id.slice(4)}')`);
    // What is typed and pasted right after the keys goes to the palette.
    await page.keyboard.press('Control+k');
    await page.keyboard.type('EVT-');
    await page.keyboard.press('Control+v');
    await expect.poll(() => page.getByRole('combobox', { name: 'Go to' }).inputValue()).toBe(event.id);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(await page.getByRole('link', { name: 'API reference' }).getAttribute('href')).toBe('/docs');
    const webhookPath = `/webhooks/${webhook.id}`;
    for (const [id, path, heading] of [
      [event.id, `/events/${event.id}`, 'invoice.paid'],
      // Found by its ID alone: the console first looks up the webhook that it belongs to.
      [delivery.id, `${webhookPath}/deliveries/${delivery.id}`, 'invoice.paid'],
      [webhook.id, webhookPath, webhook.url.replace('http://', '')],
      // By what the console shows of an ID.
      [event.id.slice(-5), `/events/${event.id}`, 'invoice.paid'],
      [shortId(delivery.id), `${webhookPath}/deliveries/${delivery.id}`, 'invoice.paid'],
      // As it was copied from somewhere else.
      [`"${webhook.id.toLowerCase()}",`, webhookPath, webhook.url.replace('http://', '')],
      [
        `${door.url}/console${webhookPath}/replay?only_failed=false.`,
        `${webhookPath}/replay`,
        'Replay events',
      ],
      [ownToken.id, '/token', 'This token'],
      ['RPL-01ARZ3NDEKTSV4RRFFQ69G5FAV', '/audit', 'Audit log'],
    ] as const) {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Go to' }).fill(id);
      await page.keyboard.press('Enter');
      await page.waitForURL((url) => url.pathname.endsWith(path));
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
    }
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
    // What a screen reader says.
    await page.locator('[aria-live]').getByText('Deliveries · Acme Cloud', { exact: true }).waitFor();
    await page.locator('tbody tr').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.pathname.endsWith(delivery.id));
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    expect(faults).toEqual([]);
  });

  it('is accessible in every view, in light and dark colors, fits a phone, which zooms in on none of its fields, and a fingertip, and requests no more than a page', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(500, { description: 'orders-eu' });
    const event = await tenant.record();
    const [delivery] = await tenant.settled(webhook, 1);
    const { page, faults } = await watched();
    const requested: string[] = [];
    page.on('request', (request) =>
      requested.push(`${request.method()} ${request.url().slice(door.url.length)}`),
    );
    await page.goto(link(tenant.token));
    for (const [path, heading, tab] of views(webhook.id, delivery.id, event.id)) {
      await page.setViewportSize({ width: 375, height: 812 });
      await visit(page, path, heading);
      if (tab) await page.locator('.tabs [aria-current="page"]', { hasText: tab }).waitFor();
      await expect.poll(() => page.locator('.skeleton').count()).toBe(0);
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(375);
      expect(await smallestField(page), path).toBe(16);
      expect(await lowestControl(page), path).toBeGreaterThanOrEqual(40);
      await page.setViewportSize({ width: 1280, height: 860 });
      // What surrounds the views is the same in all of them, and so is what surrounds the tabs of a webhook.
      const isOnlyTab = tab && tab !== 'Deliveries';
      await expectAccessible(page, path, path === '' ? 'html' : isOnlyTab ? '.tabs ~ *' : 'main');
      expect(requested.splice(0).filter(isUnbounded), path).toEqual([]);
    }
    await page.setViewportSize({ width: 375, height: 812 });
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('combobox', { name: 'Go to' }).fill('zzzz');
    await page.getByText('Nothing matches.').waitFor();
    expect(await smallestField(page), 'the palette').toBe(16);
    await expectAccessible(page, 'a palette without results', '[role="dialog"]');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in with a token' }).waitFor();
    expect(await smallestField(page), 'the sign-in').toBe(16);
    await page.setViewportSize({ width: 1280, height: 860 });
    await expectAccessible(page, 'the sign-in');
    expect(faults).toEqual([]);
  });
});

/** Returns the smallest font size of a field. A phone zooms in on a field whose text is smaller than 16 px. */
function smallestField(page: Page): Promise<number> {
  return page
    .locator('select, textarea, input:not([type="checkbox"])')
    .evaluateAll((all) =>
      Math.min(
        ...all.map((one) => Number.parseFloat(one.ownerDocument.defaultView!.getComputedStyle(one).fontSize)),
      ),
    );
}

/** Returns the height of the lowest control that is not a part of a text. A finger misses one of less than 40 px. */
function lowestControl(page: Page): Promise<number> {
  return page
    .locator(
      '.btn, .input, .seg, .filter-input, .filter-select, .tabs a, .select-cell label, .workspace label, .entry',
    )
    .locator('visible=true')
    .evaluateAll((all) => Math.min(...all.map((one) => Math.round(one.getBoundingClientRect().height))));
}

/** Reads whose cost stays the same however much there is: one thing, one page, or figures that are counted already. */
const bounded = [
  /^GET \/v1\/(token|event-types|audit-logs\/chain)$/,
  /^GET \/v1\/(events|webhooks)\/[^/?]+$/,
  /^GET \/v1\/webhooks\/[^/]+\/deliveries\/[^/?]+$/,
  /^GET \/v1\/stats\?/,
  /^GET \/v1\/[^?]+\?(.*&)?limit=(100|\d\d?)(&|$)/,
];

function isUnbounded(request: string): boolean {
  return request.includes(' /v1/') && !bounded.some((pattern) => pattern.test(request));
}

function views(
  webhook: string,
  delivery: string,
  event: string,
): [path: string, heading: string, tab?: string][] {
  const ofWebhook = `/webhooks/${webhook}`;
  return [
    ['', '1 webhook needs attention'],
    ['/events', 'Events'],
    [`/events/${event}`, 'invoice.paid'],
    ['/webhooks', 'Webhooks'],
    ['/webhooks/new', 'New webhook'],
    [ofWebhook, 'orders-eu', 'Deliveries'],
    [`${ofWebhook}?tab=activity`, 'orders-eu', 'Activity'],
    [`${ofWebhook}?tab=settings`, 'orders-eu', 'Settings'],
    [`${ofWebhook}?tab=test`, 'orders-eu', 'Test'],
    [`${ofWebhook}?tab=receiver`, 'orders-eu', 'Receiver'],
    [`${ofWebhook}/replay`, 'Replay events'],
    ['/deliveries', 'Deliveries'],
    [`${ofWebhook}/deliveries/${delivery}`, 'invoice.paid'],
    ['/event-types?type=invoice.paid', 'Event types'],
    ['/audit', 'Audit log'],
    ['/token', 'This token'],
  ];
}
