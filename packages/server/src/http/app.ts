import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { AddressPolicy } from '../domain/address.js';
import type { Catalogue } from '../domain/catalogue.js';
import type { SecretBox } from '../domain/secret-box.js';
import type { Bell } from '../signals/bell.js';
import type { Database } from '../storage/database.js';
import { healthRoutes } from '../web/health.js';
import { createListener } from '../web/listener.js';
import type { Metrics } from '../web/metrics.js';
import { installOpenApi } from '../web/openapi.js';
import { ProblemSchema } from '../web/problem-schema.js';
import { referenceRoutes } from '../web/reference.js';
import { auditLogRoutes } from './audit-logs.js';
import { bearerText, installAuth, type TokenDirectory } from './auth.js';
import type { Courier } from './courier.js';
import { deliveryRoutes } from './deliveries.js';
import { eventTailRoute } from './event-tail.js';
import { eventTypeRoutes } from './event-types.js';
import { eventRoutes } from './events.js';
import { installIdempotency } from './idempotency.js';
import { RateLimiter, type RateLimits } from './rate-limit.js';
import { replayRoutes } from './replays.js';
import { webhookListRoute } from './webhook-list.js';
import { webhookSecretRoute } from './webhook-secret.js';
import { webhookStatsRoute } from './webhook-stats.js';
import { webhookTestRoute } from './webhook-test.js';
import { webhookVerifyRoute } from './webhook-verify.js';
import { webhookRoutes } from './webhooks.js';
import { webhooksSection } from './webhooks-section.js';

export interface PublicApiOptions {
  logger: FastifyBaseLogger;
  version: string;
  database: Database;
  tokens: TokenDirectory;
  catalogue: Catalogue;
  policy: AddressPolicy;
  secrets: SecretBox;
  courier: Courier;
  rateLimits: RateLimits;
  metrics: Metrics;
  recorded: Bell;
  now: () => number;
  isReady: () => Promise<boolean>;
  stopping: AbortSignal;
}

const bodyLimit = 64 * 1024;

/** The public API: what integrators reach. */
export async function createPublicApi(options: PublicApiOptions): Promise<FastifyInstance> {
  const { catalogue, courier, database, now, tokens } = options;
  const app = await createListener({
    name: 'public',
    logger: options.logger,
    bodyLimit,
    onFinished: options.metrics.observeRequests('public'),
  });
  installAuth(app, tokens, new RateLimiter(options.rateLimits, now));
  installIdempotency(app, database, now);
  await installOpenApi(app, {
    title: 'Posthorn API',
    version: options.version,
    description:
      'The event stream and webhooks of an operations platform. Everything significant that happens is an ' +
      'immutable event: read events here, or have them sent to your own endpoints.\n\n' +
      'Guides, in the repository: `docs/receive-webhooks.md`, `docs/manage-webhooks.md`, `docs/read-events.md`, ' +
      '`docs/audit-log.md`, `docs/event-types.md`; `docs/README.md` lists them all.',
    securityName: 'accessToken',
    securityDescription: 'An access token, made by `posthorn token create`.',
    tokenVariable: 'POSTHORN_TOKEN',
    tags: [
      {
        name: 'Events',
        description:
          'What happened, newest first, for 90 days. Guide: `docs/read-events.md` in the repository.',
      },
      {
        name: 'Webhooks',
        description: 'Where events are sent. Guide: `docs/manage-webhooks.md` in the repository.',
      },
      {
        name: 'Deliveries',
        description:
          'What was sent, every attempt, and how to send it again. Guide: `docs/manage-webhooks.md` in the repository.',
      },
      {
        name: 'Audit log',
        description: 'Who changed what, for 12 months. Guide: `docs/audit-log.md` in the repository.',
      },
      { name: 'Operations', description: 'Health.' },
      { name: 'Received webhooks', description: 'What your endpoint gets.' },
    ],
    webhooks: webhooksSection(catalogue),
    problemSchema: ProblemSchema,
  });
  healthRoutes(app, options.isReady);
  eventRoutes(app, database, now);
  eventTailRoute(app, {
    ...{ database, now, recorded: options.recorded, stopping: options.stopping },
    isStillAllowed: async (request) => (await tokens.find(bearerText(request))) !== undefined,
  });
  eventTypeRoutes(app, catalogue);
  webhookListRoute(app, database);
  webhookRoutes(app, {
    ...{ database, catalogue, courier, now },
    policy: options.policy,
    secrets: options.secrets,
  });
  webhookVerifyRoute(app, { database, courier, now });
  webhookSecretRoute(app, { ...{ database, courier, now }, secrets: options.secrets });
  webhookTestRoute(app, { database, catalogue, courier, now });
  webhookStatsRoute(app, database, now);
  deliveryRoutes(app, database, now);
  replayRoutes(app, database, catalogue, now);
  auditLogRoutes(app, database, now);
  referenceRoutes(app);
  return app;
}
