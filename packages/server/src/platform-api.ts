import type { FastifyInstance } from 'fastify';
import { requirePlatformToken } from './access/auth.js';
import { organizationRoutes } from './access/organization-routes.js';
import { tokenRoutes } from './access/token-routes.js';
import type { Catalogue } from './catalogue/catalogue.js';
import { catalogueRoutes } from './catalogue/catalogue-routes.js';
import { consoleLinks, publicUrlOf } from './console/console.js';
import { createEventChecker } from './events/new-event.js';
import { OrganizationLimiter } from './events/organization-limits.js';
import type { Recorder, RecorderOptions } from './events/recorder.js';
import { prepareRecording, type RecordTracer, recordingRoute } from './events/recording-routes.js';
import { countWaiting } from './events/recording-store.js';
import { healthRoutes, metricsRoute } from './operations/monitoring-routes.js';
import type { PublicApiParts } from './public-api.js';
import { platformGuides } from './reference/guides.js';
import { type DocumentInfo, serveApiDocument } from './reference/openapi.js';
import { referenceRoutes } from './reference/reference.js';
import { recordedPayloads } from './resources/resource-operations.js';
import { lifecycleTags } from './resources/resource-routes.js';
import { version } from './settings/config.js';
import { createListener } from './web/listener.js';
import { addRoutes, type Tag } from './web/route.js';

/** What the platform listener is made of. */
export interface PlatformApiParts
  extends Pick<
    PublicApiParts,
    'config' | 'database' | 'guesses' | 'hasStarted' | 'isReady' | 'logger' | 'metrics' | 'now'
  > {
  token: string;
  recorder: Recorder;
  resources: RecorderOptions;
  tracer: RecordTracer | undefined;
  catalogue: Catalogue & { refresh: () => Promise<void> };
  /** The address of the public listener. Undefined if this node has none. */
  publicUrl: string | undefined;
}

const bodyLimit = 8 * 1024 * 1024;

/** Creates the platform listener, which must not be exposed to integrators. */
export async function createPlatformApi(parts: PlatformApiParts): Promise<FastifyInstance> {
  const { catalogue, config, database, metrics, now, publicUrl } = parts;
  const app = await createListener({
    name: 'platform',
    logger: parts.logger,
    bodyLimit,
    trustedProxies: config.trustedProxies,
    hasStarted: parts.hasStarted,
    onFinished: metrics.observeRequests('platform'),
    elsewhere: (_method, path) =>
      path.startsWith('/v1/')
        ? `This is the platform listener. The public API is at ${publicUrlOf(config, publicUrl)}.`
        : undefined,
  });
  requirePlatformToken(app, parts.token, parts.guesses);
  const isLimited = config.eventsPerSecond > 0 || config.waitingMax > 0;
  const recording = recordingRoute({
    recorder: parts.recorder,
    limiter: isLimited
      ? new OrganizationLimiter(config, (...of) => countWaiting(database, ...of))
      : undefined,
    check: createEventChecker(catalogue),
    tracer: parts.tracer,
  });
  const events: Tag = {
    name: 'Events',
    description: 'Record what happens in your own systems.',
    routes: [recording],
  };
  const tags: readonly Required<Tag>[] = [
    {
      name: 'Event types',
      description: 'The catalogue: which events can be recorded, and the schemas of their payloads.',
      routes: catalogueRoutes({ database, recorded: recordedPayloads, onChange: () => catalogue.refresh() }),
    },
    {
      name: 'Tokens',
      description: 'Access tokens for the public API, and links that open the console for a customer.',
      routes: tokenRoutes({ database, now, cell: config.cell, consoleLink: consoleLinks(config, publicUrl) }),
    },
    {
      name: 'Organizations',
      description: 'The names that people see.',
      routes: organizationRoutes(database),
    },
    {
      name: 'Monitoring',
      description: 'Health checks and metrics.',
      routes: [...healthRoutes(parts.isReady), metricsRoute(metrics)],
    },
  ];
  const resources = lifecycleTags(parts.resources, catalogue);
  for (const { routes } of [...tags, ...resources]) addRoutes(app, routes);
  // This route has its own Fastify scope, because only this route accepts NDJSON.
  await app.register(async (scope) => {
    prepareRecording(scope);
    addRoutes(scope, [recording]);
  });
  const title = 'Posthorn platform API';
  const about = ({ builtin }: Catalogue): DocumentInfo => ({
    title,
    version,
    description:
      'Record events, and manage resources whose status changes are recorded as events. This API is for ' +
      'your own systems: keep it inside your network. Integrators use the public API.',
    guides: platformGuides(builtin),
    securityName: 'platformToken',
    securityDescription:
      'The value of `POSTHORN_PLATFORM_TOKEN`. If that is not set, the service creates a token when it first ' +
      'starts and stores it in the file `platform-token` in its data directory.',
    tagGroups: [
      { name: 'API', tags: [events, ...tags] },
      ...(builtin ? [{ name: 'Resources', tags: resources }] : []),
    ],
  });
  serveApiDocument(app, catalogue, about);
  referenceRoutes(app, title);
  return app;
}
