import { describe, expect, it } from 'vitest';
import { type MissingWebhook, whyNotDelivered } from '../../src/deliveries/not-delivered.js';
import { sharedService } from '../support/service.js';
import { newTenant } from '../support/tenant.js';

const at = new Date('2026-11-15T09:30:00Z');
const later = new Date('2026-11-15T09:31:00Z');
const event = {
  ...{ type: 'invoice.paid', workspace_id: 'WS-1', subject_id: 'INV-1', created_at: at, payload: '{}' },
};
const webhook: MissingWebhook = {
  ...{ id: 'WHK-1', workspace_id: null, status: 'active', disabled_reason: null, event_types: ['*'] },
  ...{ created_at: new Date(0), passes_filter: true },
};
const givenUpWebhookEvent = {
  ...{ ...event, type: 'webhook.delivery_failed', subject_id: 'WHK-2' },
  payload: '{"event_type":"webhook.disabled"}',
};

describe('a webhook that got no delivery of an event', () => {
  it.each<[string, Partial<MissingWebhook>, Partial<typeof event>, RegExp]>([
    [
      'disabled',
      { status: 'disabled', disabled_reason: 'gone' },
      {},
      /disabled \(because .* 410\)\. Activate/,
    ],
    ['unverified', { status: 'unverified' }, {}, /Verify it, then replay/],
    ['unverified', {}, {}, /active and matches the event now\. When the event was recorded,/],
    [
      'not_subscribed',
      { event_types: ['a.b', 'c.*', 'd.e', 'f.g'] },
      {},
      /only to a\.b, c\.\*, d\.e and 1 more\.$/,
    ],
    [
      'not_subscribed',
      { event_types: ['task.*'], created_at: later, status: 'disabled' },
      {},
      /invoice\.paid/,
    ],
    ['other_workspace', { workspace_id: 'WS-2' }, {}, /only events of WS-2\. This event is of WS-1\.$/],
    [
      'other_workspace',
      { workspace_id: 'WS-2' },
      { workspace_id: null! },
      /concerns the whole organization\.$/,
    ],
    ['filtered', { passes_filter: false, created_at: later }, {}, /filter of the webhook does not match/],
    ['created_later', { created_at: later, status: 'disabled' }, {}, /A replay sends the event\.$/],
    ['about_itself', {}, { type: 'webhook.disabled', subject_id: 'WHK-1' }, /no events about itself/],
    ['about_itself', {}, givenUpWebhookEvent, /goes to no webhook/],
  ])('is told why: %s', (reason, webhookFields, eventFields, detail) => {
    const told = whyNotDelivered({ ...event, ...eventFields }, { ...webhook, ...webhookFields });
    expect(told).toEqual({ webhook_id: 'WHK-1', reason, detail: expect.stringMatching(detail) });
  });
});

/** So that no webhook gets the events about the others. */
const invoices = { event_types: ['invoice.*'] };

describe('GET /v1/events/{event_id}/deliveries', () => {
  it('says in meta.not_delivered why each other webhook that the token sees got no delivery', async () => {
    const service = await sharedService();
    const tenant = await newTenant(service);
    const { webhook: reached } = await tenant.connect(200, invoices);
    const { webhook: elsewhere } = await tenant.connect(200, { workspace_id: 'WS-2' });
    const { webhook: uninterested } = await tenant.connect(200, { event_types: ['task.*'] });
    const { webhook: filtered } = await tenant.connect(200, {
      ...invoices,
      filter: { subject_id: ['INV-9'] },
    });
    const { webhook: disabled } = await tenant.connect(200, invoices);
    await tenant.data('PATCH', `/v1/webhooks/${disabled.id}`, { status: 'disabled' });
    const event = await tenant.record({ workspace_id: 'WS-1' });
    await tenant.settled(reached, 1);
    const { webhook: late } = await tenant.connect(200, invoices);
    const read = async (reader: typeof tenant) =>
      (await reader.request('GET', `/v1/events/${event.id}/deliveries?limit=1`)).body.meta.not_delivered;
    expect(
      (await read(tenant)).map((one: { webhook_id: string; reason: string }) => [one.webhook_id, one.reason]),
    ).toEqual([
      [late.id, 'created_later'],
      [disabled.id, 'disabled'],
      [filtered.id, 'filtered'],
      [uninterested.id, 'not_subscribed'],
      [elsewhere.id, 'other_workspace'],
    ]);
    const bound = await newTenant(service, { organization_id: tenant.organization, workspace_id: 'WS-1' });
    expect(await read(bound)).toEqual([]);

    // A redelivery or a replay reaches it.
    await tenant.data('POST', `/v1/webhooks/${late.id}/replay`, {
      ...{ from: '2000-01-01', to: '2999-01-01', event_types: ['invoice.*'] },
    });
    await tenant.settled(late, 1);
    expect((await read(tenant)).map((one: { webhook_id: string }) => one.webhook_id)).not.toContain(late.id);
  });
});
