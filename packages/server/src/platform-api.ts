import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { requirePlatformToken } from './access/auth.js';
import type { GuessLimit } from './access/rate-limits.js';
import { type TokenContext, tokenRoutes } from './access/token-routes.js';
import type { Catalogue } from './catalogue/catalogue.js';
import { catalogueRoutes } from './catalogue/catalogue-routes.js';
import type { EventChecker } from './events/new-event.js';
import type { Recorder } from './events/recorder.js';
import { prepareRecording, type RecordTracer, recordingRoute } from './events/recording-routes.js';
import type { Metrics } from './operations/metrics.js';
import { metricsRoute } from './operations/monitoring.js';
import { platformGuides } from './reference/guides.js';
import { type DocumentInfo, serveApiDocument } from './reference/openapi.js';
import { referenceRoutes } from './reference/reference.js';
import type { MoverOptions } from './resources/moves.js';
import { lifecycleTags, recordedPayloads } from './resources/resource-operations.js';
import { lifecycleRoutes } from './resources/resource-routes.js';
import type { Cidr } from './values/address.js';
import { healthRoutes } from './web/health.js';
import { createListener } from './web/listener.js';
import { addRoutes } from './web/route.js';

export interface PlatformApiOptions {
  logger: FastifyBaseLogger;
  version: string;
  token: string;
  guesses: GuessLimit;
  trustedProxies: readonly Cidr[];
  recorder: Recorder;
  check: EventChecker;
  tracer: RecordTracer | undefined;
  catalogue: Catalogue;
  /** Reads the catalogue again, after a change. */
  refreshCatalogue: () => Promise<void>;
  lifecycles: MoverOptions;
  portal: TokenContext;
  /** The address of the public API. */
  publicUrl: string;
  metrics: Metrics;
  isReady: () => Promise<boolean>;
  hasStarted: () => boolean;
}

const bodyLimit = 8 * 1024 * 1024;

/** Creates the platform listener, which must not be exposed to integrators. */
export async function createPlatformApi(options: PlatformApiOptions): Promise<FastifyInstance> {
  const app = await createListener({
    name: 'platform',
    logger: options.logger,
    bodyLimit,
    trustedProxies: options.trustedProxies,
    hasStarted: options.hasStarted,
    onFinished: options.metrics.observeRequests('platform'),
    elsewhere: (_method, path) =>
      path.startsWith('/v1/')
        ? `This is the platform listener. The public API is at ${options.publicUrl}.`
        : undefined,
  });
  requirePlatformToken(app, options.token, options.guesses);
  const { catalogue } = options;
  const recording = recordingRoute(options);
  const routes = [
    ...healthRoutes(options.isReady),
    ...catalogueRoutes({
      database: options.lifecycles.database,
      recorded: recordedPayloads,
      onChange: options.refreshCatalogue,
    }),
    ...lifecycleRoutes(options.lifecycles, catalogue),
    ...tokenRoutes(options.portal),
    metricsRoute(options.metrics),
  ];
  addRoutes(app, routes);
  // This route has its own Fastify scope, because only this route accepts NDJSON.
  await app.register(async (scope) => {
    prepareRecording(scope);
    addRoutes(scope, [recording]);
  });
  const title = 'Posthorn platform API';
  const about = ({ builtin }: Catalogue): DocumentInfo => ({
    title,
    version: options.version,
    description:
      'Record events, and manage resources whose status changes are recorded as events. This API is for ' +
      'your own systems: keep it inside your network. Integrators use the public API.',
    guides: platformGuides(builtin),
    securityName: 'platformToken',
    securityDescription:
      'The value of `POSTHORN_PLATFORM_TOKEN`. If that is not set, the service creates a token when it first ' +
      'starts and stores it in the file `platform-token` in its data directory.',
    tagGroups: [
      {
        name: 'API',
        tags: [
          { name: 'Events', description: 'Record what happens in your own systems.' },
          {
            name: 'Event types',
            description: 'The catalogue: which events can be recorded, and the schemas of their payloads.',
          },
          {
            name: 'Tokens',
            description: 'Access tokens for the public API, and links that open the console for a customer.',
          },
          { name: 'Monitoring', description: 'Health checks and metrics.' },
        ],
      },
      ...(builtin ? [{ name: 'Resources', tags: lifecycleTags }] : []),
    ],
  });
  serveApiDocument(app, catalogue, about, [recording, ...routes]);
  referenceRoutes(app, title);
  return app;
}
