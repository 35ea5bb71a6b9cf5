import type { Page } from 'playwright-core';

/** An API that always responds the same, with what is hard to lay out: long names, text from right to left, 5 attempts. */

/** The time of the page. */
export const nowMs = Date.parse('2026-11-18T12:34:56.000Z');

const minuteMs = 60_000;
const at = (minutes: number) => new Date(nowMs + minutes * minuteMs).toISOString();

const webhook = (end: string, description: string, more: object = {}) => ({
  id: `WHK-01M7S0000000000000000000${end}`,
  organization_id: 'ORG-acme',
  workspace_id: null,
  url: `https://hooks.acme.test/${end}`,
  status: 'active',
  event_types: ['*'],
  description,
  created_at: at(-9_000),
  last_delivery_at: at(-1),
  last_delivery_status: 'success',
  disabled_reason: null,
  previous_secret_until: null,
  rate_limit: null,
  headers: null,
  ...more,
});

const webhooks = [
  webhook('0A', 'Order intake for the European warehouses (Rotterdam, Ghent)', {
    last_delivery_status: 'failed',
  }),
  webhook('0B', 'הזמנות ומשלוחים — מרכז ההפצה'),
  webhook('0C', 'billing'),
];

const delivery = (index: number, more: object = {}) => ({
  id: `WDLV-01M7S000000000000000000${String(index).padStart(3, '0')}`,
  webhook_id: webhooks[index % 3]!.id,
  event_id: `EVT-01M7S0000000000000000000${String(index).padStart(2, '0')}`,
  event_type: ['invoice.payment_failed', 'task.created', 'agent.run.completed'][index % 3],
  status: index % 3 === 0 ? 'failed' : 'success',
  final: index % 3 !== 0,
  http_status: index % 3 === 0 ? 500 : 200,
  error: null,
  duration_ms: 41 + index,
  attempts: index % 3 === 0 ? 4 : 1,
  created_at: at(-400 + index),
  delivered_at: index % 3 === 0 ? null : at(-399 + index),
  last_attempt_at: at(-5),
  next_attempt_at: index % 3 === 0 ? at(300) : null,
  ...more,
});

export const failing = delivery(0, {
  attempts: 4,
  attempt_log: [-400, -395, -335, -5].map((minutes, index) => ({
    attempt: index + 1,
    attempted_at: at(minutes),
    http_status: index === 1 ? null : 500,
    error: index === 1 ? 'timeout' : null,
    duration_ms: index === 1 ? 10_000 : 41,
    response: index === 1 ? null : '{"error":"שגיאה: הדיסק מלא"}',
    response_headers: { server: 'nginx', 'content-type': 'application/json' },
    error_detail: 'The receiver failed with 500; its response says "שגיאה: הדיסק מלא".',
    remedy: 'Look at its logs.',
  })),
  request: {
    url: 'https://hooks.acme.test/0A',
    headers: {
      'Content-Type': 'application/json',
      'User-Agent': 'Posthorn/1.0.0',
      'webhook-id': 'EVT-01M7S000000000000000000000',
      'webhook-timestamp': '1795000000',
      'X-Service-Attempt': '4',
    },
    body: '{"id":"EVT-01M7S000000000000000000000","type":"invoice.payment_failed","data":{"id":"INV-2042","amount_minor":1249900,"customer":"חברת הספנות הצפונית"}}',
  },
});

const day = Array.from({ length: 24 }, (_, hour) => ({
  at: new Date(Math.floor(nowMs / 3_600_000 - 23 + hour) * 3_600_000).toISOString(),
  events: 40 + ((hour * 7) % 23),
  delivered: 80 + ((hour * 13) % 37),
  failed_attempts: hour > 17 ? hour : hour % 5 === 0 ? 1 : 0,
  given_up: hour > 20 ? 2 : 0,
  p50_ms: 30 + (hour % 4),
  p95_ms: 90 + hour * 9,
}));

const stats = {
  from: at(-1_440),
  to: at(0),
  interval: 'hour',
  totals: { events: 1_204, delivered: 2_311, failed_attempts: 126, given_up: 6, p50_ms: 31, p95_ms: 240 },
  buckets: day,
  events_by_type: [
    { type: 'agent.run.completed', count: 612 },
    { type: 'task.created', count: 402 },
    { type: 'invoice.payment_failed', count: 190 },
  ],
};

const list = (data: unknown) => ({ data, meta: { cursor: null, has_more: false } });
const deliveries = Array.from({ length: 12 }, (_, index) => delivery(index));

const token = {
  id: 'TOK-01M7S0000000000000000000AA',
  organization_id: 'ORG-acme',
  workspace_id: null,
  scopes: ['events:read', 'webhooks:read', 'webhooks:write'],
  actor: { type: 'user', id: 'USR-ada' },
  created_at: at(-60),
  expires_at: at(600),
  portal: false,
};

function responseTo(url: URL): unknown {
  const { pathname: path, searchParams: query } = url;
  if (path === '/console/settings.json') return { version: '1.0.0' };
  if (path === '/v1/token') return { data: token };
  if (path === '/v1/webhooks') return list(webhooks);
  if (path === '/v1/stats') return { data: stats };
  if (path.endsWith(`/deliveries/${failing.id}`)) return { data: failing };
  if (path.startsWith('/v1/webhooks/')) return { data: webhooks[0] };
  if (path !== '/v1/deliveries') return list([]);
  const status = query.get('status');
  return list(
    deliveries.filter(
      (one) =>
        (!status || one.status === status) &&
        (!query.has('final') || String(one.final) === query.get('final')) &&
        (!query.has('webhook_id') || one.webhook_id === query.get('webhook_id')),
    ),
  );
}

/** Responds to every request of the API. */
export async function respondAlike(page: Page): Promise<void> {
  await page.route(/\/v1\/|settings\.json/, (route) =>
    route.fulfill({ json: responseTo(new URL(route.request().url())) }),
  );
}
