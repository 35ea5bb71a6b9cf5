/** One fault in a request: in a query parameter, or in the body. */
export interface Fault {
  parameter?: string;
  pointer?: string;
  code: string;
  detail: string;
}

/** An error response of the API, in the API's own words. */
export class ApiProblem extends Error {
  override name = 'ApiProblem';
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly faults: readonly Fault[];
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    status: number,
    body: Partial<{ code: string; title: string; detail: string; errors: Fault[]; request_id: string }>,
    retryAfterMs: number | undefined,
  ) {
    super(body.detail ?? body.title ?? `The service responded ${status}.`);
    this.status = status;
    this.code = body.code ?? 'unknown';
    this.title = body.title ?? 'Something went wrong';
    this.faults = body.errors ?? [];
    this.requestId = body.request_id;
    this.retryAfterMs = retryAfterMs;
  }

  /** Returns what the API says about one field of the body, such as `url`. */
  faultOf(field: string): string | undefined {
    const fault = this.faults.find(
      ({ pointer = '' }) => pointer === `/${field}` || pointer.startsWith(`/${field}/`),
    );
    return fault?.detail;
  }
}

/** The service cannot be reached, or says that it is not ready. */
export class ServiceAway extends Error {
  override name = 'ServiceAway';
  readonly retryAfterMs: number;

  constructor(retryAfterMs = 1_000) {
    super('The service cannot be reached.');
    this.retryAfterMs = retryAfterMs;
  }
}

/** Says what to do about a problem. */
export function remedyOf(error: unknown): string | undefined {
  if (error instanceof ServiceAway) return 'The console tries again by itself.';
  if (!(error instanceof ApiProblem)) return 'Reload the page. If it happens again, report it.';
  switch (error.code) {
    case 'insufficient_scope':
      return 'Ask for a token that has this scope.';
    case 'not_found':
      return 'It may have been deleted, be older than the retention, or belong to another organization.';
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
