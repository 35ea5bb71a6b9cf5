import Type from 'typebox';
import { unavailable } from '../values/problem.js';
import { type Route, route } from '../web/route.js';
import { text } from '../web/schemas.js';
import type { Metrics } from './metrics.js';

const status = (value: string) =>
  Type.Object({ status: Type.Literal(value, { description: 'The check passed.' }) });

/** Returns `/healthz` (the process is running) and `/readyz` (it can handle requests). Neither needs a token. */
export function healthRoutes(isReady: () => Promise<boolean>): readonly Route[] {
  return [
    route('GET /healthz', {
      operationId: 'health',
      summary: 'Check that the process is running',
      description: 'Does not check the database.',
      open: true,
      returns: { 200: status('ok') },
      handler: async () => ({ status: 'ok' }),
    }),
    route('GET /readyz', {
      operationId: 'readiness',
      summary: 'Check that the service is ready',
      description: 'Returns 503 while the database is unreachable, read-only or not migrated.',
      open: true,
      returns: { 200: status('ready') },
      handler: async () => {
        if (await isReady()) return { status: 'ready' };
        throw unavailable('Not ready: the database is unreachable, read-only or not migrated yet.');
      },
    }),
  ];
}

/** Returns `GET /metrics`. */
export function metricsRoute(metrics: Metrics): Route {
  return route('GET /metrics', {
    operationId: 'metrics',
    summary: 'Get metrics',
    description: 'Returns metrics in the Prometheus text format.',
    early: true,
    produces: ['text/plain'],
    returns: { 200: text('Metrics.') },
    handler: async (_request, reply) => reply.type(metrics.registry.contentType).send(await metrics.text()),
  });
}
