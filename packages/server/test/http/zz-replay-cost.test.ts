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
    await c.query(
      `select posthorn.ensure_partition('deliveries', d::date) from generate_series(now() - interval '89 days', now(), interval '1 day') d`,
    );
    await c.query(
      `insert into posthorn.events (organization_id, created_at, id, type, workspace_id, actor_type, actor_id, subject_type, subject_id, payload)
     select $1::text, date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' + n * interval '10 ms', 'EVT-' || lpad(n::text, 26, '0'), 'invoice.paid', 'WS-1', 'user', 'USR-1', 'invoice', 'INV-bulk', '{}'
     from generate_series(1, 500000) n`,
      [tenant.organization],
    );
    await c.query(
      `insert into posthorn.deliveries (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at, status, attempts)
     select $1::text, $2::text, created_at, 'WDLV' || substr(id, 4), id, type, created_at, created_at, 'success', 1
     from posthorn.events where organization_id = $1 and subject_id = 'INV-bulk'`,
      [tenant.organization, webhook.id],
    );
  
  const { rows } = await c.query(`explain (analyze, buffers)
  with r as (select '${'${tenant.organization}'}'::text as organization_id, '${'${webhook.id}'}'::text as webhook_id, '2020-01-01'::timestamptz as from_at, '2100-01-01'::timestamptz as to_at, null::text[] as event_types, true as only_failed)
  select (select count(*)
            from (select * from posthorn.events e
                   where e.organization_id = r.organization_id and e.created_at between r.from_at and r.to_at
                   order by e.created_at, e.id
                   limit 500) e
            join posthorn.webhooks w on w.organization_id = e.organization_id and w.id = r.webhook_id
           where (w.workspace_id is null or w.workspace_id = e.workspace_id)
   and w.event_types && array[e.type, split_part(e.type, '.', 1) || '.*', '*']
   and (not r.only_failed or coalesce((
         select d.status <> 'success' and (d.status <> 'pending' or d.attempts > 0)
           from (select status, attempts, created_at, id
                   from posthorn.deliveries
                  where organization_id = e.organization_id and webhook_id = w.id
                    and created_at = e.created_at and event_id = e.id
                  union all
                 select status, attempts, created_at, id
                   from posthorn.deliveries
                  where organization_id = e.organization_id and event_id = e.id and webhook_id = w.id
                    and created_at >= e.created_at and created_at <> event_created_at) d
          order by d.created_at desc, d.id desc
          limit 1), true))) from r`);
  const lines = rows.map((r) => r['QUERY PLAN']);
  console.log(lines.filter((l) => !/never executed/.test(l)).slice(0, 60).join('\n')); console.log(lines.slice(-6).join('\n'), lines.length);
  } catch (e) {
    console.log('FAILED', e);
  }
  await c.end();
});
