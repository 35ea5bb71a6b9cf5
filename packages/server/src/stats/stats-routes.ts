import Type from 'typebox';
import type { Database } from '../postgres/database.js';
import type { InputFault } from '../values/problem.js';
import { dayMs } from '../values/time.js';
import { readRange, timeRange } from '../web/lists.js';
import { type Arrived, type Route, route, type Tenancy } from '../web/route.js';
import * as schemas from '../web/schemas.js';
import { countWebhooks, readWebhook } from '../webhooks/webhook-store.js';
import { findWebhook } from '../webhooks/webhook-writes.js';
import * as store from './count-store.js';
import * as stats from './stats.js';

const typesMax = 20;
/**
 * How far a range without an end may exceed its maximum length: a client computes `from` some time before its request
 * arrives.
 */
const requestMsMax = 60_000;

/** For each interval, the length in minutes of the periods whose counts are added up. */
const stepsOf = {
  minute: { deliveries: 1, events: 1 },
  hour: { deliveries: 60, events: 60 },
  day: { deliveries: 60, events: 1440 },
} as const satisfies Record<stats.Interval, { deliveries: store.Step; events: store.EventStep }>;

const StatsQuery = schemas.closed({
  organization_id: schemas.ownOrganization,
  workspace_id: schemas.filter(
    'Count only events from this workspace, and deliveries to webhooks in it.',
    'WS-berlin',
  ),
  webhook_id: schemas.filter(
    'Count only deliveries to this webhook, and no events.',
    'WHK-01KA3Z8M5Q2V7X4C9E1G6J8N0R',
  ),
  from: timeRange.from,
  to: timeRange.to,
  interval: Type.Optional(
    schemas.oneOf(
      stats.intervals,
      'Length of a bucket. `minute` supports ranges of up to 6 hours. Default: `minute` for up to 6 hours, ' +
        '`hour` for up to 7 days, otherwise `day`.',
    ),
  ),
});

const figureFields = {
  events: schemas.wholeOrNull(
    'Number of events recorded. Null if the token lacks the `events:read` scope, or if `webhook_id` is set.',
    128,
  ),
  delivered: schemas.whole('Number of deliveries that succeeded.', 124),
  failed_attempts: schemas.whole(
    'Number of attempts that failed, including the last attempt of deliveries that the service gave up on.',
    6,
  ),
  given_up: schemas.whole('Number of deliveries that the service gave up on.', 1),
  p50_ms: schemas.wholeOrNull(
    'Median duration of the successful attempts, accurate to within 10%. Null if there are none.',
    41,
  ),
  p95_ms: schemas.wholeOrNull(
    '95th percentile of the duration of the successful attempts, accurate to within 10%. Null if there ' +
      'are none.',
    180,
  ),
};

const Stats = schemas.named('Stats', {
  interval: schemas.oneOf(stats.intervals, 'Length of a bucket.', 'hour'),
  from: schemas.time('Start of the time range.', '2026-11-14T09:30:00.000Z'),
  to: schemas.time('End of the time range.', '2026-11-15T09:30:00.000Z'),
  buckets: Type.Array(
    schemas.named('StatsBucket', {
      at: schemas.time('Start of the bucket, in UTC.', '2026-11-15T09:00:00.000Z'),
      ...figureFields,
    }),
    {
      description:
        'Every bucket that overlaps the time range, oldest first. Each bucket is counted as a whole.',
    },
  ),
  totals: Type.Object(figureFields, { title: 'StatsTotals', description: 'Totals of all buckets.' }),
  events_by_type: Type.Union(
    [
      Type.Array(
        schemas.named('TypeCount', {
          type: schemas.text('Event type.', 'invoice.paid'),
          count: schemas.whole('Number of events recorded.', 57),
        }),
      ),
      Type.Null(),
    ],
    { description: `The ${typesMax} most frequent event types. Null if \`events\` is null.` },
  ),
  webhooks: Type.Object(
    {
      active: schemas.whole('Active webhooks that are not failing.', 4),
      failing: schemas.whole('Active webhooks with `failing_since`.', 1),
      unverified: schemas.whole('Unverified webhooks.', 0),
      paused: schemas.whole('Paused webhooks.', 1),
      disabled: schemas.whole('Disabled webhooks.', 0),
    },
    { title: 'WebhookCounts', description: 'The webhooks as they are now, whatever the time range.' },
  ),
});

