import { sendRequest } from '../../server/test/support/client.js';
import { type Reply, startReceiver } from '../../server/test/support/receiver.js';
import type { TestService } from '../../server/test/support/service.js';
import { platformToken } from '../../server/test/support/service.js';
import { eventually, type Tenant } from '../../server/test/support/tenant.js';

/** What the views show: a day at a company whose receivers behave in every way that the console explains. */
export interface Company {
  webhooks: Record<string, string>;
  failing: { webhook: string; delivery: string };
  givenUp: { webhook_id: string; id: string };
  event: string;
}

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { 'content-type': 'application/json', server: 'nginx', ...headers },
  body: JSON.stringify(body),
});

export async function createCompany(service: TestService, tenant: Tenant): Promise<Company> {
  const webhooks: Record<string, string> = {};
  const create = async (description: string, onDelivery: Reply, more: Record<string, unknown> = {}) => {
    const receiver = await startReceiver({ onDelivery });
    const webhook = await tenant.webhook(receiver, { description, ...more });
    webhooks[description] = webhook.id;
    return { receiver, webhook };
  };
  await create('billing', json(200, { ok: true }), { event_types: ['invoice.*'], rate_limit: 50 });
  await create('warehouse', json(202, { queued: true }), {
    event_types: ['task.*', 'execution.*'],
    headers: { 'X-Api-Key': 'k-123' },
    filter: { payload: { id: [{ prefix: 'TSK-' }, { exists: false }] } },
    format: 'event',
    retry_schedule: ['30s', '10m', '6h'],
    expires_at: new Date(Date.now() + 46 * 86_400_000).toISOString(),
  });
  await create('data-lake', 200, { event_types: ['*'] });
  const orders = await create('orders-eu', json(401, { error: 'invalid signature' }), {
    event_types: ['invoice.paid', 'incident.opened'],
  });
  await create(
    'legacy-erp',
    { status: 308, headers: { location: 'https://erp.acme.test/v2/hooks' } },
    {
      event_types: ['user.*', 'integration.*'],
    },
  );
  const closed = await startReceiver({ onVerification: json(404, { error: 'no such route' }) });
  const crm = await tenant.create({ url: closed.url, description: 'crm-sync', event_types: ['user.*'] });
  webhooks['crm-sync'] = crm.body.data.id;
  const paused = await create('partner-feed', 200, { event_types: ['capacity.*'] });
  await tenant.data('PATCH', `/v1/webhooks/${paused.webhook.id}`, { status: 'disabled' });

  await pastOf(service, tenant.organization, webhooks);
  await record(service, tenant.organization);
  const [waiting] = await eventually(
    () => tenant.deliveries(orders.webhook, '?status=failed&event_type=invoice.paid'),
    (list) => list.length > 0,
  );
  await tenant.bringForward(orders.webhook);
  await eventually(
    () => tenant.data('GET', `/v1/webhooks/${orders.webhook.id}/deliveries/${waiting.id}`),
    (delivery) => delivery.attempts >= 2,
  );
  const [event] = await tenant.events({ type: 'invoice.paid' });
  const [givenUp] = await tenant.data('GET', '/v1/deliveries?status=failed&final=true&limit=1');
  const failing = { webhook: orders.webhook.id, delivery: waiting.id };
  return { webhooks, failing, givenUp, event: event.id };
}

const subjects: [type: string, subject: [string, string], payload: Record<string, unknown>][] = [
  ['user.invited', ['user', 'USR-grace'], { id: 'USR-grace', email: 'grace@acme.test', role: 'operator' }],
  ['integration.connected', ['integration', 'INT-ledger'], { id: 'INT-ledger', provider: 'ledger' }],
  ['agent.run.started', ['run', 'RUN-1001'], { service_line_id: 'LIN-payroll' }],
  ['task.created', ['task', 'TSK-7'], { id: 'TSK-7', title: 'Check the new bank details' }],
  [
    'invoice.finalized',
    ['invoice', 'INV-2042'],
    { id: 'INV-2042', previous_status: 'draft', new_status: 'open' },
  ],
  [
    'agent.run.completed',
    ['run', 'RUN-1001'],
    { service_line_id: 'LIN-payroll', duration_ms: 48_213, tokens_used: 15_377, outcome: 'success' },
  ],
  ['task.assigned', ['task', 'TSK-7'], { id: 'TSK-7', assignee_id: 'USR-grace' }],
  ['invoice.paid', ['invoice', 'INV-2042'], { id: 'INV-2042', amount_minor: 1_249_900, currency: 'EUR' }],
  [
    'incident.opened',
    ['incident', 'INC-12'],
    {
      id: 'INC-12',
      service_line_id: 'LIN-payroll',
      severity: 'p2',
      title: 'Two payslips differ from the ledger',
    },
  ],
];

