import type { Locator, Page, Route } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { tamper } from '../../server/test/support/audit.js';
import { event, record, sendRequest } from '../../server/test/support/client.js';
import { hideDelivery } from '../../server/test/support/rare-delivery.js';
import { startReceiver } from '../../server/test/support/receiver.js';
import { platformToken, sharedService } from '../../server/test/support/service.js';
import { eventually, newTenant } from '../../server/test/support/tenant.js';
import { expectAccessible } from './support/axe.js';
import { describeInBrowser, pressKey, refreshOften, unexpected, visit } from './support/browser.js';

const scopes = ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'] as const;

describeInBrowser('the views of the console', async (open) => {
  const service = await sharedService();
  const watched = () => open(service.publicUrl);
  const link = (token: string, path = '') => `${service.publicUrl}/console${path}#token=${token}`;
  const clipboard = async (page: Page) => String(await page.evaluate('navigator.clipboard.readText()'));

  it('find an event by its subject, and show its payload to the last digit and what happened before and after', async () => {
    const tenant = await newTenant(service, { scopes });
    const digits = '12345678901234567890.10';
    const subject = { type: 'invoice', id: 'INV-exact' };
    await tenant.record({ subject: { type: 'invoice', id: 'INV-other' } });
    await tenant.record({ subject });
    const { body } = await sendRequest(`${service.platformUrl}/platform/events`, {
      ...{ method: 'POST', token: platformToken, headers: { 'content-type': 'application/json' } },
      raw: `{"type":"invoice.paid","organization_id":"${tenant.organization}","actor":{"type":"user","id":"USR-ada"},
               "subject":{"type":"invoice","id":"INV-exact"},"payload":{"id":"INV-exact","big":${digits}}}`,
    });
    const [exact] = body.data;
    const later = event({ organization_id: tenant.organization, subject });
    await record(service, ...Array<unknown>(20).fill(later));
    const { page, faults } = await watched();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(link(tenant.token, '/events'));
    await page.getByRole('link', { name: 'INV-other' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('INV-exact');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'History of INV-exact' }).waitFor();
    expect(new URL(page.url()).searchParams.get('subject_id')).toBe('INV-exact');
    await page.getByRole('link', { name: 'INV-other' }).waitFor({ state: 'detached' });
    await page.locator(`tbody a[href*="${exact.id}"]`).click();
    await page.locator('pre').getByText(digits).waitFor();
    await page.locator('.timeline li + li.here + li').waitFor();
    await page.getByRole('link', { name: 'Full history' }).waitFor();
    await page.getByRole('button', { name: 'Raw' }).click();
    await page.locator('pre').getByText(`"big":${digits}}`).waitFor();
    expect(new URL(page.url()).searchParams.get('text')).toBe('raw');
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await expect.poll(() => clipboard(page)).toContain(`/v1/events/${exact.id}`);
    await page.goBack();
    await page.getByRole('button', { name: 'Remove the filter subject' }).click();
    await page.getByRole('link', { name: 'INV-other' }).waitFor();
    // Also among events of the same time, it shows the six before and the six after.
    const query = `organization_id=${tenant.organization}&subject_id=INV-exact&limit=25`;
    const history = await tenant.data('GET', `/v1/events?${query}`);
    const around: string[] = history.slice(4, 17).map(({ id }: { id: string }) => id);
    await visit(page, `/events/${around[6]}`, 'invoice.paid');
    await page.locator('.timeline li:nth-child(7).here').waitFor();
    const hrefs = await page
      .locator('.timeline a')
      .evaluateAll((all) => all.map((one) => one.getAttribute('href')));
    expect(hrefs).toEqual(around.toSpliced(6, 1).map((id) => `/console/events/${id}`));
    expect(faults).toEqual([]);
  });

  it('keep the place of a list: its pages, its filters and how far it was scrolled', async () => {
    const tenant = await newTenant(service, { scopes });
    for (let count = 0; count < 40; count += 1) {
      await tenant.record({ subject: { type: 'invoice', id: `INV-${count}` } });
    }
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, '/events?type=invoice.paid&range=24h'));
    // If the next page cannot be loaded, the list says so at its end, and tries that page again.
    await page.route(/[?&]cursor=/, (route) => route.fulfill({ status: 500, body: '{}' }), { times: 1 });
    const more = page.getByRole('button', { name: 'Show more' });
    await more.click();
    const again = page.locator('table ~ [role=alert]').getByRole('button', { name: 'Try again' });
    await again.waitFor();
    // Neither a button that loads nor one that is gone loses the focus.
    const links = page.locator('a.row-link');
    const isFocused = (one: Locator) => one.evaluate((element) => element.matches(':focus'));
    expect(await isFocused(more)).toBe(true);
    await again.click();
    await expect.poll(() => isFocused(links.nth(25))).toBe(true);
    const oldest = page.getByRole('link', { name: 'INV-0', exact: true });
    await oldest.scrollIntoViewIfNeeded();
    const scrolled = Number(await page.evaluate('scrollY'));
    expect(scrolled).toBeGreaterThan(200);
    await page.locator('tbody tr').last().locator('a.row-link').click();
    await page.getByRole('heading', { name: 'invoice.paid', level: 1 }).waitFor();
    // A range that ends now stays where it is: a minute later, it is still the same list.
    const passMinute = () => page.evaluate('{ const now = Date.now; Date.now = () => now() + 60_000 }');
    await passMinute();
    await page.goBack();
    await oldest.waitFor();
    await expect.poll(() => page.evaluate('scrollY')).toBe(scrolled);
    // The switch for live mode does not change the row from which the keys continue.
    await page.keyboard.press('l');
    await page.getByRole('status').getByText('live').waitFor();
    await page.keyboard.press('k');
    expect(await isFocused(links.nth(38))).toBe(true);
    await refreshOften(page);
    const requested: URL[] = [];
    page.on('request', (request) => requested.push(new URL(request.url())));
    for (const [path, heading, list] of [
      ['/deliveries', 'Deliveries', '/v1/deliveries'],
      ['/audit', 'Audit log', '/v1/audit-logs'],
    ] as const) {
      const starts = () =>
        requested
          .filter(({ pathname }) => pathname === list)
          .map(({ searchParams }) => searchParams.get('from'));
      await visit(page, `${path}?range=24h`, heading);
      // The list of deliveries and its counts are read separately.
      const first = path === '/deliveries' ? 3 : 1;
      await expect.poll(starts).toHaveLength(first);
      await passMinute();
      await page.keyboard.press('l');
      await expect.poll(() => starts().length).toBeGreaterThan(first);
      expect(new Set(starts()).size, path).toBe(1);
    }
    expect(unexpected(faults, /status of 500/)).toEqual([]);
  });

  it('leave room for what a row is about, on a tablet and with names that cannot be broken', async () => {
    const tenant = await newTenant(service, { scopes });
    const receiver = await startReceiver({ onDelivery: 500 });
    const webhook = await tenant.webhook(receiver, {
      ...{ description: 'x'.repeat(256), url: `${receiver.url}/${'y'.repeat(300)}` },
    });
    const unnamed = await tenant.webhook(receiver, {
      ...{ event_types: ['capacity.*'], url: `${receiver.url}/${'y'.repeat(60)}` },
    });
    const brief = await tenant.webhook(receiver, { event_types: ['capacity.*'], description: 'http' });
    const alike = 'Order intake for the European warehouses (Rotterdam, Ghent) 1';
    await tenant.webhook(receiver, { event_types: ['capacity.*'], description: alike });
    const long = 'z'.repeat(100);
    const named = {
      subject: { type: 'invoice', id: `INV-${long}` },
      actor: { type: 'user', id: `USR-${long}` },
    };
    const event = await tenant.record(named);
    await tenant.record(named);
    await tenant.settled(webhook, 2);
    const { page, faults } = await watched();
    await page.route('**/v1/event-types', async (route) => {
      const { data } = await (await route.fetch()).json();
      await route.fulfill({ json: { data: [...data, { ...data[0], type: `invoice.${long}` }] } });
    });
    await page.goto(link(tenant.token));
    const widths = [320, 721, 901, 1181];
    for (const [path, heading] of [
      ['', '1 webhook needs attention'],
      ['/events', 'Events'],
      [`/events/${event.id}`, 'invoice.paid'],
      ['/webhooks', 'Webhooks'],
      [`/webhooks/${webhook.id}?tab=receiver`, 'x'.repeat(256)],
      ['/deliveries', 'Deliveries'],
      ['/event-types', 'Event types'],
      [`/event-types?type=invoice.${long}`, `invoice.${long}`],
      ['/audit', 'Audit log'],
      ['/webhooks/new', 'New webhook'],
    ] as const) {
      await visit(page, path, heading);
      await expect.poll(() => page.locator('.skeleton').count()).toBe(0);
      for (const width of widths) {
        await page.setViewportSize({ width, height: 740 });
        // A chart is drawn again only after its new width has been observed.
        const scrollWidth = () => page.evaluate('document.documentElement.scrollWidth');
        await expect.poll(scrollWidth, { message: `${path} at ${width}` }).toBe(width);
        const cells = page.locator('td:has(a.row-link)');
        const widths = await cells.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width));
        expect(Math.min(999, ...widths), `${path} at ${width}`).toBeGreaterThan(width === 320 ? 80 : 130);
        // The end of a name can be what tells it from others.
        const cut = await page
          .locator('.name', { hasText: alike })
          .evaluateAll((all) => all.filter((one) => one.scrollHeight > one.clientHeight).length);
        expect(cut, `${path} at ${width}`).toBe(0);
      }
      // The next view starts with the width that this one ends with, because each change draws the page again.
      widths.reverse();
    }
    // A name can be a part of the URL by chance.
    await page.goto(link(tenant.token, `/webhooks/${brief.id}`));
    await page.locator('.head').getByText(brief.url, { exact: true }).waitFor();
    // A name that is made from a long URL shows only a part of it.
    await page.goto(link(tenant.token, `/webhooks/${unnamed.id}`));
    await page.locator('.head').getByText(unnamed.url, { exact: true }).waitFor();
    expect(faults).toEqual([]);
  });

  it('shorten IDs in the middle or not at all, show all of a program, and send no token to an address that they guess', async () => {
    const actor = { type: 'user', id: 'TOK-01M7QHX8FW397G8DA5DVQ32KNQ' } as const;
    const tenant = await newTenant(service, { scopes, actor });
    const { webhook } = await tenant.connect();
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, '/events'));
    await page.getByText('curl "$PLATFORM_URL/platform/events"').waitFor();
    const name = page.locator('.side .foot b');
    expect(await name.getAttribute('title')).toBe(actor.id);
    expect(await name.innerText()).toBe('TOK-01M7…32KNQ');
    await visit(page, `/webhooks/${webhook.id}?tab=receiver`, webhook.url.replace('http://', ''));
    const program = page.locator('pre.program').first();
    await program.waitFor();
    expect(await program.evaluate((box) => box.scrollHeight - box.clientHeight)).toBe(0);

    await tenant.record();
    const [delivery] = await tenant.settled(webhook, 1);
    await visit(page, `/webhooks/${webhook.id}/deliveries/${delivery.id}`, 'invoice.paid');
    const id = page.locator('pre').getByText(delivery.id, { exact: true });
    await id.waitFor();
    // On a narrow screen, the ID does not fit next to the name of its header.
    await page.setViewportSize({ width: 340, height: 700 });
    const lineHeight = (await page.locator('pre .header-value').first().boundingBox())!.height;
    expect((await id.boundingBox())!.height).toBe(lineHeight);
    expect(faults).toEqual([]);
  });

  it('show what the address asks for, even if it no longer exists, and nothing that could not be loaded', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(500, { description: 'orders-eu', event_types: ['invoice.*'] });
    for (let count = 0; count < 20; count += 1) await tenant.record();
    await tenant.settled(webhook, 20);
    const { page, faults } = await watched();
    const chosen = page.getByRole('combobox', { name: 'Event type' });
    await page.goto(link(tenant.token, '/deliveries?state=gone'));
    await page.getByRole('button', { name: 'All', pressed: true, exact: true }).waitFor();
    await visit(page, '/deliveries?event_type=invoice.gone', 'Deliveries');
    await page.getByRole('heading', { name: 'No matching deliveries' }).waitFor();
    expect(await chosen.inputValue()).toBe('invoice.gone');
    // Only known types can be sent.
    await visit(page, `/webhooks/${webhook.id}?tab=test&test=invoice.gone`, 'orders-eu');
    await expect.poll(() => chosen.inputValue()).toMatch(/^invoice\.(?!gone)/);
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('Request and response').waitFor();

    await page.route('**/v1/stats*', (route) => route.fulfill({ status: 500, body: '{}' }));
    await page.route('**/v1/deliveries?*final=false*', (route) => route.fulfill({ status: 500, body: '{}' }));
    // Only a few rows are looked up at once, however many are on screen.
    const lookUps = { now: 0, most: 0, all: 0 };
    await page.route('**/v1/events/*/deliveries?*', async (route) => {
      lookUps.all += 1;
      lookUps.now += 1;
      lookUps.most = Math.max(lookUps.most, lookUps.now);
      const response = await route.fetch();
      lookUps.now -= 1;
      await route.fulfill({ response });
    });
    await visit(page, '/events', 'Events');
    await page.locator('tbody tr').first().waitFor();
    await expect.poll(() => page.locator('.chart').count()).toBe(0);
    await expect.poll(() => lookUps.all).toBeGreaterThan(3);
    expect(lookUps.most).toBeLessThan(4);
    await page.setViewportSize({ width: 1280, height: 400 });
    await page.evaluate('scrollTo(0, 300)');
    await page.getByRole('button', { name: 'Live', exact: true }).click();
    await page.getByRole('status').getByText('live').waitFor();
    expect(await page.evaluate('scrollY')).toBe(300);
    await page.unroute('**/v1/stats*');
    await visit(page, '', '1 webhook needs attention');
    await page.locator('.figure', { hasText: 'waiting to retry' }).getByText('–', { exact: true }).waitFor();

    // The service is ready, so this is about the request: it is repeated twice, then the reason is shown.
    let refused = 0;
    const refuse = (route: Route) => {
      refused += 1;
      const problem = {
        status: 503,
        code: 'unavailable',
        title: 'Unavailable',
        detail: 'Too many reads are in progress. Try again.',
      };
      const headers = {
        ...{ 'x-request-id': `REQ-${refused}`, 'content-type': 'application/problem+json' },
        'retry-after': '0',
      };
      return route.fulfill({ status: 503, headers, body: JSON.stringify(problem) });
    };
    await page.route('**/v1/audit-logs?*', refuse);
    const note = page.locator('.note');
    await visit(page, '/audit', 'Audit log');
    await note.getByText('Too many reads are in progress. Try again.', { exact: true }).waitFor();
    expect([refused, await page.locator('.banner').count()]).toEqual([3, 0]);
    await page.unroute('**/v1/audit-logs?*');
    await page.route('**/v1/audit-logs?*', refuse, { times: 1 });
    const accepted = page.waitForResponse(
      (response) => response.url().includes('/v1/audit-logs?') && response.ok(),
    );
    await note.getByRole('button', { name: 'Try again' }).click();
    await accepted;
    await note.waitFor({ state: 'hidden' });
    expect(refused).toBe(4);
    expect(unexpected(faults, /status of 50[03]/)).toEqual([]);
  });

  it('forget a selection of deliveries if another webhook is opened', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook: one } = await tenant.connect(500, { description: 'orders-eu' });
    const { webhook: other } = await tenant.connect(500, { description: 'orders-us' });
    await tenant.record();
    await tenant.settled(one, 1);
    await tenant.settled(other, 1);
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, `/webhooks/${other.id}`));
    await page.getByRole('heading', { name: 'orders-us' }).waitFor();
    await visit(page, `/webhooks/${one.id}`, 'orders-eu');
    await page.locator('tbody').getByRole('checkbox').check();
    await page.getByText('1 delivery selected').waitFor();
    await visit(page, `/webhooks/${other.id}`, 'orders-us');
    await page.getByText('1 delivery selected').waitFor({ state: 'hidden' });
    expect(faults).toEqual([]);
  });

  it('search deliveries in parts, and say how far back they have searched', async () => {
    const tenant = await newTenant(service, { scopes });
    const hidden = await hideDelivery(service, tenant, 700);
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, '/deliveries?event_type=task.created'));
    await page.getByRole('heading', { name: 'No match so far' }).waitFor();
    await page.getByText(/Searched back to \d/).waitFor();
    await expectAccessible(page, 'a search that stopped', 'main');
    await page.getByRole('button', { name: 'Search further' }).click();
    await page.getByRole('link', { name: 'task.created' }).waitFor();
    await page.getByText('1 delivery', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'task.created' }).click();
    await page.waitForURL((url) => url.pathname.endsWith(hidden.id));
    expect(faults).toEqual([]);
  });

  it('narrow the events to the part of the histogram that was dragged over', async () => {
    const tenant = await newTenant(service, { scopes });
    await tenant.record();
    await service.database.query({
      text: `insert into posthorn.event_counts values ($1, '', 60, date_trunc('hour', now()), 'invoice.paid', 7)`,
      values: [tenant.organization],
    });
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, '/events?range=24h'));
    const box = (await page.locator('.plot-area').boundingBox())!;
    await page.mouse.move(box.x + box.width * 0.25, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 10, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL((url) => url.searchParams.has('from') && url.searchParams.has('to'));
    const { searchParams } = new URL(page.url());
    const hours =
      (Date.parse(searchParams.get('to') ?? '') - Date.parse(searchParams.get('from') ?? '')) / 3_600_000;
    expect(hours).toBeGreaterThan(4);
    expect(hours).toBeLessThan(9);
    await page.getByText('No matching events').waitFor();
    expect(faults).toEqual([]);
  });

  it('disable a webhook and activate it again, and say why it is not active or that it is gone', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(200, { description: 'orders-eu' });
    const buttons = () => page.locator('.head .btn').allInnerTexts();
    const closed = await startReceiver({ onVerification: { status: 204 } });
    const { body } = await tenant.create({ url: closed.url, event_types: ['invoice.*'] });
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}`));
    await page.getByRole('button', { name: 'Disable…' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click();
    await page.getByText('This webhook is disabled.').waitFor();
    await page.getByText('Disabled', { exact: true }).waitFor();
    await expectAccessible(page, 'a disabled webhook', 'main');
    const refused = {
      code: 'internal',
      title: 'Internal error',
      detail: 'It failed.',
      request_id: 'req-verify',
    };
    const failure = { status: 500, json: { ...refused, request_id: 'req-activate' } };
    await page.route(`**/webhooks/${webhook.id}`, (route) => route.fulfill(failure), { times: 1 });
    await page.getByRole('button', { name: 'Activate' }).click();
    await page.getByRole('alert').getByText('req-activate').waitFor();
    await page.getByRole('button', { name: 'Activate' }).click();
    await page.getByText('Active', { exact: true }).waitFor();
    // The button to disable does not appear where another one was.
    expect(await buttons()).toEqual(['Pause…', 'Disable…', 'Replay…']);
    await visit(page, `/webhooks/${body.data.id}`, closed.url.replace('http://', ''));
    await page.getByText('Verification needs exactly 200, but the receiver responded with 204.').waitFor();
    await page
      .getByText(/receives no events until it is verified\. Posthorn tries again up to five times/)
      .waitFor();
    expect(await buttons()).toEqual(['Disable…', 'Verify now']);
    await expectAccessible(page, 'a webhook that is not verified', 'main');
    await page.route('**/verify', (route) => route.fulfill({ status: 500, json: refused }), { times: 1 });
    await page.getByRole('button', { name: 'Verify now' }).click();
    await page.getByRole('alert').getByText('req-verify').waitFor();
    await tenant.request('DELETE', `/v1/webhooks/${body.data.id}`);
    await page.getByRole('button', { name: 'Verify now' }).click();
    await page.getByRole('alert').getByText('The webhook does not exist').waitFor();
    await page.getByRole('button', { name: 'Verify now' }).waitFor({ state: 'detached' });
    expect(unexpected(faults, /status of (404|500)/)).toEqual([]);
  });

  it('show who changed what, and whether the chain of the audit log is intact', async () => {
    const tenant = await newTenant(service, { scopes, actor: { type: 'user', id: 'USR-grace' } });
    const { webhook } = await tenant.connect(200, { description: 'orders-eu' });
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { event_types: ['invoice.*'] });
    const event = await tenant.record();
    const [delivery] = await tenant.settled(webhook, 1);
    await tenant.data('POST', `/v1/webhooks/${webhook.id}/deliveries/${delivery.id}/redeliver`);
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, `/audit?target_id=${webhook.id}`));
    const entry = page.locator('.entry').filter({ hasText: 'USR-grace changed orders-eu: event_types' });
    await entry.locator('summary').click();
    expect(await entry.locator('del').textContent()).toContain('*');
    expect(await entry.locator('ins').textContent()).toContain('invoice.*');
    await page.getByText('Chain intact').waitFor();
    await page.getByText('All 3 entries are unaltered.').waitFor();
    const links = page.locator('.entry').filter({ hasText: 'webhook.redelivered' }).locator('ins a');
    expect(await links.evaluateAll((all) => all.map((one) => one.getAttribute('href')))).toEqual(
      expect.arrayContaining([
        `/console/events/${event.id}`,
        `/console/webhooks/${webhook.id}/deliveries/${delivery.id}`,
      ]),
    );
    await tamper(
      service.databaseUrl,
      `update posthorn.audit_log set actor_id = 'USR-eve' where organization_id = '${tenant.organization}' and position = 1`,
    );
    await page.reload();
    await page.getByText('The chain is broken. An entry was altered.').waitFor();
    await expectAccessible(page, 'a broken chain', 'main');
    expect(faults).toEqual([]);
  });

  it('explain an event type, and send it as a test', async () => {
    const tenant = await newTenant(service, { scopes });
    const { receiver } = await tenant.connect(
      { status: 200, body: 'x'.repeat(1_100) },
      { description: 'orders-eu' },
    );
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, '/event-types'));
    await page.getByRole('searchbox', { name: 'Filter event types' }).fill('voided');
    await page.getByRole('link', { name: 'invoice.voided' }).click();
    await page.getByRole('heading', { name: 'invoice.voided' }).waitFor();
    await page.getByRole('cell', { name: 'previous_status' }).waitFor();
    const [one, other] = [
      await tenant.connect(200, { description: 'crm' }),
      await tenant.connect(200, { description: 'crm' }),
    ];
    await page.reload();
    // Webhooks with the same name are told apart by their hosts.
    const names = [one, other].map(({ webhook }) => `crm (${new URL(webhook.url).host})`);
    const to = page.getByLabel('Send as a test to');
    await expect
      .poll(() => to.locator('option').allInnerTexts())
      .toEqual(expect.arrayContaining([...names, 'orders-eu']));
    await to.selectOption({ label: 'orders-eu' });
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText(/The receiver responded with 200 in/).waitFor();
    expect(receiver.deliveries.last.envelope).toMatchObject({ type: 'invoice.voided', test: true });
    await page.getByRole('heading', { name: 'invoice.voided' }).waitFor();
    // A response that was cut does not look as if the receiver had sent no more.
    const cut = page.getByText('First 1 KiB of the body. No more than that is stored.');
    await cut.waitFor();
    receiver.onDelivery = { status: 200, body: 'x'.repeat(900) };
    await page.getByRole('button', { name: 'Send a test' }).click();
    await cut.waitFor({ state: 'hidden' });
    await page.getByText('x'.repeat(900), { exact: true }).waitFor();
    expect(faults).toEqual([]);
  });

  it('show whose token it is, and remember the time zone and the theme', async () => {
    const tenant = await newTenant(service, { scopes: ['events:read', 'webhooks:read', 'webhooks:write'] });
    const { webhook } = await tenant.connect(200);
    const event = await tenant.record();
    await eventually(
      () => tenant.data('GET', '/v1/stats'),
      ({ totals }) => totals.delivered === 1,
    );
    const { page, faults } = await watched();
    const devTools = await page.context().newCDPSession(page);
    onTestFinished(() => devTools.detach());
    await devTools.send('Emulation.setTimezoneOverride', { timezoneId: 'Asia/Tokyo' });
    await page.goto(link(tenant.token, '?range=30d'));
    // The days of a chart are days in UTC, so their labels are where their bars are.
    for (const at of await labelsInBars(page)) expect(at).toBeCloseTo(Math.round(at), 1);
    await visit(page, '/token', 'This token');
    await page.getByText(tenant.organization).first().waitFor();
    const rights = page.locator('.facts-row');
    expect(await rights.filter({ hasText: 'events:read' }).first().textContent()).toContain('yes');
    expect(await rights.filter({ hasText: 'audit:read' }).textContent()).toContain('no');
    await page.getByRole('button', { name: 'Local time' }).click();
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('button', { name: 'Dark' }).click();
    await page.goto(`${service.publicUrl}/console/events/${event.id}`);
    const shown = await page.locator('dd time').first().textContent();
    await expect.poll(() => page.title()).toBe('invoice.paid · Events · Posthorn');
    expect(shown).toContain(event.created_at.slice(11, 19));
    expect(shown).toContain('UTC');
    expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('dark');
    const query = 'from=2026-11-16T20:00:00.000Z&to=2026-11-16T22:00:00.000Z';
    await visit(page, `/webhooks/${webhook.id}/replay?${query}`, 'Replay events');
    const [inUtc, inLocal] = [page.getByLabel('From (UTC)'), page.getByLabel('From (local time)')];
    expect(await inUtc.inputValue()).toBe('2026-11-16T20:00');
    await inUtc.fill('2026-11-16T19:00');
    await page.waitForURL((url) => url.searchParams.get('from') === '2026-11-16T19:00:00.000Z');
    await page.getByRole('button', { name: 'UTC', exact: true }).click();
    await expect.poll(() => inLocal.inputValue()).toBe('2026-11-17T04:00');
    await inLocal.fill('2026-11-17T03:00:07');
    await page.waitForURL((url) => url.searchParams.get('from') === '2026-11-16T18:00:07.000Z');
    // At the end of daylight saving time, an hour comes twice: the field stays in the one that it shows.
    await devTools.send('Emulation.setTimezoneOverride', { timezoneId: 'Europe/Berlin' });
    for (const hour of ['00', '01']) {
      const range = `from=2026-10-25T${hour}:30:00.000Z&to=2026-10-25T03:00:00.000Z`;
      await visit(page, `/webhooks/${webhook.id}/replay?${range}`, 'Replay events');
      await expect.poll(() => inLocal.inputValue()).toBe('2026-10-25T02:30');
      await inLocal.fill('2026-10-25T02:30:05');
      await page.waitForURL((url) => url.searchParams.get('from') === `2026-10-25T${hour}:30:05.000Z`);
      // The view follows the address a little later. Before it does, the next address would look like this one.
      await page.getByText(':30:05.000').waitFor();
    }
    expect(faults).toEqual([]);
  });

  it('show a problem in the words of the API, with the request to report', async () => {
    const tenant = await newTenant(service, { scopes });
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, '/events/EVT-01ARZ3NDEKTSV4RRFFQ69G5FAV'));
    const note = page.getByRole('alert');
    await note.getByText('The event does not exist').waitFor();
    const responded = await tenant.request('GET', '/v1/events/EVT-01ARZ3NDEKTSV4RRFFQ69G5FAV');
    expect(await note.textContent()).toContain(responded.body.detail);
    expect(await note.locator('code').textContent()).toMatch(/^[\w.-]{8,}$/);
    await page
      .getByRole('navigation', { name: 'Breadcrumb' })
      .getByRole('link', { name: 'Events' })
      .waitFor();
    await expectAccessible(page, 'a problem', 'main');
    // Where nothing is loading any more, nothing looks as if it were.
    await page.route(/\/v1\/(webhooks|stats)\?/, (route) => route.fulfill({ status: 500, body: '{}' }));
    await page.goto(`${service.publicUrl}/console`);
    await page.getByRole('alert').nth(1).waitFor();
    expect(await page.locator('.skeleton').count()).toBe(0);
    expect(unexpected(faults, /status of (404|500)/)).toEqual([]);
  });

  it('show the start of a long payload, and more of it on request', async () => {
    const tenant = await newTenant(service, { scopes });
    const text = 'x'.repeat(50);
    const lines = Array.from({ length: 1_000 }, (_, index) => ({ text, line: index }));
    const event = await tenant.record({ payload: { id: 'INV-1', lines } });
    const { page, faults } = await watched();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(link(tenant.token, `/events/${event.id}`));
    const payload = page.locator('pre');
    await payload.getByText(/^Showing 50,000 of \d\d,\d{3} characters/).waitFor();
    expect(await payload.textContent()).not.toContain('999');
    await page.getByRole('button', { name: 'Copy the payload' }).click();
    await expect.poll(() => clipboard(page)).toMatch(/999}\]}$/);
    await payload.getByRole('button', { name: 'Show more' }).click();
    await payload.getByText('999', { exact: true }).waitFor();
    expect(await payload.getByRole('button').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it('say so if no event can match, because there is no such type', async () => {
    const tenant = await newTenant(service, { scopes });
    await tenant.record();
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, '/events?type=invoice.*'));
    await page.getByText('There is no event type invoice.*.').waitFor();
    await visit(page, '/events?type=invoice.payd', 'Events');
    await page.getByText('There is no event type invoice.payd. Did you mean invoice.paid?').waitFor();
    await page.getByRole('link', { name: 'invoice.paid' }).click();
    await page.waitForURL((url) => url.searchParams.get('type') === 'invoice.paid');
    await page.getByRole('cell', { name: 'invoice.paid' }).first().waitFor();
    await visit(page, '/deliveries?event_type=invoice.payed', 'Deliveries');
    await page.getByText('There is no event type invoice.payed.').waitFor();
    await visit(page, '/deliveries?event_type=invoice.paid', 'Deliveries');
    await page.getByText('Choose a longer range, or remove a filter.').waitFor();
    await visit(page, '/event-types?type=invoice.payed', 'Event types');
    await page.getByText('There is no event type invoice.payed.').waitFor();
    expect(faults).toEqual([]);
  });

  it('lead from a delivery that was given up to the one that was sent later and counts, and say so if it was never sent', async () => {
    const tenant = await newTenant(service, { scopes });
    const { receiver, webhook } = await tenant.connect(500);
    await tenant.record();
    const [delivery] = await tenant.settled(webhook);
    // Disabling a webhook ends what waits for it.
    for (const status of ['disabled', 'active'])
      await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { status });
    const path = `/webhooks/${webhook.id}/deliveries/${delivery.id}`;
    const { page, faults } = await watched();
    await page.goto(link(tenant.token, path));
    await page.getByText('Given up').waitFor();
    await page.getByText('The webhook was disabled, so there will be no further attempts.').waitFor();
    await page.locator('.note', { hasText: 'Then the webhook was disabled.' }).getByRole('link').waitFor();
    receiver.onDelivery = 200;
    const again = await tenant.data('POST', `/v1${path}/redeliver`);
    await tenant.settled(webhook, 2);
    await page.reload();
    await page.getByText('Sent again').waitFor();
    await page.getByRole('link', { name: 'Open the newer delivery' }).click();
    await page.waitForURL((url) => url.pathname.endsWith(again.id));
    await page.getByText('Delivered: the receiver responded with 200').waitFor();
    await visit(page, '/events', 'Events');
    // Its newest event is about the webhook itself, which does not receive it.
    const reached = () => page.locator('tbody td:last-child').allTextContents();
    await expect.poll(reached).toEqual(['', '1 of 1']);
    // Rows of the same minute can be told apart, and a phone has room for the outcome, too.
    expect(await page.locator('tbody td:first-child').first().innerText()).toMatch(/^\d\d:\d\d:\d\d$/);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.locator('tbody').getByText('delivered 1 of 1').waitFor();
    await page.setViewportSize({ width: 1280, height: 860 });
    // Even if there are too many deliveries to find all those of the page.
    const cut = { data: [], meta: { cursor: 'next', has_more: true } };
    await page.route('**/v1/deliveries?*', (route) => route.fulfill({ json: cut }));
    await page.reload();
    await expect.poll(reached).toEqual(['', '1 of 1']);
    await page.unroute('**/v1/deliveries?*');
    // Unknown does not look like none.
    await page.route('**/v1/deliveries?*', (route) => route.fulfill({ status: 500, body: '{}' }));
    await page.reload();
    await expect.poll(reached).toEqual(['–', '–']);
    await page.unroute('**/v1/deliveries?*');

    // With one request per second, the last of many is still waiting when the webhook is disabled.
    const paced = await tenant.webhook(receiver, { event_types: ['task.created'], rate_limit: 1 });
    const waiting = event({ organization_id: tenant.organization, type: 'task.created' });
    const recorded = await record(service, ...Array<unknown>(20).fill(waiting));
    await tenant.data('PATCH', `/v1/webhooks/${paced.id}`, { status: 'disabled' });
    const last = recorded.at(-1)!.id;
    await eventually(
      () => tenant.data('GET', `/v1/events/${last}/deliveries`),
      (all) => all.every(({ final }: { final: boolean }) => final),
    );
    await page.goto(`${service.publicUrl}/console/events/${last}`);
    const row = page.locator('.way li', { hasText: 'Given up' }).filter({ hasText: 'Webhook disabled' });
    await row.getByRole('link').click();
    await page.getByText('Not sent: the webhook was disabled before the first attempt.').waitFor();
    await page.getByText('Request (not sent)').waitFor();
    // The console does not have the secret, so it says which command signs the event.
    await page.getByText('Send this again with a signature').click();
    await page.getByText(`node posthorn.mjs trigger ${last} --to '${receiver.url}' --secret`).waitFor();
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByText('Copied the curl command, which has no signature.').waitFor();
    await page.getByText('Signature headers are not shown here.').waitFor();
    await page.getByText('The webhook was disabled, so no attempts will be made.').waitFor();
    expect(unexpected(faults, /status of 500/)).toEqual([]);
  });

  it('redeliver a delivery as often as asked, also if the response to a request was lost', async () => {
    const tenant = await newTenant(service, { scopes });
    const { receiver, webhook } = await tenant.connect(500);
    await tenant.record();
    const [delivery] = await tenant.settled(webhook, 1);
    const path = `/webhooks/${webhook.id}/deliveries/${delivery.id}`;
    const attempted = (count: number) => tenant.settled(webhook, 1, ({ attempts }) => attempts === count);
    const { page, faults } = await watched();
    // The response to the first request of each view is lost, and the last request fails.
    let requests = 0;
    await page.route('**/redeliver', async (route) => {
      requests += 1;
      if (requests === 1 || requests === 3) {
        await route.fetch();
        await attempted(requests + 1);
        await route.abort('connectionreset');
      } else if (requests === 4) await route.fulfill({ status: 500, body: '{}' });
      else await route.continue();
    });
    await page.goto(link(tenant.token, '/deliveries'));
    const select = page.getByLabel('Select all deliveries shown');
    const inDialog = page.getByRole('alertdialog');
    await select.check();
    await pressKey(page, 'r');
    await inDialog.getByRole('button', { name: 'Redeliver' }).click();
    await inDialog.getByText('1 delivery may be on the way.').waitFor();
    await inDialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('cell', { name: '2', exact: true }).waitFor();
    await pressKey(page, 'r');
    await inDialog.getByRole('button', { name: 'Redeliver' }).click();
    await page.getByText('1 delivery is on the way.').waitFor();
    await attempted(3);
    await visit(page, path, 'invoice.paid');
    await page.getByRole('button', { name: /^Attempt 3/ }).waitFor();
    await pressKey(page, 'r');
    await attempted(4);
    await page.getByRole('button', { name: /^Attempt 4/ }).waitFor();
    expect(receiver.deliveries.count).toBe(4);
    // The page shows that the attempt was made. The next request is another one.
    expect(await page.getByText('The action may have taken effect.').count()).toBe(0);
    await pressKey(page, 'r');
    await page.getByRole('alert').waitFor();
    await pressKey(page, 'r');
    await page.getByText('An extra attempt is being made now.').waitFor();
    await attempted(5);
    expect(unexpected(faults, /net::ERR_|status of 500/)).toEqual([]);
  });

  it('say when an attempt was due, and that a delivery waits until its webhook is verified', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(
      { status: 500, headers: { server: 'nginx' } },
      { description: 'orders-eu' },
    );
    const event = await tenant.record();
    const [delivery] = await tenant.settled(webhook, 1);
    const { page, faults } = await watched();
    let next: string | null = new Date().toISOString();
    const wait = async (route: Route) => {
      const response = await route.fetch();
      const { data, ...rest } = await response.json();
      const changed = [data].flat().map((one) => ({ ...one, next_attempt_at: next }));
      await route.fulfill({ response, json: { ...rest, data: Array.isArray(data) ? changed : changed[0] } });
    };
    await page.route(/\/deliveries/, (route) =>
      route.request().resourceType() === 'fetch' ? wait(route) : route.fallback(),
    );
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}`));
    await page.getByRole('cell', { name: /^due \d\d:/ }).waitFor();
    // A list with an attempt that is due is read again, without live mode.
    next = '2026-11-16T10:00:00.000Z';
    await page.getByRole('cell', { name: /^due 16 Nov/ }).waitFor();
    const around = page.getByText('Look at its logs around').locator('time').first();
    expect(await around.getAttribute('title')).toMatch(/^\d+ \w+ \d{4} [\d:]{8} UTC$/);
    next = null;
    const earlier = 'from=2026-11-01T00:00:00.000Z&to=2026-11-02T00:00:00.000Z';
    await visit(page, `/webhooks/${webhook.id}?tab=activity&${earlier}`, 'orders-eu');
    await page.getByRole('heading', { name: 'No attempts in this time range' }).waitFor();
    await visit(page, `/webhooks/${webhook.id}/deliveries/${delivery.id}`, 'invoice.paid');
    await page.getByText('This delivery is waiting until the webhook is active.').waitFor();
    await page.getByText('when the webhook is active', { exact: true }).waitFor();
    await page.getByText('The response had no body.').waitFor();
    await page.getByRole('link', { name: 'Open the webhook' }).waitFor();
    await visit(page, `/events/${event.id}`, 'invoice.paid');
    await page.getByRole('link', { name: 'waiting for the webhook' }).waitFor();
    await visit(page, '/deliveries', 'Deliveries');
    await page.getByLabel('Select all deliveries shown').check();
    await pressKey(page, 'r');
    const dialog = page.getByRole('alertdialog', { name: 'Nothing to redeliver' });
    await dialog
      .getByText('1 selected delivery is skipped: it is waiting until its webhook is active.')
      .waitFor();
    expect(await dialog.getByRole('button').allInnerTexts()).toEqual(['Close']);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('link', { name: 'waiting for the webhook' }).click();
    await page.getByRole('heading', { name: 'orders-eu' }).waitFor();
    expect(faults).toEqual([]);
  });
});

/** Returns where the labels below the bars of a chart are: 2 is where the third bar starts. */
async function labelsInBars(page: Page): Promise<number[]> {
  const plot = page.locator('.plot');
  await plot.locator('.x-ticks span').first().waitFor();
  const bars = Number(await plot.getAttribute('aria-valuemax')) + 1;
  return plot
    .locator('.x-ticks')
    .evaluate(
      (ticks: HTMLElement, count) =>
        [...ticks.children].map((tick) => ((tick as HTMLElement).offsetLeft / ticks.offsetWidth) * count),
      bars,
    );
}
