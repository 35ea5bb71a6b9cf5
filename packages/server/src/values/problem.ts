/** Every error code that a response can have. docs/errors.md says what to do about each of them. */
export const problems = {
  malformed_json: { status: 400, title: 'Invalid JSON' },
  malformed_request: { status: 400, title: 'Malformed HTTP request' },
  invalid_parameter: { status: 400, title: 'Invalid parameter or header' },
  invalid_cursor: { status: 400, title: 'Invalid cursor' },
  unauthenticated: { status: 401, title: 'Missing or invalid token' },
  insufficient_scope: { status: 403, title: 'Insufficient scope' },
  organization_forbidden: { status: 403, title: 'Organization not allowed' },
  workspace_forbidden: { status: 403, title: 'Workspace not allowed' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  idempotency_in_progress: { status: 409, title: 'Request already in progress' },
  too_many_webhooks: { status: 409, title: 'Too many webhooks' },
  webhook_not_active: { status: 409, title: 'Webhook not active' },
  webhook_changed: { status: 409, title: 'Webhook changed by another request' },
  too_many_replays: { status: 409, title: 'Too many replays' },
  move_not_allowed: { status: 409, title: 'Move not allowed' },
  catalogue_from_file: { status: 409, title: 'Catalogue comes from a file' },
  wrong_cell: { status: 421, title: 'Organization is in another cell' },
  idempotency_key_reused: { status: 422, title: 'Idempotency key reused' },
  body_too_large: { status: 413, title: 'Body too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  invalid_body: { status: 422, title: 'Invalid request body' },
  secrets_required: { status: 422, title: 'Secrets required again' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Internal error' },
  unavailable: { status: 503, title: 'Service unavailable' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof problems;

/** One error in a request: in a query parameter (by name) or in the body (by JSON pointer). */
export type InputFault = ({ parameter: string } | { pointer: string }) & { code: string; detail: string };

/**
 * An error response. Throw it anywhere while handling a request; the listener sends it as `application/problem+json`.
 */
export class Problem extends Error {
  override name = 'Problem';
  readonly code: ProblemCode;
  readonly faults: readonly InputFault[];
  readonly headers: Readonly<Record<string, string>>;
  /** The allowed moves, for `move_not_allowed`. */
  readonly possibleMoves: readonly string[] | undefined;
  /** The cell to use instead, for `wrong_cell`. */
  readonly cell: string | undefined;

  constructor(
    code: ProblemCode,
    detail: string,
    more: {
      faults?: readonly InputFault[];
      headers?: Readonly<Record<string, string>>;
      possibleMoves?: readonly string[];
      cell?: string;
    } = {},
  ) {
    super(detail);
    this.code = code;
    this.faults = more.faults ?? [];
    this.headers = more.headers ?? {};
    this.possibleMoves = more.possibleMoves;
    this.cell = more.cell;
  }

  get status(): number {
    return problems[this.code].status;
  }
}

/** Returns the problem of a request that can succeed if it is repeated after this many seconds. */
export function unavailable(detail: string, retryAfterSeconds = 1): Problem {
  return new Problem('unavailable', detail, { headers: { 'Retry-After': String(retryAfterSeconds) } });
}

/** Returns the problem of a request that exceeds a limit, and may be repeated after this many seconds. */
export function rateLimited(detail: string, retryAfterSeconds: number): Problem {
  return new Problem('rate_limited', detail, { headers: { 'Retry-After': String(retryAfterSeconds) } });
}

/**
 * Faults that any parameter can have. They say nothing about the cursor itself, so the advice for an invalid cursor,
 * which is to start again without one, does not fit.
 */
const notAboutCursors: ReadonlySet<string> = new Set(['repeated_parameter', 'unknown_parameter']);

/** Returns the problem for all faults in a request, or undefined if there are none. It lists the first `listedMax`. */
export function inputProblem(
  faults: readonly InputFault[],
  listedMax: number = Number.POSITIVE_INFINITY,
): Problem | undefined {
  const first = faults[0];
  if (!first) return undefined;
  const inQuery = faults.filter((fault) => 'parameter' in fault);
  const code =
    inQuery.length === 0
      ? 'invalid_body'
      : inQuery.every(({ parameter, code }) => parameter === 'cursor' && !notAboutCursors.has(code))
        ? 'invalid_cursor'
        : 'invalid_parameter';
  const place = 'parameter' in first ? `'${first.parameter}'` : first.pointer || 'The body';
  const listed = faults.slice(0, listedMax);
  const some = listed.length < faults.length ? `the first ${listed.length - 1} of ` : '';
  const more = faults.length > 1 ? ` See errors for ${some}${faults.length - 1} more.` : '';
  const link = /^(is|must|contains|does|has) /.test(first.detail) ? ' ' : ': ';
  const stop = /[.?!]$/.test(first.detail) ? '' : '.';
  return new Problem(code, `${place}${link}${first.detail}${stop}${more}`, { faults: listed });
}

/** Reports something that the operator can act on. Commands print its message in one line. */
export class OperatorError extends Error {
  override name = 'OperatorError';
}
