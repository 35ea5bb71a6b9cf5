import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import type { Database } from '../postgres/database.js';
import { dayMs } from '../values/duration.js';
import type { InputFault } from '../values/problem.js';
import { rangeFaults, rangeOf } from '../web/range.js';
import { nonEmpty, timeRange } from '../web/schemas.js';
import { type Tenancy, tenancyOf } from '../web/tenancy.js';
import { readWebhook } from '../webhooks/webhook-store.js';
import { readDeliveryCounts, type Step } from './delivery-count-store.js';
import { type EventStep, readEventCounts, readFrequentTypes } from './event-count-store.js';
import {
  defaultInterval,
  figuresOf,
  type Interval,
  intervals,
  minutesMsMax,
  spanOf,
  statsMsMax,
} from './stats.js';

const typesMax = 20;
/**
 * How far a range may exceed its maximum length: a client computes `from` some time before its request
 * arrives.
 */
const requestMsMax = 60_000;

/** For each interval, the length in minutes of the periods whose counts are added up. */
const stepsOf = {
  minute: { deliveries: 1, events: 1 },
  hour: { deliveries: 60, events: 60 },
  day: { deliveries: 60, events: 1440 },
} as const satisfies Record<Interval, { deliveries: Step; events: EventStep }>;

const StatsQuery = Type.Object(
  {
    organization_id: nonEmpty("Organization ID. Default: the token's organization.", ['ORG-demo']),
    workspace_id: nonEmpty('Count only events from this workspace, and deliveries to webhooks in it.', [
      'WS-berlin',
    ]),
    webhook_id: nonEmpty('Count only deliveries to this webhook, and no events.', [
      'WHK-01KA3Z8M5Q2V7X4C9E1G6J8N0R',
    ]),
    from: timeRange.from,
    to: timeRange.to,
    interval: Type.Optional(
      Type.Enum([...intervals], {
        description:
          'Length of a bucket. `minute` supports ranges of up to 6 hours. Default: `minute` for up to 6 hours, ' +
          '`hour` for up to 7 days, otherwise `day`.',
      }),
    ),
  },
  { additionalProperties: false },
);
type StatsQuery = Static<typeof StatsQuery>;

const count = (description: string, example: number) => Type.Integer({ description, examples: [example] });
const orNull = (description: string, example: number) =>
  Type.Union([Type.Integer(), Type.Null()], { description, examples: [example] });

const figureFields = {
  events: orNull(
    'Number of events recorded. Null if the token lacks the `events:read` scope, or if `webhook_id` is set.',
    128,
  ),
  delivered: count('Number of deliveries that succeeded.', 124),
  failed_attempts: count(
    'Number of attempts that failed, including the last attempt of deliveries that the service gave up on.',
    6,
  ),
  given_up: count('Number of deliveries that the service gave up on.', 1),
  p50_ms: orNull(
    'Median duration of the successful attempts, accurate to within 10%. Null if there are none.',
    41,
  ),
  p95_ms: orNull(
    '95th percentile of the duration of the successful attempts, accurate to within 10%. Null if there ' +
      'are none.',
    180,
  ),
};

const time = (description: string, example: string) =>
  Type.String({ format: 'date-time', description, examples: [example] });

const StatsSchema = Type.Object(
  {
    interval: Type.Enum([...intervals], { description: 'Length of a bucket.', examples: ['hour'] }),
    from: time('Start of the time range.', '2026-11-14T09:30:00.000Z'),
    to: time('End of the time range.', '2026-11-15T09:30:00.000Z'),
    buckets: Type.Array(
      Type.Object(
        {
          at: time('Start of the bucket, in UTC.', '2026-11-15T09:00:00.000Z'),
          ...figureFields,
        },
        { title: 'StatsBucket' },
      ),
      {
        description:
          'Every bucket that overlaps the time range, oldest first. Each bucket is counted as a whole.',
      },
    ),
    totals: Type.Object(figureFields, {
      title: 'StatsTotals',
      description: 'Totals of all buckets.',
    }),
    events_by_type: Type.Union(
      [
        Type.Array(
          Type.Object(
            {
              type: Type.String({ description: 'Event type.', examples: ['invoice.paid'] }),
              count: count('Number of events recorded.', 57),
            },
            { title: 'TypeCount' },
          ),
        ),
        Type.Null(),
      ],
      {
        description: `The ${typesMax} most frequent event types. Null if \`events\` is null.`,
      },
    ),
  },
  { title: 'Stats' },
);

