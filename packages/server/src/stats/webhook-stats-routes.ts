import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { Database } from '../postgres/database.js';
import { findWebhook } from '../webhooks/webhook-lookup.js';
import { webhookParams } from '../webhooks/webhook-schemas.js';
import { DeliveryCounter } from './webhook-stats-store.js';

const hours = 48;

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
        description: 'Durations of the latest 10,000 successful deliveries, in milliseconds.',
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
      { description: 'Counts for each hour, by the time when the deliveries were created.' },
    ),
  },
  { title: 'WebhookStats' },
);

/** Adds `GET /v1/webhooks/{id}/stats`, with statistics for the last 48 hours. */
export function webhookStatsRoute(app: FastifyInstance, database: Database, now: () => number): void {
  const counter = new DeliveryCounter(database);
  app.get(
    '/v1/webhooks/:webhook_id/stats',
    {
      config: { scopes: ['webhooks:read'] },
      schema: {
        operationId: 'webhookStats',
        tags: ['Deliveries'],
        summary: 'Get webhook statistics',
        description:
          'Returns statistics for the deliveries that were created in the last 48 hours. Test events are not included.',
        params: webhookParams,
        response: { 200: Type.Object({ data: StatsSchema }) },
      },
    },
    async (request) => {
      const webhook = await findWebhook(database, request);
      const nowMs = now();
      const since = new Date(nowMs - hours * 3_600_000);
      const key = { organization_id: webhook.organization_id, webhook_id: webhook.id };
      const stats = await counter.read(key, since, new Date(nowMs));
      const ended = stats.success + stats.failed;
      return {
        data: {
          since: since.toISOString(),
          success: stats.success,
          failed: stats.failed,
          pending: stats.pending,
          success_rate: ended === 0 ? null : stats.success / ended,
          duration_ms: { p50: stats.p50, p95: stats.p95 },
          oldest_undelivered_at: stats.oldest_undelivered_at?.toISOString() ?? null,
          hours: stats.hours.map(({ hour, success, failed }) => ({
            hour: hour.toISOString(),
            success,
            failed,
          })),
        },
      };
    },
  );
}
