import type { FastifyInstance } from 'fastify';
import { installAuth } from './access/auth.js';
import { installIdempotency } from './access/idempotency.js';
import { RateLimiter } from './access/rate-limits.js';
import { limitReads, readLimits } from './access/read-slots.js';
import type { Catalogue } from './catalogue/catalogue.js';
import { consoleRoutes, publicUrlOf } from './console/console.js';
import { consoleBuild, findConsoleFiles } from './console/console-files.js';
import { type PublicApiParts, publicRoutes } from './public-routes.js';
import { publicGuides } from './reference/guides.js';
import { type DocumentInfo, serveApiDocument } from './reference/openapi.js';
import { commandLineRoutes, referenceRoutes } from './reference/reference.js';
import { serveEventsDocument, webhooksSection, webhooksSectionTag } from './reference/webhooks-section.js';
import { version } from './settings/config.js';
import { durationText } from './values/duration.js';
import { limitConnections } from './web/connections.js';
import { createListener } from './web/listener.js';
import { addRoutes, type Tag } from './web/route.js';
import { limitUnsentBytes, UnsentBytes } from './web/unsent-bytes.js';

const bodyLimit = 64 * 1024;

const publicTags = (kept: string): readonly Tag[] => [
  {
    name: 'Events',
    description:
      `An event records something that happened on the platform. Events never change and are kept for ` +
      `${kept}.`,
  },
  {
    name: 'Webhooks',
    description:
      'A webhook subscribes to event types. Each matching event is sent to your URL as a signed request.',
  },
  {
    name: 'Deliveries',
    description: `A delivery is one event for one webhook, with every attempt to send it. Deliveries are kept for ${kept}.`,
  },
  {
    name: 'Audit log',
    description: 'The audit log shows who changed what. Entries never change and are kept for 12 months.',
  },
  { name: 'Token', description: 'The access token that you use, and what it may do.' },
  { name: 'Monitoring', description: 'Health checks. No token required.' },
  webhooksSectionTag,
];

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
  const { eventRetentionMs: retentionMs, publicOrigin: serverUrl, retryScheduleMs } = config;
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
  const routes = publicRoutes(parts, unsent);
  addRoutes(app, routes);
  const title = 'Posthorn API';
  const about = (current: Catalogue): DocumentInfo => ({
    title,
    version,
    description:
      'The platform records every significant action as an immutable event. Use this API to read events, to send ' +
      'them to your own HTTP endpoints with webhooks, to inspect every delivery, and to read the audit log. ' +
      `The [console](${serverUrl ?? ''}/console) shows the same in a browser. The command line is one file for Node.js ` +
      `20: \`curl -O ${publicUrlOf(config, undefined)}/cli/posthorn.mjs\`, then \`node posthorn.mjs login\`.`,
    guides: publicGuides(rateLimits, { retryScheduleMs, timeoutMs: config.deliveryTimeoutMs }),
    securityName: 'accessToken',
    securityDescription: 'The operator of the service creates access tokens with `posthorn token create`.',
    tagGroups: [{ name: 'API', tags: publicTags(durationText(retentionMs)) }],
    serverUrl,
    webhooks: webhooksSection(current),
  });
  serveApiDocument(app, catalogue, about, routes);
  serveEventsDocument(app, catalogue, version);
  referenceRoutes(app, title);
  commandLineRoutes(app);
  consoleRoutes(app, { ...config, logo: parts.logo, files: findConsoleFiles(consoleBuild()) });
  return app;
}
