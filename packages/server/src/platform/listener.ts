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
import { lifecycleRoutes, lifecycleTagGroup, lifecycleTags } from './lifecycle-routes.js';
import type { MoverOptions } from './mover.js';
import type { Recorder } from './recorder.js';

export interface PlatformListenerOptions {
  logger: FastifyBaseLogger;
  version: string;
  token: string;
  recorder: Recorder;
  check: EventChecker;
  lifecycles: MoverOptions;
  metrics: Metrics;
  isReady: () => Promise<boolean>;
}

const bodyLimit = 8 * 1024 * 1024;

/** The producer's side: it records events and is never exposed to integrators. */
export async function createPlatformListener(options: PlatformListenerOptions): Promise<FastifyInstance> {
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
    title: 'Posthorn platform listener',
    version: options.version,
    description:
      "The producer's side: record events, and keep resources whose moves record events by themselves. Keep this " +
      'listener inside your network; integrators use the public API.\n\n' +
      'Guides, in the repository: `docs/record-events.md`, `docs/lifecycles.md`, `docs/event-types.md`, ' +
      '`docs/operate.md`; `docs/README.md` lists them all.',
    securityName: 'platformToken',
    securityDescription:
      'The platform token is the value of `POSTHORN_PLATFORM_TOKEN`. Where that is not set, the service makes one at ' +
      'its first start and keeps it in the file `platform-token` of its data directory: `.posthorn/platform-token`, ' +
      'unless `POSTHORN_DATA_DIR` says otherwise.',
    tokenVariable: 'POSTHORN_PLATFORM_TOKEN',
    tags: [
      {
        name: 'Recording',
        description:
          'For what happened in your own systems. Moves of the lifecycles record their events themselves, and code ' +
          'that shares the database can record events in its own transaction.\n\n' +
          'Guide: `docs/record-events.md` in the repository.',
      },
      ...lifecycleTags,
      { name: 'Operations', description: 'Health and metrics. Guide: `docs/operate.md` in the repository.' },
    ],
    tagGroups: [lifecycleTagGroup],
    problemSchema: ProblemSchema,
  });
  healthRoutes(app, options.isReady);
  // In a scope of its own: NDJSON is read there and nowhere else.
  await app.register(async (scope) => platformEventRoutes(scope, options.recorder, options.check));
  lifecycleRoutes(app, options.lifecycles);
  app.get(
    '/metrics',
    {
      schema: {
        operationId: 'metrics',
        tags: ['Operations'],
        summary: 'Metrics in Prometheus form',
        produces: ['text/plain'],
        response: { 200: Type.String({ description: 'The text format of Prometheus.' }) },
      },
    },
    async (_request, reply) =>
      reply.type(options.metrics.registry.contentType).send(await options.metrics.registry.metrics()),
  );
  referenceRoutes(app);
  return app;
}

/** Compares in constant time, as far as the length is right: that is no secret, and a digest costs ten times as much. */
function tokenComparison(token: string): (given: string) => boolean {
  const expected = Buffer.from(token);
  return (given) => {
    const bytes = Buffer.from(given);
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  };
}