async function record(service: TestService, organization: string): Promise<void> {
  const events = Array.from({ length: 4 }, (_, round) =>
    subjects.map(([type, [kind, id], payload]) => ({
      type,
      organization_id: organization,
      workspace_id: type.startsWith('invoice') ? null : 'WS-berlin',
      actor: type.startsWith('agent') ? { type: 'agent', id: 'AGT-penny' } : { type: 'user', id: 'USR-ada' },
      subject: { type: kind, id: round === 3 ? id : `${id}${round}` },
      payload,
    })),
  );
  for (const batch of events) {
    const { status, text } = await sendRequest(`${service.platformUrl}/platform/events`, {
      ...{ method: 'POST', token: platformToken, body: batch },
    });
    if (status !== 201) throw new Error(text);
  }
}

const waits = "'{0,5,65,305,1025}'::int[]";

/**
 * Writes a day of events and their deliveries, which no clock can bring about in a test, and counts them as the service
 * would: figures and lists have one source. A webhook fails from some hours ago on; the others succeed.
 */
async function pastOf(
  service: TestService,
  organization: string,
  webhooks: Record<string, string>,
): Promise<void> {
  const receivers: [name: string, types: string, failsMin: number, status: number, response: string][] = [
    ['billing', '^invoice', 0, 200, '{"ok":true}'],
    ['warehouse', '^(task|execution)', 0, 202, '{"queued":true}'],
    ['data-lake', '.', 0, 200, ''],
    ['orders-eu', '^(invoice.paid|incident.opened)$', 320, 401, '{"error":"invalid signature"}'],
    ['legacy-erp', '^(user|integration)', 1_260, 308, ''],
  ];
  const run = (text: string, values: unknown[] = []) => service.database.query({ text, values });
  await run(`
  select posthorn.ensure_partition(parent, d::date)
    from unnest(array['events', 'deliveries', 'delivery_counts', 'event_counts']) parent,
         generate_series(now() - interval '2 days', now(), '1 day') d`);
  await run(
    `
  insert into posthorn.events
  select $1, at, 'EVT-' || posthorn.ulid_head(posthorn.epoch_ms(at), 0) || lpad(i::text, 8, '0'), type, null, 'user', 'USR-ada', split_part(type, '.', 1), 'S-' || i, '{}', 2
    from generate_series(2, 719) i
   cross join lateral (select date_trunc('second', now()) - i * interval '2 minutes' as at) t
   cross join lateral (select (array['agent.run.completed', 'task.status_changed', 'invoice.paid', 'agent.run.started',
     'task.created', 'agent.run.completed', 'invoice.finalized', 'user.invited', 'incident.opened'])[1 + (i * i / 3) % 9] as type) y
   -- Fewer at night.
   where (i * 7) % 11 < 4 + 6 * (1 + sin(i / 110.0))`,
    [organization],
  );
  for (const [name, types, failsMin, status, response] of receivers) {
    await run(
      `
  insert into posthorn.deliveries
  select $1, $2, e.created_at, 'WDLV-' || posthorn.ulid_head(posthorn.epoch_ms(e.created_at), 0) || lpad((h * 1000 + right(e.id, 6)::int)::text, 8, '0'), e.id, e.type, e.created_at,
         case when not fails then 'success' when made = 5 then 'failed' else 'pending' end, made,
         e.created_at + (coalesce((w)[made + 1], 0) || ' min')::interval, null, e.created_at + ((w)[made] || ' min')::interval,
         case when fails then $5::int else case when $5::int < 300 then $5 else 200 end end, null, 20 + right(e.id, 4)::int * 7 % 60, $6,
         case when fails then evidence end,
         case when made > 1 then (select jsonb_agg(jsonb_build_object('attempt', n, 'attempted_at', e.created_at + ((w)[n] || ' min')::interval,
              'http_status', $5, 'error', null, 'duration_ms', 30 + n, 'response', $6::text, 'evidence', evidence)) from generate_series(1, made - 1) n) end, 2
    from posthorn.events e
   cross join (select ${waits} as w, abs(hashtext($2)) % 1000 as h,
                 jsonb_build_object('url', 'https://' || $7 || '.acme.test/hooks', 'headers', jsonb_build_object('server', 'nginx')) as evidence) k
   cross join lateral (select extract(epoch from now() - e.created_at) / 60 as age) a
   cross join lateral (select age < $4::int as fails) f
   cross join lateral (select case when fails then (select count(*)::int from unnest(w) one where one <= age) else 1 end as made) m
   where e.organization_id = $1 and e.id like 'EVT-__________00000000%' and e.type ~ $3`,
      [organization, webhooks[name], types, failsMin, status, response, name],
    );
  }
  await run(
    `
  insert into posthorn.delivery_counts
  select $1, scope, step, at, 999, count(*) filter (where good), count(*) filter (where not good), count(*) filter (where last), array_agg(1)
    from (select d.webhook_id, d.status = 'success' as good, d.status = 'failed' and n = d.attempts as last, d.duration_ms,
                 d.created_at + ((${waits})[n] || ' min')::interval as made_at
            from posthorn.deliveries d cross join lateral generate_series(1, d.attempts) n
           where d.organization_id = $1 and d.id like 'WDLV-__________00000000%') a
   cross join lateral (values ('', 60), (webhook_id, 60), ('', 1), (webhook_id, 1)) v (scope, step)
   cross join lateral (select case step when 1 then date_trunc('minute', made_at) else date_trunc('hour', made_at) end as at) t
   group by scope, step, at`,
    [organization],
  );
  // Half of the successes took some 40 ms, and a few took longest in the middle of the day.
  await run(
    `
  update posthorn.delivery_counts
     set latencies = (select array_agg(case when n = 14 then delivered / 2 + 1 when n = 17 then delivered / 2
                                            when n = 19 + extract(hour from at)::int % 5 then delivered / 9 + 1 else 0 end)
                        from generate_series(1, 31) n)
   where organization_id = $1 and part = 999`,
    [organization],
  );
  await run(
    `
  insert into posthorn.event_counts
  select $1, '', step, case step when 1 then date_trunc('minute', created_at) else date_trunc('hour', created_at) end as at, type, count(*)
    from posthorn.events cross join (values (1), (60)) v (step)
   where organization_id = $1 and id like 'EVT-__________00000000%'
   group by step, at, type
      on conflict do nothing`,
    [organization],
  );
}

