import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { Problem } from '../domain/problem.js';

const status = (value: string) =>
  Type.Object({ status: Type.Literal(value, { description: 'All is well.' }) });

/** `/healthz`: the process lives. `/readyz`: it can do its work. Neither needs a token. */
export function healthRoutes(app: FastifyInstance, isReady: () => Promise<boolean>): void {
  app.get(
    '/healthz',
    {
      config: { open: true },
      schema: {
        operationId: 'health',
        tags: ['Operations'],
        summary: 'Is the process alive?',
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
        tags: ['Operations'],
        summary: 'Is the database reachable and migrated?',
        security: [],
        response: { 200: status('ready') },
      },
    },
    async () => {
      if (await isReady()) return { status: 'ready' };
      throw new Problem('unavailable', 'Not ready: the database is out of reach or not migrated yet.', {
        headers: { 'Retry-After': '1' },
      });
    },
  );
}
