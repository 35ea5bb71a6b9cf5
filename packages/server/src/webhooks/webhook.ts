import { type Catalogue, domainsOf, nearestOf, unknownType } from '../catalogue/catalogue.js';
import type { NewEvent } from '../events/event.js';
import type { Evidence } from '../outcomes/outcome.js';
import type { Fault } from '../values/fault.js';
import type { Format } from './format.js';
import type { SealedHeaders } from './webhook-headers.js';

export const webhookStatuses = ['active', 'unverified', 'paused', 'disabled'] as const;
export type WebhookStatus = (typeof webhookStatuses)[number];

export type DisabledReason = 'gone' | 'failing' | 'manual';

/** A webhook as it is stored. Its secrets and custom headers are encrypted. */
export interface Webhook extends SealedHeaders {
  id: string;
  organization_id: string;
  workspace_id: string | null;
  url: string;
  description: string | null;
  /** Maximum number of requests per second, which the nodes share. */
  rate_limit: number | null;
  /** The waits before the second and later attempts, as durations. Null: those of the service. */
  retry_schedule: readonly string[] | null;
  /** When the webhook is deleted. */
  expires_at: Date | null;
  status: WebhookStatus;
  disabled_reason: DisabledReason | null;
  event_types: readonly string[];
  /** JSON text of a `Filter`. */
  filter: string | null;
  format: Format;
  /** JSON text of a `Template`. */
  template: string | null;
  /** When `format` or `template` last changed. Null if they never did. */
  format_changed_at: Date | null;
  created_at: Date;
  /** When the URL or the header names last changed. Null if they never did. */
  destination_changed_at: Date | null;
  last_delivery_at: Date | null;
  last_delivery_status: 'success' | 'failed' | null;
  /** Since when the webhook is failing: the first of five or more failures in a row. */
  failing_since: Date | null;
  /** Why the latest verification failed. Null if it succeeded, or if none has ended yet. */
  verification_failure: (VerificationFailure & { at: string }) | null;
  secret: Buffer;
  previous_secret: Buffer | null;
  previous_secret_until: Date | null;
  secret_rotated_at: Date | null;
  revision: number;
}

/** Why a verification failed. */
export interface VerificationFailure {
  reason: string;
  http_status: number | null;
  duration_ms: number;
  /** The beginning of the response body, as text. */
  response: string | null;
  /** Absent if the failure was stored by a version of Posthorn that did not keep evidence. */
  evidence?: Evidence;
}

export const testsPerMinuteMax = 10;

/** How long to wait after each failed verification before the next automatic one. */
export const reverifyAfterMs = [60_000, 300_000, 1_800_000, 7_200_000, 43_200_000] as const;

/**
 * A webhook is disabled if it has been failing for `failingMsMax` and its failures span at least `failingSpanMsMin`.
 */
export const failingMsMax = 5 * 86_400_000;
const failingSpanMsMin = 12 * 3_600_000;

/** Returns whether a webhook that had only failures from `sinceMs` to `lastMs` must be disabled. */
export function mustBeDisabled(sinceMs: number, lastMs: number, nowMs: number): boolean {
  return nowMs - sinceMs >= failingMsMax && lastMs - sinceMs >= failingSpanMsMin;
}

/** Returns a subscription in its canonical form: `["*"]`, or distinct types and whole domains (`invoice.*`). */
export function distinctTypes(given: string | readonly string[]): string[] {
  return [...new Set(typeof given === 'string' ? [given] : given)];
}

/**
 * Returns what is wrong with a list of `*`, types and whole domains. Each of them must be in the catalogue or in
 * `subscribed`, because a webhook keeps types that are removed from the catalogue. Skips values that are not strings or
 * have an invalid length, because the schema refuses them.
 */
export function faultsOfSubscription(
  given: readonly unknown[],
  catalogue: Catalogue,
  subscribed: readonly string[],
): Fault[] {
  const faults: Fault[] = [];
  if (given.includes('*') && given.some((type) => type !== '*')) {
    const detail = '* means all types and cannot be combined with others';
    faults.push({ pointer: '', code: 'not_alone', detail });
  }
  for (const [index, type] of given.entries()) {
    const isOfLength = typeof type === 'string' && type !== '' && type.length <= 200;
    if (!isOfLength || type === '*' || subscribed.includes(type)) continue;
    const fault = faultOfType(type, catalogue);
    if (fault) faults.push({ pointer: `/${index}`, ...fault });
  }
  return faults;
}

function faultOfType(type: string, catalogue: Catalogue): Omit<Fault, 'pointer'> | undefined {
  if (catalogue.get(type)) return undefined;
  const domains = domainsOf(catalogue);
  const domain = /^(.*)\.\*$/.exec(type)?.[1];
  if (domain !== undefined && domains.includes(domain)) return undefined;
  const whole = domains.find((one) => type.includes('*') && type.startsWith(`${one}.`));
  const hint = whole === undefined ? '' : `. A pattern covers a whole domain: ${whole}.*`;
  const similar = domain === undefined ? undefined : nearestOf(domains, domain);
  if (similar?.isSimilar) {
    const detail = `${JSON.stringify(type.slice(0, 100))} is not a known domain; did you mean ${similar.name}.*?`;
    return { code: 'unknown_event_type', detail };
  }
  return {
    code: 'unknown_event_type',
    detail: `${JSON.stringify(type.slice(0, 100))} ${unknownType(type, catalogue)}${hint}`,
  };
}

/** The webhook that an event is about. */
export type About = Pick<Webhook, 'id' | 'organization_id' | 'workspace_id'>;

export type ServiceEvent = NewEvent & { undelivered?: boolean };

/** The actor of events that the service records. */
export const serviceActor = { type: 'system', id: 'posthorn' };

function serviceEvent(type: string, webhook: About, payload: object): ServiceEvent {
  const { organization_id, workspace_id } = webhook;
  return {
    type,
    organization_id,
    workspace_id,
    actor: serviceActor,
    subject: { type: 'webhook', id: webhook.id },
    payload: { webhook_id: webhook.id, ...payload },
  };
}

export interface GivenUp {
  delivery_id: string;
  event_id: string;
  event_type: string;
  attempts: number;
  http_status: number | null;
  error: string | null;
  last_attempt_at: string;
}

export const deliveryFailedType = 'webhook.delivery_failed';

/**
 * Returns the event for a delivery that the service gave up on. If the undelivered event was itself about a webhook,
 * the new event is recorded but not delivered: otherwise two failing webhooks would report each other's failures
 * forever.
 */
export function deliveryFailed(webhook: About, givenUp: GivenUp): ServiceEvent {
  const event = serviceEvent(deliveryFailedType, webhook, givenUp);
  return givenUp.event_type.startsWith('webhook.') ? { ...event, undelivered: true } : event;
}

/** The event type. It is also the action in the audit log if someone requested the verification. */
export const verificationFailedType = 'webhook.verification_failed';

/**
 * Returns the event for a failed verification. It leaves out the receiver's response, which only tokens that can read
 * the webhook may see.
 */
export function verificationFailed(webhook: About, failure: VerificationFailure): ServiceEvent {
  const { reason, http_status, duration_ms } = failure;
  return serviceEvent(verificationFailedType, webhook, { reason, http_status, duration_ms });
}

export function webhookDisabled(webhook: About, reason: DisabledReason): ServiceEvent {
  return serviceEvent('webhook.disabled', webhook, { reason });
}
