import { sendRequest } from '../../server/test/support/client.js';
import { type Reply, startReceiver } from '../../server/test/support/receiver.js';
import type { TestService } from '../../server/test/support/service.js';
import { platformToken } from '../../server/test/support/service.js';
import { eventually, type Tenant } from '../../server/test/support/tenant.js';

/** What the views show: a day at a company whose receivers behave in every way that the console explains. */
export interface Company {
  webhooks: Record<string, string>;
  failing: { webhook: string; delivery: string };
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
  return { webhooks, failing: { webhook: orders.webhook.id, delivery: waiting.id }, event: event.id };
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

const types = {
  'agent.run.completed': 31_770,
  'task.status_changed': 12_908,
  'agent.run.started': 9_402,
  'invoice.paid': 2_311,
  'task.created': 1_980,
  'invoice.finalized': 1_204,
  'incident.opened': 96,
};

/** Writes a day of counts, which no clock can bring about in a test. */
async function pastOf(
  service: TestService,
  organization: string,
  webhooks: Record<string, string>,
): Promise<void> {
  const shares: [scope: string, share: number, failsFrom: number][] = [
    ['', 1, 19],
    [webhooks.billing ?? '', 0.1, 99],
    [webhooks.warehouse ?? '', 0.2, 99],
    [webhooks['data-lake'] ?? '', 0.6, 99],
    [webhooks['orders-eu'] ?? '', 0.08, 19],
    [webhooks['legacy-erp'] ?? '', 0.02, 16],
  ];
  await service.database.query({
    text: `
  select posthorn.ensure_partition(parent, d::date)
    from unnest(array['delivery_counts', 'event_counts']) parent, generate_series(now() - interval '2 days', now(), '1 day') d`,
  });
  for (const [scope, share, failsFrom] of shares) {
    await service.database.query({
      text: `
  insert into posthorn.delivery_counts
  select $1, $2, 60, date_trunc('hour', now()) - (23 - h) * interval '1 hour', 999,
         busy * case when h >= $4::int then 0.6 else 1 end,
         busy * case when h >= $4::int then 0.32 else 0.004 end,
         case when h >= $4::int and h % 2 = 0 then busy * 0.03 else 0 end,
         latencies.all
    from generate_series(0, 22) h
   cross join lateral (select ((1500 + 1100 * sin(h / 3.6)) * $3::float + 3)::int as busy) b
   cross join lateral (select array_agg(case when n = 14 then 800 when n = 17 then 300 when n = 20 then 20 else 0 end) as all
                         from generate_series(1, 31) n) latencies
      on conflict do nothing`,
      values: [organization, scope, share, failsFrom],
    });
  }
  for (const [type, count] of Object.entries(types)) {
    await service.database.query({
      text: `
  insert into posthorn.event_counts
  select $1, '', 60, date_trunc('hour', now()) - (23 - h) * interval '1 hour', $2,
         ($3::float / 23 * (1 + 0.7 * sin(h / 3.6)))::int
    from generate_series(0, 22) h
      on conflict do nothing`,
      values: [organization, type, count],
    });
  }
}