/** Adds `GET /v1/stats`: what was recorded and delivered, over time. */
export function statsRoute(app: FastifyInstance, database: Database, now: () => number): void {
  app.get<{ Querystring: StatsQuery }>(
    '/v1/stats',
    {
      config: {
        scopes: ['webhooks:read'],
        check: ({ query }: FastifyRequest) => queryFaults(query as StatsQuery, now()),
      },
      schema: {
        operationId: 'getStats',
        tags: ['Deliveries'],
        summary: 'Get statistics',
        description:
          'Counts events by the time they were recorded, and deliveries by the time of their attempts. Delivery ' +
          'counts are at most 10 seconds old, and event counts at most 60 seconds. The default time range is the ' +
          'last 24 hours. A range can cover up to 90 days. Whole buckets are counted, so the first one can start ' +
          'before `from` and the last one can end after `to`.',
        querystring: StatsQuery,
        response: { 200: Type.Object({ data: StatsSchema }) },
      },
    },
    async (request, reply) => {
      const { query, token } = request;
      const tenancy = tenancyOf(token, query);
      const { fromMs, toMs } = rangeWithin(query, now());
      const interval = query.interval ?? defaultInterval(toMs - fromMs);
      const span = spanOf(interval, fromMs, toMs);
      const counts = { organization_id: tenancy.organization_id, ...span };
      const steps = stepsOf[interval];
      const scope = await scopeOf(database, tenancy, query.webhook_id);
      const hasEvents = query.webhook_id === undefined && token.scopes.includes('events:read');
      const inScope = { ...counts, scope: tenancy.workspace_id ?? '' };
      // One after another, because a read uses one connection at a time.
      const deliveries =
        scope === undefined ? [] : await readDeliveryCounts(database, { ...counts, scope }, steps.deliveries);
      const events = hasEvents ? await readEventCounts(database, inScope, steps.events) : undefined;
      const types = hasEvents ? await readFrequentTypes(database, inScope, steps.events, typesMax) : null;
      reply.header('Cache-Control', 'no-store');
      return {
        data: {
          interval,
          from: new Date(fromMs).toISOString(),
          to: new Date(toMs).toISOString(),
          ...figuresOf(interval, span, deliveries, events),
          events_by_type: types,
        },
      };
    },
  );
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
  const webhook = await readWebhook(database, {
    organization_id,
    only_workspace_id: workspace_id,
    id: webhookId,
  });
  return webhook?.id;
}

/**
 * Returns the requested range. The default is the last 24 hours. If a range without an end became too long while the
 * request was on its way, the range ends slightly before now.
 */
function rangeWithin(query: StatsQuery, nowMs: number): { fromMs: number; toMs: number } {
  const { fromMs, toMs } = rangeOf(query);
  if (fromMs === undefined || toMs !== undefined) {
    const endMs = toMs ?? nowMs;
    return { fromMs: fromMs ?? endMs - dayMs, toMs: endMs };
  }
  const longestMs = fromMs + (query.interval === 'minute' ? minutesMsMax : statsMsMax);
  return { fromMs, toMs: nowMs - longestMs <= requestMsMax ? Math.min(nowMs, longestMs) : nowMs };
}

function queryFaults(query: StatsQuery, nowMs: number): readonly InputFault[] {
  const faults = rangeFaults(query);
  if (faults.length > 0) return faults;
  const { fromMs, toMs } = rangeWithin(query, nowMs);
  if (fromMs > toMs) {
    return [{ parameter: 'from', code: 'from_after_to', detail: 'must not be in the future' }];
  }
  if (toMs - fromMs > statsMsMax) {
    return [{ parameter: 'from', code: 'range_too_long', detail: "must be at most 90 days before 'to'" }];
  }
  if (query.interval === 'minute' && toMs - fromMs > minutesMsMax) {
    const detail = "'minute' supports at most 6 hours; use 'hour' or 'day', or a shorter time range";
    return [{ parameter: 'interval', code: 'range_too_long', detail }];
  }
  return [];
}
