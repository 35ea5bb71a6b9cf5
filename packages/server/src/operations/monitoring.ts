import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { requirePlatformToken } from '../access/auth.js';
import type { GuessLimit } from '../access/rate-limits.js';
import type { Config } from '../settings/config.js';
import { healthRoutes } from '../web/health.js';
import { createListener } from '../web/listener.js';
import { addRoutes, type Route, route } from '../web/route.js';
import { text } from '../web/schemas.js';
import type { Metrics } from './metrics.js';

interface MonitoringParts {
  config: Pick<Config, 'trustedProxies'>;
  logger: FastifyBaseLogger;
  metrics: Metrics;
  guesses: GuessLimit;
  isReady: () => Promise<boolean>;
}

const bodyLimit = 1024;

/**
 * Creates the listener for a node without the `platform` role. It serves health checks and, if there is a platform token,
 * metrics.
 */
export async function createMonitoringListener(
  { config, logger, metrics, guesses, isReady }: MonitoringParts,
  token: string | undefined,
): Promise<FastifyInstance> {
  const app = await createListener({
    name: 'monitoring',
    logger,
    bodyLimit,
    trustedProxies: config.trustedProxies,
    onFinished: metrics.observeRequests('monitoring'),
  });
  if (token !== undefined) requirePlatformToken(app, token, guesses);
  addRoutes(app, [...healthRoutes(isReady), ...(token === undefined ? [] : [metricsRoute(metrics)])]);
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
