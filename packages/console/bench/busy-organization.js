import { spread } from '../../../bench/load.js';

const organization = 'ORG-demo';
const webhooks = 100;
const failing = 5;
const perWebhook = 10_000;

/**
 * Makes an organization with 100 webhooks and a million deliveries of the last day, straight into the tables. Five
 * webhooks fail, and some of their deliveries wait for a retry.
 */
export async function makeBusyOrganization(server, receiverUrl, progress) {
  const { database } = server;
  progress('creating webhooks');
  const { rows: before } = await database.query('select count(*)::int as count from posthorn.webhooks');
  await spread(webhooks - before[0].count, 4, (index) =>
    server.createWebhook(`${receiverUrl}/${index}`, ['agent.*'], { description: `receiver ${index}` }),
  );
  const { rows } = await database.query(
    'select id from posthorn.webhooks where organization_id = $1 order by id',
    [organization],
  );
  for (const parent of ['deliveries', 'delivery_counts', 'event_counts']) {
    await database.query(
      `select posthorn.ensure_partition($1, day::date) from generate_series(now() - interval '2 days', now(), '1 day') day`,
      [parent],
    );
  }
  for (const [index, { id }] of rows.entries()) {
    progress(`loading: ${(index * perWebhook).toLocaleString('en')} deliveries`);
    await addDeliveries(database, id, index, index < failing);
  }
  await addCounts(
    database,
    rows.map(({ id }) => id),
  );
  progress('vacuum and analyze');
  await database.query(
    'vacuum (analyze) posthorn.deliveries, posthorn.delivery_counts, posthorn.webhook_health',
  );
  return { webhooks: rows.length, deliveries: rows.length * perWebhook };
}

async function addDeliveries(database, webhook, index, isFailing) {
  // Every twentieth delivery of a failing webhook waits for a retry that is hours away, so that no node claims it.
  const isWaiting = isFailing ? 'n % 20 = 0' : 'false';
  await database.query(
    `insert into posthorn.deliveries
            (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, status, attempts, due_at,
             attempted_at, http_status, duration_ms, response)
     select $1, $2, at, 'WDLV-' || head, 'EVT-' || head, 'agent.run.completed', at, case when ${isWaiting} then 'pending' else 'success' end, 1,
            now() + interval '6 hours', at, case when ${isWaiting} then 500 else 200 end, 12, 'ok'
       from generate_series(1, $3::int) n,
            lateral (select (now() - n * interval '8 s')::timestamptz(3) as at) a,
            -- Only what is looked at needs an ID with its time in it, which is slow to make.
            lateral (select case when ${isWaiting} then posthorn.ulid_head(posthorn.epoch_ms(at), $4::int)
                                 else lpad($4::text, 18, '0') end
                            || lpad(upper(to_hex(n)), 8, '0') as head) h`,
    [organization, webhook, perWebhook, index],
  );
  await database.query(
    `insert into posthorn.webhook_health (organization_id, webhook_id, last_delivery_at, last_delivery_status)
     values ($1, $2, now(), $3)
         on conflict (organization_id, webhook_id) do update
        set last_delivery_at = excluded.last_delivery_at, last_delivery_status = excluded.last_delivery_status`,
    [organization, webhook, isFailing ? 'failed' : 'success'],
  );
}

/** Writes the figures of the day, as nodes do: by the hour, for every webhook and for the organization. */
async function addCounts(database, ids) {
  await database.query(
    `insert into posthorn.delivery_counts
     select $1, scope, 60, date_trunc('hour', now()) - h * interval '1 hour', 999,
            420 * weight, 10 * weight, 0, latencies
       from (select '' as scope, $3::int as weight union all select unnest($2::text[]), 1) scopes,
            generate_series(1, 23) h,
            (select array_agg(case when n = 14 then 800 else 0 end) as latencies from generate_series(1, 31) n) l
         on conflict do nothing`,
    [organization, ids, ids.length],
  );
  await database.query(
    `insert into posthorn.event_counts
     select $1, '', 60, date_trunc('hour', now()) - h * interval '1 hour', 'agent.run.' || kind, 20000
       from generate_series(1, 23) h, unnest(array['started', 'completed', 'failed']) kind
         on conflict do nothing`,
    [organization],
  );
}
