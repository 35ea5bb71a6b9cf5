import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { Database } from '../postgres/database.js';
import { findWebhook } from '../webhooks/webhook-lookup.js';
import { webhookParams } from '../webhooks/webhook-schemas.js';
import { readDeliveryCounts, readUndelivered } from './delivery-count-store.js';
import { figuresOf, spanOf } from './stats.js';

const hours = 48;
const hourMs = 3_600_000;

const StatsSchema = Type.Object(
  {
    since: Type.String({
      format: 'date-time',
      description: 'Start of the 48 hours.',
      examples: ['2026-11-13T09:30:00.000Z'],
    }),
    success: Type.Integer({ description: 'Number of successful deliveries.', examples: [998] }),
    failed: Type.Integer({ description: 'Number of failed deliveries.', examples: [2] }),
    pending: Type.Integer({
      description: 'Number of deliveries that are waiting for an attempt.',
      examples: [0],
    }),
    success_rate: Type.Union([Type.Number(), Type.Null()], {
      description:
        'Of the deliveries that have ended, the fraction that succeeded, from 0 to 1. Null if none have ended.',
      examples: [0.998],
    }),
    duration_ms: Type.Object(
      {
        p50: Type.Union([Type.Integer(), Type.Null()], {
          description: 'Median. Null if there are no successful deliveries.',
          examples: [41],
        }),
        p95: Type.Union([Type.Integer(), Type.Null()], {
          description: '95th percentile. Null if there are no successful deliveries.',
          examples: [180],
        }),
      },
      {
        title: 'Durations',
        description: 'Durations of the successful attempts in milliseconds, accurate to within 10%.',
      },
    ),
    oldest_undelivered_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'Time when the oldest pending delivery was created. Null if there is none.',
      examples: [null],
    }),
    hours: Type.Array(
      Type.Object(
        {
          hour: Type.String({
            format: 'date-time',
            description: 'Start of the hour.',
            examples: ['2026-11-15T09:00:00.000Z'],
          }),
          success: Type.Integer({ description: 'Number of successful deliveries.', examples: [23] }),
          failed: Type.Integer({ description: 'Number of failed deliveries.', examples: [0] }),
        },
        { title: 'WebhookStatsHour' },
      ),
      { description: 'Counts for each hour, by the time when the deliveries ended.' },
    ),
  },
  { title: 'WebhookStats' },
);

/** Adds `GET /v1/webhooks/{id}/stats`, with statistics for the last 48 hours. */
export function webhookStatsRoute(app: FastifyInstance, database: Database, now: () => number): void {
  app.get(
    '/v1/webhooks/:webhook_id/stats',
    {
      config: { scopes: ['webhooks:read'] },
      schema: {
        operationId: 'webhookStats',
        tags: ['Deliveries'],
        summary: 'Get webhook statistics',
        description:
          'Counts the deliveries that ended in the last 48 hours and those that are waiting. The counts of ended ' +
          'deliveries are at most 10 seconds old. Test events are not included.',
        params: webhookParams,
        response: { 200: Type.Object({ data: StatsSchema }) },
      },
    },
    async (request) => {
      const { organization_id, id } = await findWebhook(database, request);
      const nowMs = now();
      const sinceMs = nowMs - hours * hourMs;
      const span = spanOf('hour', sinceMs, nowMs);
      // Of the first hour, only the minutes after `since` count.
      const firstEndMs = span.fromMs + hourMs;
      const counts = { organization_id, scope: id };
      const deliveries = [
        ...(await readDeliveryCounts(database, { ...counts, fromMs: sinceMs, toMs: firstEndMs }, 1)),
        ...(await readDeliveryCounts(database, { ...counts, fromMs: firstEndMs, toMs: span.toMs }, 60)),
      ];
      const { buckets, totals } = figuresOf('hour', span, deliveries, undefined);
      const { delivered: success, given_up: failed, p50_ms: p50, p95_ms: p95 } = totals;
      const since = new Date(sinceMs);
      const { pending, oldest } = await readUndelivered(database, organization_id, id, since);
      return {
        data: {
          since: since.toISOString(),
          success,
          failed,
          pending,
          success_rate: success + failed === 0 ? null : success / (success + failed),
          duration_ms: { p50, p95 },
          oldest_undelivered_at: oldest?.toISOString() ?? null,
          hours: buckets.map(({ at, delivered, given_up }) => ({
            hour: at,
            success: delivered,
            failed: given_up,
          })),
        },
      };
    },
  );
}
