import type { FastifyInstance } from 'fastify';
import { bearerText, installAuth, type TokenDirectory } from './access/auth.js';
import { installIdempotency } from './access/idempotency.js';
import { type GuessLimit, RateLimiter } from './access/rate-limits.js';
import { limitReads, readLimits } from './access/read-slots.js';
import { ownTokenRoute } from './access/token-routes.js';
import { auditRoutes } from './audit/audit-routes.js';
import type { Catalogue } from './catalogue/catalogue.js';
import { eventTypeRoutes } from './catalogue/catalogue-routes.js';
import * as consoles from './console/console.js';
import { deliveryRoutes } from './deliveries/delivery-routes.js';
import { replayRoutes } from './deliveries/replay-routes.js';
import type { DeliveryParts, NodeParts } from './delivering.js';
import { earliestReadableMs } from './events/event.js';
import { eventRoutes } from './events/event-routes.js';
import { type EventReads, Horizons } from './events/event-store.js';
import { tailRoute } from './events/tail-routes.js';
import { healthRoutes } from './operations/monitoring-routes.js';
import { publicGuides } from './reference/guides.js';
import { type DocumentInfo, serveApiDocument } from './reference/openapi.js';
import { commandLineRoutes, referenceRoutes } from './reference/reference.js';
import { serveEventsDocument, webhooksSection, webhooksSectionTag } from './reference/webhooks-section.js';
import { version } from './settings/config.js';
import { statsRoutes } from './stats/stats-routes.js';
import { durationText } from './values/time.js';
import { limitConnections } from './web/connections.js';
import { createListener } from './web/listener.js';
import { addRoutes, type Tag } from './web/route.js';
import { limitUnsentBytes, UnsentBytes } from './web/unsent-bytes.js';
import { webhookRoutes } from './webhooks/webhook-routes.js';

const bodyLimit = 64 * 1024;

/** Returns where to send a request that has no route here. Clients do not learn the platform listener's address. */
function elsewhere(method: string, path: string): string | undefined {
  if (method === 'POST' && path === '/v1/events')
    return 'To record events, use POST /platform/events on the platform listener.';
  return path.startsWith('/platform/')
    ? 'This is the public listener. The platform API is on the platform listener (POSTHORN_PLATFORM_PORT, 7401 by ' +
        'default).'
    : undefined;
}

/** Creates the public listener: API, console and reference. */
export async function createPublicApi(parts: PublicApiParts): Promise<FastifyInstance> {
  const { config, catalogue, database, logger, now, tokens } = parts;
  const { publicOrigin: serverUrl } = config;
  const app = await createListener({
    name: 'public',
    logger,
    bodyLimit,
    trustedProxies: config.trustedProxies,
    hasStarted: parts.hasStarted,
    onFinished: parts.metrics.observeRequests('public'),
    elsewhere,
  });
  limitConnections(app.server, (connections) =>
    logger.warn({ connections }, 'connections to the public listener are refused: too many are open'),
  );
  const rateLimits = { reads: config.rateLimitReads, writes: config.rateLimitWrites };
  installAuth(app, tokens, new RateLimiter(rateLimits, now), parts.guesses);
  limitReads(app, readLimits(database.use.max));
  const unsent = new UnsentBytes();
  limitUnsentBytes(app, unsent);
  installIdempotency(app, database, parts.delivery.secrets);
  const tags = publicTags(parts, unsent);
  for (const { routes } of tags) addRoutes(app, routes);
  const title = 'Posthorn API';
  const about = (current: Catalogue): DocumentInfo => ({
    title,
    version,
    description:
      'The platform records every significant action as an immutable event. Use this API to read events, to send ' +
      'them to your own HTTP endpoints with webhooks, to inspect every delivery, and to read the audit log. ' +
      `The [console](${serverUrl ?? ''}/console) shows the same in a browser. The command line is one file for Node.js ` +
      `20: \`curl -O ${consoles.publicUrlOf(config, undefined)}/cli/posthorn.mjs\`, then \`node posthorn.mjs login\`.`,
    guides: publicGuides(rateLimits, config),
    securityName: 'accessToken',
    securityDescription: 'The operator of the service creates access tokens with `posthorn token create`.',
    tagGroups: [{ name: 'API', tags: [...tags, webhooksSectionTag] }],
    serverUrl,
    webhooks: webhooksSection(current),
  });
  serveApiDocument(app, catalogue, about);
  serveEventsDocument(app, catalogue, version);
  referenceRoutes(app, title);
  commandLineRoutes(app);
  consoles.consoleRoutes(app, {
    ...config,
    logo: parts.logo,
    files: consoles.findConsoleFiles(consoles.consoleBuild()),
  });
  return app;
}

/** What the public listener is made of. */
export interface PublicApiParts extends NodeParts {
  /** Reads events from the primary, or from a replica that is up to date. */
  eventReads: EventReads;
  catalogue: Catalogue;
  logo: consoles.PortalLogo | undefined;
  delivery: Pick<DeliveryParts, 'secrets' | 'control'>;
  tokens: TokenDirectory;
  guesses: GuessLimit;
  isReady: () => Promise<boolean>;
  hasStarted: () => boolean;
  /** Aborts when the service begins to stop, and ends the tails. */
  stopping: AbortSignal;
}

/** Returns the operations of the public API, under their headings. */
export function publicTags(parts: PublicApiParts, unsent: UnsentBytes): readonly Required<Tag>[] {
  const { config, catalogue, database, now, tokens } = parts;
  const context = {
    ...parts,
    ...parts.delivery,
    earliestMs: () => earliestReadableMs(now(), config.eventRetentionMs),
    horizons: new Horizons(database),
    webhooksMax: config.webhooksMax,
    userAgent: `Posthorn/${version}`,
  };
  const tail = tailRoute({
    ...context,
    isStillAllowed: (request) => tokens.allows(bearerText(request)),
    readsMax: readLimits(database.use.max).tails,
    unsent,
  });
  const kept = durationText(config.eventRetentionMs);
  return [
    {
      name: 'Events',
      description: `An event records something that happened on the platform. Events never change and are kept for ${kept}.`,
      routes: [...eventRoutes(context), tail, ...eventTypeRoutes(catalogue)],
    },
    {
      name: 'Webhooks',
      description:
        'A webhook subscribes to event types. Each matching event is sent to your URL as a signed request.',
      routes: webhookRoutes(context),
    },
    {
      name: 'Deliveries',
      description: `A delivery is one event for one webhook, with every attempt to send it. Deliveries are kept for ${kept}.`,
      routes: [...deliveryRoutes(context), ...replayRoutes(context), ...statsRoutes(database, now)],
    },
    {
      name: 'Audit log',
      description: 'The audit log shows who changed what. Entries never change and are kept for 12 months.',
      routes: auditRoutes(database, now),
    },
    {
      name: 'Token',
      description: 'The access token that you use, and what it may do.',
      routes: [ownTokenRoute()],
    },
    {
      name: 'Monitoring',
      description: 'Health checks. No token required.',
      routes: healthRoutes(parts.isReady),
    },
  ];
}