const webhookHours = 48;
const hourMs = 3_600_000;

const WebhookStats = schemas.named('WebhookStats', {
  since: schemas.time('Start of the 48 hours.', '2026-11-13T09:30:00.000Z'),
  success: schemas.whole('Number of successful deliveries.', 998),
  failed: schemas.whole('Number of failed deliveries.', 2),
  pending: schemas.whole('Number of deliveries that are waiting for an attempt.', 0),
  success_rate: Type.Union([Type.Number(), Type.Null()], {
    description:
      'Of the deliveries that have ended, the fraction that succeeded, from 0 to 1. Null if none have ended.',
    examples: [0.998],
  }),
  duration_ms: Type.Object(
    {
      p50: schemas.wholeOrNull('Median. Null if there are no successful deliveries.', 41),
      p95: schemas.wholeOrNull('95th percentile. Null if there are no successful deliveries.', 180),
    },
    {
      title: 'Durations',
      description: 'Durations of the successful attempts in milliseconds, accurate to within 10%.',
    },
  ),
  oldest_undelivered_at: schemas.timeOrNull(
    'Time when the oldest pending delivery was created. Null if there is none.',
    null,
  ),
  hours: Type.Array(
    schemas.named('WebhookStatsHour', {
      hour: schemas.time('Start of the hour.', '2026-11-15T09:00:00.000Z'),
      success: schemas.whole('Number of successful deliveries.', 23),
      failed: schemas.whole('Number of failed deliveries.', 0),
    }),
    { description: 'Counts for each hour, by the time when the deliveries ended.' },
  ),
});

