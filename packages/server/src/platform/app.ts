import { timingSafeEqual } from 'node:crypto';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { EventChecker } from '../domain/new-event.js';
import { Problem } from '../domain/problem.js';
import { healthRoutes } from '../web/health.js';
import { createListener } from '../web/listener.js';
import type { Metrics } from '../web/metrics.js';
import { installOpenApi } from '../web/openapi.js';
import { ProblemSchema } from '../web/problem-schema.js';
import { referenceRoutes } from '../web/reference.js';
import { platformEventRoutes } from './event-routes.js';
import { platformGuides } from './guides.js';
import { lifecycleRoutes, lifecycleTags } from './lifecycle-routes.js';
import type { MoverOptions } from './mover.js';
import { type PortalOptions, portalSessionRoute } from './portal-sessions.js';
import type { Recorder } from './recorder.js';
import { tokenRoutes } from './token-routes.js';

export interface PlatformApiOptions {
  logger: FastifyBaseLogger;
  version: string;
  token: string;
  recorder: Recorder;
  check: EventChecker;
  lifecycles: MoverOptions;
  portal: PortalOptions;
  metrics: Metrics;
  isReady: () => Promise<boolean>;
}

const bodyLimit = 8 * 1024 * 1024;

/** Creates the platform listener, which must not be exposed to integrators. */
export async function createPlatformApi(options: PlatformApiOptions): Promise<FastifyInstance> {
  const app = await createListener({
    name: 'platform',
    logger: options.logger,
    bodyLimit,
    onFinished: options.metrics.observeRequests('platform'),
  });
  const isToken = tokenComparison(options.token);
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.routeOptions.config.open) return done();
    const given = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (given === undefined || !isToken(given)) {
      throw new Problem(
        'unauthenticated',
        'Send the platform token: Authorization: Bearer <POSTHORN_PLATFORM_TOKEN>.',
        {
          headers: { 'WWW-Authenticate': 'Bearer' },
        },
      );
    }
    done();
  });
  await installOpenApi(app, {
    title: 'Posthorn platform API',
    version: options.version,
    description:
      'Record events, and manage resources whose moves record events. This API is for your own systems: keep it ' +
      'inside your network. Integrators use the public API.',
    guides: platformGuides,
    securityName: 'platformToken',
    securityDescription:
      'The value of `POSTHORN_PLATFORM_TOKEN`. If that is not set, the service creates a token when it first ' +
      'starts, in the file `platform-token` in its data directory.',
    tagGroups: [
      {
        name: 'API',
        tags: [
          { name: 'Events', description: 'Record what happens in your own systems.' },
          {
            name: 'Tokens',
            description: 'Access tokens for the public API, and links that open the console for a customer.',
          },
          { name: 'Monitoring', description: 'Health checks and metrics.' },
        ],
      },
      { name: 'Resources', tags: lifecycleTags },
    ],
    problemSchema: ProblemSchema,
  });
  healthRoutes(app, options.isReady);
  // This route has its own scope, because only this route accepts NDJSON.
  await app.register(async (scope) => platformEventRoutes(scope, options.recorder, options.check));
  lifecycleRoutes(app, options.lifecycles);
  tokenRoutes(app, options.portal.database, options.portal.now);
  portalSessionRoute(app, options.portal);
  app.get(
    '/metrics',
    {
      schema: {
        operationId: 'metrics',
        tags: ['Monitoring'],
        summary: 'Get metrics',
        description: 'Returns metrics in the Prometheus text format.',
        produces: ['text/plain'],
        response: { 200: Type.String({ description: 'Metrics.' }) },
      },
    },
    async (_request, reply) =>
      reply.type(options.metrics.registry.contentType).send(await options.metrics.registry.metrics()),
  );
  referenceRoutes(app);
  return app;
}

/**
 * Compares tokens in constant time if the lengths are equal. The length is not a secret, and a digest takes ten times
 * as long.
 */
function tokenComparison(token: string): (given: string) => boolean {
  const expected = Buffer.from(token);
  return (given) => {
    const bytes = Buffer.from(given);
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  };
}
