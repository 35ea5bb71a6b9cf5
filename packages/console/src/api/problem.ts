import { PosthornError } from '@posthorn/client';
import { t } from '../text/language';
import { wasRefused } from './connection';

/** Returns whether the service was unreachable or reported that it is not ready. */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof PosthornError)) return false;
  if (error.code === 'unreachable') return true;
  return error.status >= 502 && error.status <= 504 && !wasRefused(error.requestId);
}

/** Returns the error if it says something about the request, and not about the connection. */
export function problemIn(error: unknown): PosthornError | undefined {
  return error instanceof PosthornError && !isUnreachable(error) ? error : undefined;
}

/**
 * Returns what the API says about one field of the body, such as `url`, as a sentence. Some details are sentences
 * already; others, such as "is required", lack a subject and a full stop.
 */
export function faultOf(problem: PosthornError | undefined, field: string): string | undefined {
  const fault = problem?.errors.find(
    ({ pointer = '' }) => pointer === `/${field}` || pointer.startsWith(`/${field}/`),
  );
  if (!fault) return undefined;
  const { detail } = fault;
  const sentence = /^[a-z]/.test(detail) ? `This ${detail}` : detail;
  return /[.?!]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** Returns whether an action that failed may still have taken effect. It has not if the service refused it. */
export function isOutcomeUnknown(error: unknown): boolean {
  return !(error instanceof PosthornError) || error.status < 400 || error.status > 499;
}

/**
 * Returns whether nothing is known about the outcome of an action, because the service itself did not respond: there was
 * no response, or a proxy sent one.
 */
export function hasNoResponse(error: unknown): boolean {
  if (!(error instanceof PosthornError) || !isOutcomeUnknown(error)) return false;
  return error.status === 0 || error.code === 'unexpected_response';
}

/** Says what went wrong. Some details of the client are about the URL, which users cannot change. */
export function messageOf(error: unknown): string {
  if (error instanceof PosthornError && error.code === 'unexpected_response') {
    return t`The response with status ${error.status} did not come from the service.`;
  }
  if (error instanceof PosthornError && error.code === 'unreachable') {
    return t`There was no response: the connection failed or was lost.`;
  }
  if (error instanceof PosthornError && error.code === 'timeout') return t`No response arrived in time.`;
  return error instanceof Error ? error.message : String(error);
}

const pressAgain = t`You can safely press the button again.`;
const clearFilters = t`Clear the filters and start again.`;
const remedies: Partial<Record<string, string>> = {
  insufficient_scope: t`Ask for a token that has this scope.`,
  not_found: t`Check that the ID is correct and belongs to your organization.`,
  invalid_cursor: clearFilters,
  invalid_parameter: clearFilters,
  too_many_webhooks: t`Delete a webhook, or subscribe an existing one to more event types.`,
  webhook_changed: t`Reload the webhook, then try again.`,
  rate_limited: t`Wait a moment, then try again.`,
  internal: t`Try again. If the error occurs again, report it with the request ID.`,
};

/** Says what to do about a problem. The console repeats what it reads, but never an action. */
export function remedyOf(error: unknown, isAction = false): string | undefined {
  if (isAction && hasNoResponse(error)) {
    return t`The action may have taken effect. You can safely press the button again.`;
  }
  if (isUnreachable(error)) {
    // If the service responded, its message says whether the action may have taken effect.
    return isAction ? pressAgain : t`The console will try again automatically.`;
  }
  const problem = problemIn(error);
  if (!problem) return t`Reload the page. If the error occurs again, report it.`;
  // If it is unavailable, its message says that a read can be repeated.
  if (problem.code === 'unavailable' && isAction) return pressAgain;
  return remedies[problem.code];
}
