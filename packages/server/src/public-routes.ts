import { bearerText, type TokenDirectory } from './access/auth.js';
import type { GuessLimit } from './access/rate-limits.js';
import { readLimits } from './access/read-slots.js';
import { ownTokenRoute } from './access/token-routes.js';
import { auditRoutes } from './audit/audit-routes.js';
import type { Catalogue } from './catalogue/catalogue.js';
import { eventTypeRoutes } from './catalogue/catalogue-routes.js';
import type { PortalLogo } from './console/console.js';
import { deliveryRoutes } from './deliveries/delivery-routes.js';
import { replayRoutes } from './deliveries/replay-routes.js';
import type { DeliveryParts, NodeParts } from './delivering.js';
import { earliestReadableMs } from './events/event.js';
import { eventRoutes } from './events/event-routes.js';
import type { EventReads } from './events/event-store.js';
import { tailRoute } from './events/tail-routes.js';
import { version } from './settings/config.js';
import { statsRoutes } from './stats/stats-routes.js';
import { healthRoutes } from './web/health.js';
import type { Route } from './web/route.js';
import type { UnsentBytes } from './web/unsent-bytes.js';
import { webhookRoutes } from './webhooks/webhook-routes.js';

/** What the public listener is made of. */
export interface PublicApiParts extends NodeParts {
  /** Reads events from the primary, or from a replica that is up to date. */
  eventReads: EventReads;
  catalogue: Catalogue;
  logo: PortalLogo | undefined;
  delivery: Pick<DeliveryParts, 'secrets' | 'control'>;
  tokens: TokenDirectory;
  guesses: GuessLimit;
  isReady: () => Promise<boolean>;
  hasStarted: () => boolean;
  /** Aborts when the service begins to stop, and ends the tails. */
  stopping: AbortSignal;
}

/** Returns the operations of the public API. */
export function publicRoutes(parts: PublicApiParts, unsent: UnsentBytes): readonly Route[] {
  const { config, catalogue, database, now, tokens } = parts;
  const context = {
    ...parts,
    ...parts.delivery,
    earliestMs: () => earliestReadableMs(now(), config.eventRetentionMs),
    webhooksMax: config.webhooksMax,
    userAgent: `Posthorn/${version}`,
  };
  return [
    ...healthRoutes(parts.isReady),
    ...eventRoutes(context),
    tailRoute({
      ...context,
      isStillAllowed: (request) => tokens.allows(bearerText(request)),
      readsMax: readLimits(database.use.max).tails,
      unsent,
    }),
    ...eventTypeRoutes(catalogue),
    ...webhookRoutes(context),
    ...deliveryRoutes(context),
    ...replayRoutes(context),
    ...auditRoutes(database, now),
    ownTokenRoute(),
    ...statsRoutes(database, now),
  ];
}
