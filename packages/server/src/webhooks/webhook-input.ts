import { type Catalogue, unknownType } from '../catalogue/catalogue.js';
import type { Database } from '../postgres/database.js';
import type { AddressPolicy } from '../values/address.js';
import { under } from '../values/fault.js';
import type { InputFault } from '../values/problem.js';
import { dayMs, parseDurationMs, parseInstantMs } from '../values/time.js';
import { readRange } from '../web/lists.js';
import type { Arrived } from '../web/route.js';
import { filterFaults } from './filter.js';
import { formatFault } from './format.js';
import { templateFaults } from './template.js';
import { faultsOfSubscription } from './webhook.js';
import { headerFaults } from './webhook-headers.js';
import { readWebhook } from './webhook-store.js';
import { faultOfUrl } from './webhook-url.js';
import { webhookKey } from './webhook-writes.js';

const graceMsMax = 30 * dayMs;
const retryWaitMsMax = 30 * dayMs;

export interface InputContext {
  now: () => number;
  database: Database;
  catalogue: Catalogue;
  policy: AddressPolicy;
}

/** Checks the fields of a webhook. With `canKeep`, they can name types and headers that the webhook already has. */
export async function checkWebhook(
  { database, catalogue, policy, now }: InputContext,
  arrived: Arrived,
  faults: InputFault[],
  canKeep: boolean,
): Promise<void> {
  const { url, event_types, headers, filter } = arrived.body;
  checkSecret(arrived, faults);
  checkLifetime(arrived, now(), faults);
  const urlFault = typeof url === 'string' ? faultOfUrl(url, policy) : undefined;
  if (urlFault) faults.push({ pointer: '/url', ...urlFault });
  if (canKeep) await checkSubscription(database, catalogue, arrived, faults);
  else faults.push(...eventTypesFaults(event_types, catalogue));
  if (typeof headers === 'object' && !Array.isArray(headers))
    faults.push(...under('/headers', headerFaults(headers, canKeep)));
  checkFilter(filter, faults);
  checkTemplate(arrived.body, faults, canKeep);
}

/** Checks what a preview shares with a webhook. */
export function checkPreview({ catalogue }: InputContext, { body }: Arrived, faults: InputFault[]) {
  faults.push(...eventTypesFaults(body.event_types, catalogue));
  checkFilter(body.filter, faults);
  checkTemplate(body, faults, false);
  return readRange(body, faults, 'body');
}

/** Checks the template. With `canKeep`, the webhook may already have the format or the template. */
function checkTemplate({ format, template }: Arrived['body'], faults: InputFault[], canKeep: boolean): void {
  if (typeof template === 'object' && template !== null)
    faults.push(...under('/template', templateFaults(template)));
  const fault = canKeep ? undefined : formatFault(format, template);
  if (fault) faults.push(fault);
}

function checkFilter(filter: unknown, faults: InputFault[]): void {
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) return;
  faults.push(...under('/filter', filterFaults(filter)));
}

/** Checks the waits between attempts, and the time at which the webhook is deleted. */
function checkLifetime(
  { body: { retry_schedule: waits, expires_at } }: Arrived,
  nowMs: number,
  faults: InputFault[],
) {
  for (const [index, wait] of Array.isArray(waits) && waits.length <= 19 ? waits.entries() : []) {
    const ms = typeof wait === 'string' ? parseDurationMs(wait) : 1;
    if (ms !== undefined && ms > 0 && ms <= retryWaitMsMax) continue;
    const detail = 'must be a duration from 1ms to 30d, such as 5m';
    faults.push({ pointer: `/retry_schedule/${index}`, code: 'invalid_duration', detail });
  }
  if (typeof expires_at !== 'string') return;
  const ms = parseInstantMs(expires_at, 'start');
  const detail = 'must be a time with Z or an offset (2026-11-15T09:30:00Z)';
  if (ms === undefined || expires_at.length === 10)
    faults.push({ pointer: '/expires_at', code: 'unreadable_time', detail });
  else if (ms <= nowMs)
    faults.push({ pointer: '/expires_at', code: 'not_in_future', detail: 'must be in the future' });
}

/**
 * Checks the `event_types` of a request about the webhook in the path. They can contain what the webhook already
 * subscribes to, even if it is no longer in the catalogue.
 */
export async function checkSubscription(
  database: Database,
  catalogue: Catalogue,
  { request, body: { event_types } }: Arrived,
  faults: InputFault[],
): Promise<void> {
  if (eventTypesFaults(event_types, catalogue).length === 0) return;
  const webhook = await readWebhook(database, webhookKey(request));
  faults.push(...eventTypesFaults(event_types, catalogue, webhook?.event_types));
}

/** Returns faults in `event_types` that the schema does not detect. Types in `subscribed` need not be known. */
function eventTypesFaults(
  given: unknown,
  catalogue: Catalogue,
  subscribed: readonly string[] = [],
): readonly InputFault[] {
  if (!Array.isArray(given) || given.length > 100) return [];
  return under('/event_types', faultsOfSubscription(given, catalogue, subscribed));
}

/**
 * Refuses a `whsec_` secret in URL-safe base64: Standard Webhooks libraries decode it differently, so signatures would
 * match in some and not in others.
 */
export function checkSecret({ body: { secret } }: Arrived, faults: InputFault[]): void {
  if (typeof secret !== 'string' || !/^whsec_(?=.*[-_])[\w-]+={0,2}$/.test(secret)) return;
  const detail =
    'must use + and / instead of - and _ after whsec_: Standard Webhooks libraries decode URL-safe base64 differently';
  faults.push({ pointer: '/secret', code: 'not_standard_base64', detail });
}

/** Returns the grace period of a rotation in milliseconds. */
export function readGrace({ body: { grace = '24h' } }: Arrived, faults: InputFault[]): number {
  const ms = typeof grace === 'string' ? parseDurationMs(grace) : 0;
  if (ms !== undefined && ms <= graceMsMax) return ms;
  const detail =
    'must be a duration such as 24h, at most 30d; with 0s, the old secret stops working immediately';
  faults.push({ pointer: '/grace', code: 'invalid_duration', detail });
  return 0;
}

export function checkTestType({ body }: Arrived, catalogue: Catalogue, faults: InputFault[]): void {
  const { event_type: type } = body;
  if (typeof type !== 'string' || type === '' || catalogue.get(type)) return;
  faults.push({ pointer: '/event_type', code: 'unknown_event_type', detail: unknownType(type, catalogue) });
}
