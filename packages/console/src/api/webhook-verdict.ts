import type { Delivery, Webhook } from '@posthorn/client';
import { t } from '../text/language';
import { webhookName } from './webhook-name';

export interface Verdict {
  /** Whether its deliveries fail. If it is unknown, the result of the latest attempt counts. */
  isFailing?: boolean;
  /** If its receiver asked to wait and it is not failing: the time of the next attempt. */
  waitsUntil?: string | undefined;
  /** The delivery whose latest attempt failed last. */
  latestFailure?: Delivery | undefined;
}

/** A webhook and, if its latest attempt failed, what that means. */
export interface JudgedWebhook extends Webhook, Verdict {}

/** The color and the name of each status. What people see first is first. */
export const statuses = {
  failing: ['bad', t`Failing`],
  disabled: ['bad', t`Disabled`],
  unverified: ['warn', t`Unverified`],
  waiting: ['mute', t`Waiting`],
  active: ['ok', t`Active`],
  paused: ['mute', t`Paused`],
  disabled_manually: ['mute', t`Disabled`],
} as const;
export type ShownStatus = keyof typeof statuses;

/**
 * Returns the API's status, extended with what people ask first: is the webhook failing, does it wait because its
 * receiver asked for that, and did someone disable it?
 */
export function shownStatusOf(webhook: JudgedWebhook): ShownStatus {
  if (webhook.status === 'unverified' || webhook.status === 'paused') return webhook.status;
  if (webhook.status === 'disabled')
    return webhook.disabled_reason === 'manual' ? 'disabled_manually' : 'disabled';
  if (webhook.waitsUntil) return 'waiting';
  return (webhook.isFailing ?? webhook.last_delivery_status === 'failed') ? 'failing' : 'active';
}

/** The order of webhooks everywhere: those with problems come first, then by name. */
export function byUrgency(one: JudgedWebhook, other: JudgedWebhook): number {
  const order = Object.keys(statuses);
  const first = order.indexOf(shownStatusOf(one)) - order.indexOf(shownStatusOf(other));
  return first || webhookName(one).localeCompare(webhookName(other), undefined, { numeric: true });
}

export function needsAttention(webhook: Webhook): boolean {
  return ['failing', 'unverified', 'disabled'].includes(shownStatusOf(webhook));
}

/** How many of the latest deliveries of a webhook show whether it fails. */
export const judgedMax = 10;
/** Many receivers fail now and then, and the next attempt succeeds. */
const failuresMin = 3;

type Judged = Pick<
  Delivery,
  'status' | 'final' | 'attempts' | 'created_at' | 'delivered_at' | 'last_attempt_at'
>;

/**
 * Returns whether a webhook whose latest attempt failed needs attention: a delivery was given up, or several attempts in
 * a row failed, or none succeeded. If its receiver asked to wait, only a delivery that was given up counts.
 */
export function isFailing(latest: readonly Judged[], asksToWait: boolean): boolean {
  if (latest.some(({ status, final }) => status === 'failed' && final)) return true;
  if (asksToWait) return false;
  const succeeded = latest.flatMap(({ delivered_at: at }) => (at ? Date.parse(at) : []));
  if (succeeded.length === 0) return true;
  const sinceMs = Math.max(...succeeded);
  const failures = latest
    .filter(({ status, last_attempt_at: at }) => status === 'failed' && at && Date.parse(at) > sinceMs)
    // The list shows only when the latest attempt was made. If the delivery is newer, the others were later too.
    .map(({ attempts, created_at }) => (Date.parse(created_at) > sinceMs ? attempts : 1));
  return failures.reduce((sum, count) => sum + count, 0) >= failuresMin;
}

/** Returns the delivery whose latest attempt failed last. */
export function latestFailureOf<T extends Delivery>(latest: readonly T[]): T | undefined {
  return latest
    .filter(({ status }) => status === 'failed')
    .toSorted((one, other) => (other.last_attempt_at ?? '').localeCompare(one.last_attempt_at ?? ''))[0];
}

/** Returns the delivery whose latest attempt failed last, if its receiver may have asked to wait. */
export function mayAskToWait<T extends Delivery>(latest: readonly T[]): T | undefined {
  const last = latestFailureOf(latest.filter(({ final }) => !final));
  return last?.http_status === 429 || last?.http_status === 503 ? last : undefined;
}
