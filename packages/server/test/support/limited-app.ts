import { type FastifyInstance, fastify } from 'fastify';
import { problemOf, sendProblem } from '../../src/web/problems.js';
import { afterFile } from './cleanup.js';

/** A listener without a database, on which the first part of a path is the organization of the request's token. */
export function appByOrganization(): FastifyInstance {
  const app = fastify();
  afterFile(() => app.close());
  app.setErrorHandler((error, request, reply) => sendProblem(problemOf(error, 0), request, reply));
  app.decorateRequest('token', null as never);
  app.addHook('onRequest', async (request) => {
    request.token = { organization_id: request.url.split('/')[1] } as never;
  });
  return app;
}
