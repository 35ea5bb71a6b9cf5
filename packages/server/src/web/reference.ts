import type { FastifyInstance } from 'fastify';

export function referenceRoutes(app: FastifyInstance): void {
  app.get('/docs', async (_request, reply) => reply.type('text/html').send('<p>soon</p>'));
}
