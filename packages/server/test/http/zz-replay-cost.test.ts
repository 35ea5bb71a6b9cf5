import pg from 'pg';
import { it } from 'vitest';
import { startTestService } from '../support/service.js';
import { newTenant } from '../support/tenant.js';
const service = await startTestService();
it('cost', { timeout: 300_000 }, async () => {
  const tenant = await newTenant(service);
  const { webhook } = await tenant.connect();
  await tenant.record();
  const c = new pg.Client({ connectionString: service.databaseUrl });
  await c.connect();
  try {
    await c.query(`select posthorn.ensure_partition('deliveries', d::date) from generate_series(now() - interval '89 days', now(), interval '1 day') d`);
    await c.query(`insert into posthorn.events (organization_id, created_at, id, type, workspace_id, actor_type, actor_id, subject_type, subject_id, payload)
     select $1::text, date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' + n * interval '10 ms', 'EVT-' || lpad(n::text, 26, '0'), 'invoice.paid', 'WS-1', 'user', 'USR-1', 'invoice', 'INV-bulk', '{}'
     from generate_series(1, 500000) n`, [tenant.organization]);
    await c.query(`insert into posthorn.deliveries (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at, status, attempts)
     select $1::text, $2::text, created_at, 'WDLV' || substr(id, 4), id, type, created_at, created_at, 'success', 1
     from posthorn.events where organization_id = $1 and subject_id = 'INV-bulk'`, [tenant.organization, webhook.id]);
  for (const only_failed of [false, true, true]) {
    const at = performance.now();
    const answer = await tenant.ask('POST', `/v1/webhooks/${webhook.id}/replay`, { body: { from: '2020-01-01', to: '2100-01-01', only_failed, event_types: only_failed ? undefined : ['task.*'] } });
    console.log(only_failed, answer.status, Math.round(performance.now() - at), answer.text.slice(0, 200));
  }
  } catch (e) { console.log('FAILED', e); }
  await c.end();
});
