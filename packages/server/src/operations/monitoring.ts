import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { requirePlatformToken } from '../access/auth.js';
import type { GuessLimit } from '../access/rate-limits.js';
import type { Cidr } from '../values/address.js';
import { healthRoutes } from '../web/health.js';
import { createListener } from '../web/listener.js';
import { addRoutes, type Route, route } from '../web/route.js';
import { text } from '../web/schemas.js';
import type { Metrics } from './metrics.js';

export interface MonitoringOptions {
  logger: FastifyBaseLogger;
  metrics: Metrics;
  /** The platform token. If not set, the listener serves only health checks. */
  token: string | undefined;
  guesses: GuessLimit;
  trustedProxies: readonly Cidr[];
  isReady: () => Promise<boolean>;
}

const bodyLimit = 1024;

/** Creates the listener for a node without the `platform` role. It serves only health checks and metrics. */
export async function createMonitoringListener(options: MonitoringOptions): Promise<FastifyInstance> {
  const { logger, metrics, token, guesses, trustedProxies } = options;
  const app = await createListener({
    name: 'monitoring',
    logger,
    bodyLimit,
    trustedProxies,
    onFinished: metrics.observeRequests('monitoring'),
  });
  if (token !== undefined) requirePlatformToken(app, token, guesses);
  addRoutes(app, [...healthRoutes(options.isReady), ...(token === undefined ? [] : [metricsRoute(metrics)])]);
  return app;
}

/** Returns `GET /metrics`. */
export function metricsRoute(metrics: Metrics): Route {
  return route({
    method: 'GET',
    path: '/metrics',
    operationId: 'metrics',
    tag: 'Monitoring',
    summary: 'Get metrics',
    description: 'Returns metrics in the Prometheus text format.',
    early: true,
    produces: ['text/plain'],
    returns: { 200: text('Metrics.') },
    handler: async (_request, reply) => reply.type(metrics.registry.contentType).send(await metrics.text()),
  });
}