/** What is hard to lay out: webhooks with long names, a payload of 200 KB, five attempts, and text from right to left. */
export async function createHardCompany(tenant: Tenant): Promise<{ event: string; delivery: string }> {
  const receiver = await startReceiver({ onDelivery: json(500, { error: 'שגיאה: הדיסק מלא' }) });
  const names = [
    'Order intake for the European warehouses (Rotterdam, Ghent)',
    'הזמנות ומשלוחים — מרכז ההפצה הצפוני',
  ];
  const webhooks: { id: string }[] = [];
  for (let index = 0; index < 100; index += 1) {
    const webhook = await tenant.webhook(receiver, {
      description: `${names[index % 2]} ${index + 1}`,
      event_types: index === 0 ? ['*'] : ['capacity.*'],
    });
    webhooks.push(webhook);
  }
  const lines = Array.from({ length: 2_000 }, (_, line) => ({
    line,
    sku: `SKU-${line}`,
    note: 'ארגז עץ, שביר — fragile wooden crate',
  }));
  const recorded = await tenant.record({ payload: { id: 'INV-1', customer: 'חברת הספנות הצפונית', lines } });
  const first = webhooks[0]!;
  const attempted = (times: number) =>
    eventually(
      () => tenant.deliveries(first, '?event_type=invoice.paid'),
      (list) => list[0]?.attempts >= times,
    );
  for (let times = 1; times < 5; times += 1) {
    await attempted(times);
    await tenant.bringForward(first);
  }
  const [delivery] = await attempted(5);
  return { event: recorded.id, delivery: `/webhooks/${first.id}/deliveries/${delivery.id}` };
}
