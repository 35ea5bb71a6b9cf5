import { describe, expect, it } from 'vitest';
import { registerNode } from '../../src/cells/node-store.js';
import type { HealthReport } from '../../src/engine/health.js';
import { settle } from '../../src/engine/settlement-store.js';
import { withNode } from '../support/deliveries.js';
import { sharedService } from '../support/service.js';
import { eventually, newTenant } from '../support/tenant.js';

const service = await sharedService();

describe('an incident', () => {
  it('is one webhook.failing and one webhook.recovered, for other webhooks only', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(500, {
      retry_schedule: ['1ms', '1ms', '1ms', '1ms', '1ms', '1ms'],
    });
    const watcher = await tenant.connect(200, { event_types: ['webhook.failing', 'webhook.recovered'] });
    expect(await tenant.data('GET', `/v1/webhooks/${webhook.id}`)).toMatchObject({ failing_since: null });
    const first = await tenant.record();
    await tenant.settled(webhook, 1, ({ final }) => final);
    const failing = (await watcher.receiver.deliveries.nth(1)).envelope;
    expect(failing).toMatchObject({
      type: 'webhook.failing',
      data: { webhook_id: webhook.id, url: webhook.url, failed_attempts: 5, error: null, http_status: 500 },
    });
    expect(Object.keys(failing.data)).toEqual([
      ...['webhook_id', 'url', 'since', 'failed_attempts', 'error', 'http_status', 'error_detail', 'remedy'],
    ]);
    expect(failing.data.error_detail).toContain('500');
    expect(new Date(failing.data.since).toISOString()).toBe(failing.data.since);
    expect(await tenant.data('GET', `/v1/webhooks/${webhook.id}`)).toMatchObject({
      failing_since: failing.data.since,
    });

    receiver.onDelivery = 200;
    const second = await tenant.record();
    await receiver.deliveries.nth(8);
    const recovered = (await watcher.receiver.deliveries.nth(2)).envelope;
    expect([recovered.type, recovered.data]).toEqual([
      'webhook.recovered',
      { webhook_id: webhook.id, url: webhook.url, failing_since: failing.data.since, failed_attempts: 7 },
    ]);
    expect(await tenant.data('GET', `/v1/webhooks/${webhook.id}`)).toMatchObject({ failing_since: null });
    const [event] = await tenant.events({ type: 'webhook.failing' });
    expect(event).toMatchObject({
      actor: { type: 'system', id: 'posthorn' },
      subject: { type: 'webhook', id: webhook.id },
    });
    expect(await tenant.webhooksOf(event)).toEqual([watcher.webhook.id]);
    const sent = new Set(receiver.deliveries.all.map(({ envelope }) => envelope.id));
    expect([...sent]).toEqual(expect.arrayContaining([first.id, second.id]));
    expect(receiver.deliveries.all.filter(({ envelope }) => /failing|recovered/.test(envelope.type))).toEqual(
      [],
    );
  });

  it('begins and ends once, whichever nodes report it, and however their reports are cut', async () => {
    const { database, node } = await withNode();
    const other = await registerNode(database, 60_000);
    const at = performance.now();
    const report = (succeeded: boolean, leading: number, trailing: number): HealthReport => ({
      ...{ organization_id: 'ORG-acme', webhook_id: 'WHK-1', last_at: new Date(), succeeded },
      last_status: trailing > 0 || !succeeded ? 'failed' : 'success',
      first_failure_ms: trailing > 0 ? at : null,
      last_failure_ms: trailing > 0 ? at : null,
      ...{ leading_failures: leading, leading_since_ms: leading > 0 ? at : null, failures: trailing },
      describe: () => ({ error: 'timeout', http_status: null, error_detail: 'Slow.', remedy: 'Hurry.' }),
    });
    const failed = (count: number) => report(false, count, count);
    const options = { listed: false, failingMs: 1e12 };
    const told = async () => {
      const { rows } = await database.query<{ told: string }>({
        text: `
  select replace(type, 'webhook.', '') || ' ' || (payload ->> 'failed_attempts') as told
    from posthorn.events order by created_at, id`,
      });
      return rows.map((row) => row.told);
    };
    await settle(database, node, [], [failed(2)], options);
    await settle(database, other, [], [failed(2)], options);
    expect(await told()).toEqual([]);
    await Promise.all([
      settle(database, node, [], [failed(1)], options),
      settle(database, other, [], [failed(3)], options),
    ]).then(async (settled) => {
      // One may have found the row locked: then it reports again.
      if (settled[0].unreported.size > 0) await settle(database, node, [], [failed(1)], options);
      if (settled[1].unreported.size > 0) await settle(database, other, [], [failed(3)], options);
    });
    expect(await told()).toEqual([expect.stringMatching(/^failing [5-8]$/)]);
    await settle(database, node, [], [report(true, 2, 0)], options);
    await settle(database, other, [], [report(true, 0, 0)], options);
    expect((await told()).slice(1)).toEqual(['recovered 10']);
    // Five failures and a success in one report are a whole incident; five more begin the next.
    await settle(database, node, [], [report(true, 5, 5)], options);
    expect((await told()).slice(2)).toEqual(['failing 5', 'recovered 5', 'failing 5']);
    await settle(database, node, [], [report(true, 0, 4)], options);
    expect((await told()).slice(5)).toEqual(['recovered 5']);
  });
});

describe('expires_at', () => {
  it('deletes the webhook then, as the service, and nothing more is sent', async () => {
    const tenant = await newTenant(service, {
      scopes: ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'],
    });
    const expires_at = new Date(Date.now() + 2_000).toISOString();
    const { receiver, webhook } = await tenant.connect(500, { expires_at });
    expect(webhook.expires_at).toBe(expires_at);
    await tenant.record();
    await tenant.settled(webhook);
    await eventually(
      async () => (await tenant.request('GET', `/v1/webhooks/${webhook.id}`)).status,
      (status) => status === 404,
    );
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expires_at));
    const [entry] = await tenant.data('GET', '/v1/audit-logs');
    expect(entry).toMatchObject({
      ...{ action: 'webhook.deleted', target: { type: 'webhook', id: webhook.id } },
      ...{ actor: { type: 'system', id: 'posthorn' }, request_id: null, source_address: null },
    });
    await tenant.bringForward(webhook);
    expect(await tenant.webhooksOf(await tenant.record())).toEqual([]);
    expect(receiver.deliveries.count).toBe(1);
  });

  it('must be a time in the future', async () => {
    const tenant = await newTenant(service);
    for (const expires_at of ['2020-01-01T00:00:00Z', '2099-01-01', 'soon', '2099-01-01T00:00:00'])
      expect((await tenant.create({ url: 'https://example.com/', expires_at })).status).toBe(422);
  });

  it('can be changed and removed', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    const path = `/v1/webhooks/${webhook.id}`;
    const expires_at = '2099-01-01T00:00:00.000Z';
    expect(await tenant.data('PATCH', path, { expires_at })).toMatchObject({ expires_at });
    expect(await tenant.data('PATCH', path, { expires_at: null })).toMatchObject({ expires_at: null });
  });
});
