import { newId } from '../../src/values/identifier.js';
import type { TestService } from './service.js';
import type { Tenant } from './tenant.js';

/** All webhooks share the rows that a page reads, so with this many of them a page reads 100 rows of each. */
const webhooks = 500;

/**
 * Hides one delivery of `task.created` below `newer` deliveries of `invoice.paid`, so that a page of the organization's
 * deliveries of that type is empty although there is more. Returns the hidden delivery's id and its time.
 */
export async function hideDelivery(service: TestService, tenant: Tenant, newer: number) {
  const { webhook } = await tenant.connect(200, { description: 'orders-eu' });
  await service.database.query({
    text: `
  insert into posthorn.webhooks
         (organization_id, id, url, status, disabled_reason, event_types, created_at, secret)
  select organization_id, id || n, url, 'disabled', 'manual', event_types, created_at, secret
    from posthorn.webhooks, generate_series(1, $3) n
   where organization_id = $1 and id = $2`,
    values: [tenant.organization, webhook.id, webhooks - 1],
  });
  const hiddenMs = Date.now() - (newer + 1) * 10;
  const times = Array.from({ length: newer + 1 }, (_, index) => hiddenMs + index * 10);
  const ids = times.map((ms) => newId('WDLV', ms));
  await service.database.query({
    text: `select posthorn.ensure_partition('deliveries', to_timestamp($1::float8 / 1000)::date)`,
    values: [hiddenMs],
  });
  await service.database.query({
    text: `
  insert into posthorn.deliveries
         (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, status, attempts, due_at,
          attempted_at, http_status, duration_ms)
  select $1, $2, at, id, 'EVT-' || substr(id, 6), case n when 1 then 'task.created' else 'invoice.paid' end, at,
         'success', 1, at, at, 200, 12
    from unnest($3::text[], $4::float8[]) with ordinality given (id, ms, n),
         lateral (select to_timestamp(ms / 1000) as at) t`,
    values: [tenant.organization, webhook.id, ids, times],
  });
  return { webhook, id: ids[0] ?? '', createdAt: new Date(hiddenMs).toISOString() };
}
