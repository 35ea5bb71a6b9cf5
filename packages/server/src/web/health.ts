import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { unavailable } from '../values/problem.js';

const status = (value: string) =>
  Type.Object({ status: Type.Literal(value, { description: 'The check passed.' }) });

/** Adds `/healthz` (the process is running) and `/readyz` (it can handle requests). Neither needs a token. */
export function healthRoutes(app: FastifyInstance, isReady: () => Promise<boolean>): void {
  app.get(
    '/healthz',
    {
      config: { open: true },
      schema: {
        operationId: 'health',
        tags: ['Monitoring'],
        summary: 'Check that the process is running',
        description: 'Does not check the database.',
        security: [],
        response: { 200: status('ok') },
      },
    },
    async () => ({ status: 'ok' }),
  );
  app.get(
    '/readyz',
    {
      config: { open: true },
      schema: {
        operationId: 'readiness',
        tags: ['Monitoring'],
        summary: 'Check that the service is ready',
        description: 'Returns 503 while the database is unreachable, read-only or not migrated.',
        security: [],
        response: { 200: status('ready') },
      },
    },
    async () => {
      if (await isReady()) return { status: 'ready' };
      throw unavailable('Not ready: the database is unreachable, read-only or not migrated yet.');
    },
  );
}
