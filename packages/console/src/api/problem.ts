import { PosthornError } from '@posthorn/client';

/** Returns whether the service was unreachable or reported that it is not ready. */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof PosthornError)) return false;
  return error.code === 'unreachable' || (error.status >= 502 && error.status <= 504);
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

/** Returns whether an action that failed may have taken effect: only if the service refused it, it did not. */
export function isOutcomeUnknown(error: unknown): boolean {
  return !(error instanceof PosthornError) || error.status < 400 || error.status > 499;
}

/** Says what to do about a problem. The console repeats what it reads, but never an action. */
export function remedyOf(error: unknown, isAction = false): string | undefined {
  if (isUnreachable(error)) {
    return isAction
      ? 'The action may have taken effect. You can safely press the button again.'
      : 'The console will try again automatically.';
  }
  const problem = problemIn(error);
  if (!problem) return 'Reload the page. If it happens again, report it.';
  switch (problem.code) {
    case 'insufficient_scope':
      return 'Ask for a token that has this scope.';
    case 'not_found':
      return 'Check the ID, and that it belongs to your organization.';
    case 'invalid_cursor':
    case 'invalid_parameter':
      return 'Clear the filters and start again.';
    case 'too_many_webhooks':
      return 'Delete a webhook, or subscribe an existing one to more event types.';
    case 'webhook_not_active':
      return 'Activate the webhook in its settings first.';
    case 'webhook_changed':
      return 'Reload the webhook, then try again.';
    case 'rate_limited':
      return 'Wait a moment, then try again.';
    case 'internal':
      return 'Try again. If it happens again, report the request ID.';
    default:
      return undefined;
  }
}
