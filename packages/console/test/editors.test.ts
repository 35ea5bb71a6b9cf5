import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { startReceiver } from '../../server/test/support/receiver.js';
import { sharedService } from '../../server/test/support/service.js';
import { newTenant } from '../../server/test/support/tenant.js';
import { expectAccessible } from './support/axe.js';
import { describeInBrowser, unexpected, visit } from './support/browser.js';

const scopes = ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'] as const;
const invoice = (id: string, currency: string, amount: number) => ({
  type: 'invoice.paid',
  subject: { type: 'invoice', id },
  payload: { id, currency, amount_minor: amount },
});

describeInBrowser('the editors of a webhook', async (open) => {
  const service = await sharedService();
  const link = (token: string, path = '') => `${service.publicUrl}/console${path}#token=${token}`;
  const editor = (page: Page) => page.getByRole('dialog');
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

  it('make a filter by clicking on values, show what it would have let through, and create the webhook with it', async () => {
    const tenant = await newTenant(service, { scopes });
    const receiver = await startReceiver({});
    await tenant.record(invoice('INV-1', 'EUR', 50_000));
    await tenant.record(invoice('INV-2', 'USD', 250_000));
    await tenant.record(invoice('INV-3', 'EUR', 250_000));
    await tenant.record({
      type: 'task.created',
      subject: { type: 'task', id: 'TSK-1' },
      payload: { id: 'TSK-1', title: 'x' },
    });
    const { page, faults } = await open(service.publicUrl);
    await page.goto(link(tenant.token, '/webhooks/new?event_type=invoice.paid'));
    await page.getByLabel('URL').fill(receiver.url);
    await press(page, 'Add a filter…');
    await editor(page).getByText('3 events of the last 24 h would have been sent.').waitFor();
    await editor(page).locator('.previewed').getByRole('button', { name: 'INV-3' }).click();
    await editor(page).getByRole('button', { name: 'Add a condition on payload.currency' }).click();
    await editor(page).getByText('2 of 3 events of the last 24 h would have been sent.').waitFor();
    await editor(page).getByRole('button', { name: 'Add a condition on payload.amount_minor' }).click();
    await editor(page).getByLabel('Operator for payload.amount_minor').selectOption('is at least');
    await editor(page).getByLabel('Number for payload.amount_minor').fill('100000');
    await editor(page).getByText('1 of 3 events of the last 24 h would have been sent.').waitFor();
    expect(await editor(page).locator('.previewed').innerText()).toMatch(/invoice\.paid\s+INV-3$/);
    await press(page, 'All');
    expect(await editor(page).locator('.previewed .tag').allInnerTexts()).toEqual([
      'Sent',
      'Filtered out',
      'Filtered out',
    ]);
    await expectAccessible(page, 'the filter editor', '[role="dialog"]');
    await press(page, 'JSON');
    expect(JSON.parse(await editor(page).getByLabel('Filter as JSON').inputValue())).toEqual({
      payload: { currency: ['EUR'], amount_minor: [{ gte: 100_000 }] },
    });
    await press(page, 'Done');
    expect(await page.locator('.filter-words li').allInnerTexts()).toEqual([
      'payload.currency is EUR',
      'payload.amount_minor is at least 100000',
    ]);
    await press(page, 'Create and verify');
    await page.getByText('Active', { exact: true }).waitFor();
    const [webhook] = await tenant.data('GET', '/v1/webhooks');
    expect(webhook.filter).toEqual({ payload: { currency: ['EUR'], amount_minor: [{ gte: 100_000 }] } });
    const small = await tenant.record(invoice('INV-4', 'EUR', 1));
    await tenant.record(invoice('INV-5', 'EUR', 300_000));
    await tenant.settled(webhook, 1, ({ status }) => status === 'success');
    await visit(page, `/events/${small.id}`, 'invoice.paid');
    await page.getByText('filtered out').waitFor();
    expect(faults).toEqual([]);
  });

  it('show what is wrong with a filter where it is typed, and close on the way back', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(200, { description: 'orders-eu' });
    const { page, faults } = await open(service.publicUrl);
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}?tab=settings`));
    await press(page, 'Add a filter…');
    await page.waitForURL((url) => url.searchParams.get('edit') === 'filter');
    await press(page, 'Add a condition');
    const field = editor(page).getByLabel('Field');
    await field.fill('amount_minor');
    await page.keyboard.press('Tab');
    expect(await field.inputValue()).toBe('payload.amount_minor');
    await editor(page).getByText('Not used yet').waitFor();
    await editor(page).getByLabel('Operator for payload.amount_minor').selectOption('is at most');
    await editor(page).getByLabel('Number for payload.amount_minor').fill('9007199254740993000');
    await editor(page).locator('.condition').getByText('must be a number between').waitFor();
    await press(page, 'JSON');
    const json = editor(page).getByLabel('Filter as JSON');
    await json.fill('{"payload": ');
    await editor(page).getByText('This is not JSON').waitFor();
    await json.fill('{"payload": {"amount": [{"over": 5}]}}');
    await editor(page).getByText('payload/amount/0/over').waitFor();
    await expectAccessible(page, 'a filter with a fault', '[role="dialog"]');
    await page.evaluate('history.back()');
    await editor(page).waitFor({ state: 'hidden' });
    await press(page, 'Save');
    await page.locator('.form .fault').getByText('is not a known condition').waitFor();
    expect(unexpected(faults, /status of 422/)).toEqual([]);
  });

  it('start a template for Slack, show the body as it arrives, and send it', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook, receiver } = await tenant.connect(200, { description: 'orders-eu' });
    await tenant.record(invoice('INV-1', 'EUR', 50_000));
    await tenant.record(invoice('INV-2', 'USD', 70_000));
    const { page, faults } = await open(service.publicUrl);
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}?tab=settings`));
    await press(page, 'Edit the body…');
    const body = editor(page).locator('.preview pre');
    await body.getByText('"amount_minor"').waitFor();
    for (const [format, start] of [
      ['CloudEvents', '"specversion": "1.0"'],
      ['Chat text', '"invoice.paid: invoice INV-2'],
    ] as const) {
      await press(page, format);
      await body.getByText(start).waitFor();
    }
    await press(page, 'Template');
    await press(page, 'Slack');
    await body.getByText('"amount_minor: 70000"').waitFor();
    await editor(page).getByLabel('For the event').selectOption({ index: 1 });
    await body.getByText('"amount_minor: 50000"').waitFor();
    const template = editor(page).getByLabel('Template as JSON');
    await template.evaluate((area: HTMLTextAreaElement) => {
      const at = area.value.indexOf('currency: ');
      area.setSelectionRange(at, at);
    });
    await editor(page).getByRole('button', { name: 'Insert payload.id:' }).click();
    await body.getByText('"INV-1currency: EUR"').waitFor();
    await page.keyboard.press('Control+z');
    await body.getByText('"currency: EUR"').waitFor();
    await expectAccessible(page, 'the template editor', '[role="dialog"]');
    await press(page, 'Done');
    await press(page, 'Save');
    await page.locator('.traits').getByText('Body: Template').waitFor();
    await tenant.record(invoice('INV-3', 'CHF', 900));
    const { envelope: arrived } = await receiver.deliveries.nth(3);
    expect(arrived.blocks[1].fields[1].text).toBe('currency: CHF');
    expect(faults).toEqual([]);
  });

  it('build a template by clicking on values, and show its faults at their lines', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(200, { description: 'orders-eu' });
    await tenant.record(invoice('INV-1', 'EUR', 50_000));
    const { page, faults } = await open(service.publicUrl);
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}?tab=settings&edit=body`));
    await press(page, 'Template');
    for (const name of ['subject.id', 'payload.currency', 'payload'])
      await editor(page)
        .getByRole('button', { name: `Insert ${name}:` })
        .click();
    const template = editor(page).getByLabel('Template as JSON');
    expect(JSON.parse(await template.inputValue())).toEqual({
      id: '{{subject.id}}',
      currency: '{{payload.currency}}',
      payload: '{{payload}}',
    });
    await editor(page).locator('.preview pre').getByText('"payload": {').waitFor();
    await template.fill('{\n  "id": "{{subject.id}}",\n  "a": ["x", "{{subject..id}}"]\n}');
    await editor(page).getByText('a/1 must contain only placeholders').waitFor();
    expect(await editor(page).locator('.json .fault').innerText()).toBe('3');
    await expectAccessible(page, 'a template with a fault', '[role="dialog"]');
    await press(page, 'Start again');
    expect(await template.inputValue()).toBe('');
    await page.keyboard.press('Control+z');
    await press(page, 'Line 3');
    await page.keyboard.type('  "a": "{{subject.id}}",');
    await editor(page).getByText('This is not JSON').waitFor();
    expect(await editor(page).locator('.json .fault').innerText()).toBe('4');
    await press(page, 'Done');
    await press(page, 'Save');
    await page.locator('.form .fault').getByText('must be').waitFor();
    expect(unexpected(faults, /status of 422/)).toEqual([]);
  });

  it('pause a webhook, show what waits, and send it when the webhook is resumed', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(200, { description: 'orders-eu' });
    const { page, faults } = await open(service.publicUrl);
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}`));
    await press(page, 'Pause…');
    const dialog = page.getByRole('alertdialog');
    await dialog.getByText('what waits is sent, oldest first').waitFor();
    await expectAccessible(page, 'the pause of a webhook', '[role="alertdialog"]');
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('This webhook is paused: nothing is sent.').waitFor();
    await page.getByText('No deliveries are waiting so far.').waitFor();
    await expectAccessible(page, 'a paused webhook', 'main');
    const event = await tenant.record();
    await visit(page, `/events/${event.id}`, 'invoice.paid');
    await page.getByRole('link', { name: 'waiting for the webhook' }).click();
    await page.getByText('1 delivery waits, and new events add to it.').waitFor();
    for (const [path, heading] of [
      ['/webhooks', 'Webhooks'],
      ['', 'No webhook is active'],
    ] as const) {
      await visit(page, path, heading);
      await page.getByText('Paused', { exact: true }).filter({ visible: true }).waitFor();
    }
    await visit(page, `/webhooks/${webhook.id}`, 'orders-eu');
    await press(page, 'Resume');
    await page.getByText('Resumed: what was waiting is sent now.').waitFor();
    await tenant.settled(webhook, 1, ({ status }) => status === 'success');
    expect(faults).toEqual([]);
  });

  it('give a webhook waits between its attempts and a time to be deleted, in plain words', async () => {
    const tenant = await newTenant(service, { scopes });
    const { webhook } = await tenant.connect(500, { description: 'orders-eu' });
    const { page, faults } = await open(service.publicUrl);
    await page.goto(link(tenant.token, `/webhooks/${webhook.id}?tab=settings`));
    await page.getByText('Headers, rate limit, retries, expiry').click();
    await page.getByText('5 attempts over 10 h: at once, then after 1 h, 2 h, 3 h and 4 h.').waitFor();
    const waits = page.getByLabel('Waits between attempts');
    await waits.fill('30s, 10 minutes');
    await page.getByText('10minutes is not a wait.').waitFor();
    await waits.fill('30s, 10 min 6h');
    await page.getByText('4 attempts over 6 h 10 min: at once, then after 30 s, 10 min and 6 h.').waitFor();
    const end = page.getByLabel('Expires at');
    await end.fill('2020-01-31T12:00');
    await page.getByText('This time has passed.').waitFor();
    await expectAccessible(page, 'an expiry in the past', '.form');
    const day = new Date(Date.now() + 46.5 * 86_400_000).toISOString().slice(0, 10);
    await end.fill(`${day}T12:00`);
    await page.getByText(/The webhook is deleted in 4\d d, on .* 12:00:00 /).waitFor();
    await press(page, 'Save');
    const traits = page.locator('.traits');
    await traits.getByText('4 attempts over 6 h 10 min').waitFor();
    await traits.getByText(/^Deletes itself in 4\d d$/).waitFor();
    await expectAccessible(page, 'what is special about a webhook', '.head');
    expect(await tenant.data('GET', `/v1/webhooks/${webhook.id}`)).toMatchObject({
      retry_schedule: ['30s', '10m', '6h'],
      expires_at: new Date(`${day}T12:00`).toISOString(),
    });
    await tenant.record();
    const [delivery] = await tenant.settled(webhook, 1, ({ attempts }) => attempts === 1);
    await visit(page, `/webhooks/${webhook.id}/deliveries/${delivery.id}`, 'invoice.paid');
    await page.locator('.tape .open').nth(2).waitFor();
    expect(await page.locator('.tape .open').count()).toBe(3);
    await visit(page, `/webhooks/${webhook.id}?tab=settings`, 'orders-eu');
    await waits.fill('');
    await press(page, 'Keep it');
    await press(page, 'Save');
    await traits.waitFor({ state: 'hidden' });
    expect(faults).toEqual([]);
  });

  it('create a webhook disabled, without a request to its receiver', async () => {
    const tenant = await newTenant(service, { scopes });
    const receiver = await startReceiver({});
    const { page, faults } = await open(service.publicUrl);
    await page.goto(link(tenant.token, '/webhooks/new?event_type=invoice.paid'));
    await page.getByLabel('URL').fill(receiver.url);
    // The sample is what the receiver will get.
    const sampleOf = async (format: string) => {
      const sample = page.locator('.box', { hasText: `Request body (${format}) · invoice.paid` });
      return JSON.parse(await sample.locator('pre').innerText());
    };
    expect(Object.keys(await sampleOf('Envelope'))).toEqual([
      ...['id', 'type', 'created_at', 'organization_id', 'workspace_id', 'data'],
    ]);
    await page.getByText('The code beside this form verifies').waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByText('The code below this form verifies').waitFor();
    await press(page, 'Edit the body…');
    await press(page, 'Thin');
    await editor(page).getByText('There is no event that this webhook would get').waitFor();
    await press(page, 'Done');
    expect(Object.keys(await sampleOf('Thin'))).toEqual([
      ...['id', 'type', 'organization_id', 'workspace_id', 'actor', 'subject', 'created_at'],
    ]);
    await page.setViewportSize({ width: 1280, height: 860 });
    await page.getByLabel('Create it disabled').check();
    await press(page, 'Create disabled');
    await page.getByText('Disabled', { exact: true }).waitFor();
    await page.locator('.traits').getByText('Body: Thin').waitFor();
    expect(receiver.verifications.all).toEqual([]);
    await press(page, 'Activate');
    await page.getByText('Active', { exact: true }).waitFor();
    expect(receiver.verifications.all).toHaveLength(1);
    expect(faults).toEqual([]);
  });
});