export function statsRoutes(database: Database, now: () => number): readonly Route[] {
  return [
    route('GET /v1/stats', {
      operationId: 'getStats',
      summary: 'Get statistics',
      description:
        'Counts events by the time they were recorded, and deliveries by the time of their attempts. Delivery ' +
        'counts are at most 10 seconds old, and event counts at most 60 seconds. The default time range is the ' +
        'last 24 hours. A range can cover up to 90 days. Whole buckets are counted, so the first one can start ' +
        'before `from` and the last one can end after `to`.',
      scopes: ['webhooks:read'],
      query: StatsQuery,
      input: ({ query }, faults) => readStatsRange(query, now(), faults),
      returns: { 200: schemas.dataOf(Stats) },
      handler: async ({ query, token, tenancy, input: { fromMs, toMs } }, reply) => {
        const interval = query.interval ?? stats.defaultInterval(toMs - fromMs);
        const span = stats.spanOf(interval, fromMs, toMs);
        const counts = { organization_id: tenancy.organization_id, ...span };
        const steps = stepsOf[interval];
        const scope = await scopeOf(database, tenancy, query.webhook_id);
        const hasEvents = query.webhook_id === undefined && token.scopes.includes('events:read');
        const inScope = { ...counts, scope: tenancy.workspace_id ?? '' };
        // One after another, because a read uses one connection at a time.
        const deliveries =
          scope === undefined
            ? []
            : await store.readDeliveryCounts(database, { ...counts, scope }, steps.deliveries);
        const events = hasEvents ? await store.readEventCounts(database, inScope, steps.events) : undefined;
        const types = hasEvents
          ? await store.readFrequentTypes(database, inScope, steps.events, typesMax)
          : null;
        reply.header('Cache-Control', 'no-store');
        return {
          data: {
            interval,
            from: new Date(fromMs),
            to: new Date(toMs),
            ...stats.figuresOf(interval, span, deliveries, events),
            events_by_type: types,
            webhooks: await countWebhooks(database, { ...tenancy, id: query.webhook_id }),
          },
        };
      },
    }),
    route('GET /v1/webhooks/{webhook_id}/stats', {
      operationId: 'webhookStats',
      summary: 'Get webhook statistics',
      description:
        'Counts the deliveries that ended in the last 48 hours and those that are waiting. The counts of ended ' +
        'deliveries are at most 10 seconds old. Test events are not included.',
      scopes: ['webhooks:read'],
      returns: { 200: schemas.dataOf(WebhookStats) },
      handler: async (request) => {
        const { organization_id, id } = await findWebhook(database, request);
        const nowMs = now();
        const sinceMs = nowMs - webhookHours * hourMs;
        const span = stats.spanOf('hour', sinceMs, nowMs);
        // Of the first hour, only the minutes after `since` count.
        const firstEndMs = span.fromMs + hourMs;
        const counts = { organization_id, scope: id };
        const deliveries = [
          ...(await store.readDeliveryCounts(database, { ...counts, fromMs: sinceMs, toMs: firstEndMs }, 1)),
          ...(await store.readDeliveryCounts(
            database,
            { ...counts, fromMs: firstEndMs, toMs: span.toMs },
            60,
          )),
        ];
        const { buckets, totals } = stats.figuresOf('hour', span, deliveries, undefined);
        const { delivered: success, given_up: failed, p50_ms: p50, p95_ms: p95 } = totals;
        const since = new Date(sinceMs);
        const { pending, oldest } = await store.readUndelivered(database, organization_id, id, since);
        return {
          data: {
            since,
            success,
            failed,
            pending,
            success_rate: success + failed === 0 ? null : success / (success + failed),
            duration_ms: { p50, p95 },
            oldest_undelivered_at: oldest,
            hours: buckets.map(({ at, delivered, given_up }) => ({
              hour: at,
              success: delivered,
              failed: given_up,
            })),
          },
        };
      },
    }),
  ];
}

/** Returns whose deliveries to count, or undefined for a webhook that the token cannot see. */
async function scopeOf(
  database: Database,
  { organization_id, workspace_id }: Tenancy,
  webhookId: string | undefined,
): Promise<string | undefined> {
  if (webhookId === undefined) return workspace_id ?? '';
  // Counts are kept after their webhook is deleted. A token that is restricted to a workspace can read only
  // the counts of a webhook that still exists, because the workspace of a deleted webhook is unknown.
  if (workspace_id === undefined) return webhookId.startsWith('WHK-') ? webhookId : undefined;
  const key = { organization_id, only_workspace_id: workspace_id, id: webhookId };
  return (await readWebhook(database, key))?.id;
}

/** Reads the range. The default is the last 24 hours. */
function readStatsRange(
  query: Arrived['query'],
  nowMs: number,
  faults: InputFault[],
): { fromMs: number; toMs: number } {
  const given = readRange(query, faults);
  const toMs = given.toMs ?? nowMs;
  const fromMs = given.fromMs ?? toMs - dayMs;
  const spanMs = toMs - fromMs - (given.toMs === undefined ? requestMsMax : 0);
  if (faults.length > 0) return { fromMs, toMs };
  if (toMs < fromMs)
    faults.push({ parameter: 'from', code: 'from_after_to', detail: 'must not be in the future' });
  else if (spanMs > stats.statsMsMax)
    faults.push({ parameter: 'from', code: 'range_too_long', detail: "must be at most 90 days before 'to'" });
  else if (query.interval === 'minute' && spanMs > stats.minutesMsMax) {
    const detail = "'minute' supports at most 6 hours; use 'hour' or 'day', or a shorter time range";
    faults.push({ parameter: 'interval', code: 'range_too_long', detail });
  }
  return { fromMs, toMs };
}
