import type { FastifyRequest } from 'fastify';
import type { Catalogue } from '../catalogue/catalogue.js';
import type { Database } from '../postgres/database.js';
import type { InputFault } from '../values/problem.js';
import { webhookKey } from './webhook-lookup.js';
import { eventTypesFaults } from './webhook-schemas.js';
import { readWebhook } from './webhook-store.js';

/**
 * Returns what is wrong with the `event_types` of a request about the webhook in the path. They can contain what the
 * webhook already subscribes to, even if it is no longer in the catalogue.
 */
export async function subscribedTypesFaults(
  database: Database,
  catalogue: Catalogue,
  request: FastifyRequest,
): Promise<readonly InputFault[]> {
  const { event_types: given } = (request.body ?? {}) as { event_types?: unknown };
  const faults = eventTypesFaults(given, catalogue);
  if (faults.length === 0) return faults;
  const webhook = await readWebhook(database, webhookKey(request));
  return eventTypesFaults(given, catalogue, webhook?.event_types);
}
