/** Every code an error response can carry. The API reference is made from this table. */
export const problems = {
  malformed_json: { status: 400, title: 'The body is not valid JSON' },
  malformed_request: { status: 400, title: 'The request could not be read as HTTP' },
  invalid_parameter: { status: 400, title: 'A parameter or header has a fault' },
  invalid_cursor: { status: 400, title: 'The cursor cannot be used for this request' },
  unauthenticated: { status: 401, title: 'A valid access token is needed' },
  insufficient_scope: { status: 403, title: 'The access token lacks a scope' },
  organization_forbidden: { status: 403, title: 'The access token is not for this organization' },
  workspace_forbidden: { status: 403, title: 'The access token is not for this workspace' },
  not_found: { status: 404, title: 'There is nothing here' },
  method_not_allowed: { status: 405, title: 'This method is not available here' },
  idempotency_in_progress: { status: 409, title: 'The first request with this key is still running' },
  too_many_webhooks: { status: 409, title: 'The organization has as many webhooks as it may have' },
  webhook_not_active: { status: 409, title: 'The webhook does not take events now' },
  webhook_changed: { status: 409, title: 'The webhook was changed at the same time' },
  too_many_replays: { status: 409, title: 'The webhook has as many replays running as it may have' },
  move_not_allowed: { status: 409, title: 'The status of the resource does not allow this move' },
  idempotency_key_reused: { status: 422, title: 'The key was used for another request' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The body is not JSON' },
  invalid_body: { status: 422, title: 'The body has a fault' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  unavailable: { status: 503, title: 'The service is not available right now' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof problems;

/** One fault of an input: a query parameter by its name, or a place in the body by its JSON pointer. */
export type InputFault = ({ parameter: string } | { pointer: string }) & { code: string; detail: string };

/** Thrown anywhere behind a listener, answered in one place as `application/problem+json`. */
export class Problem extends Error {
  override name = 'Problem';
  readonly code: ProblemCode;
  readonly faults: readonly InputFault[];
  readonly headers: Readonly<Record<string, string>>;
  /** For `move_not_allowed`: what could be done instead. */
  readonly possibleMoves: readonly string[] | undefined;

  constructor(
    code: ProblemCode,
    detail: string,
    more: {
      faults?: readonly InputFault[];
      headers?: Readonly<Record<string, string>>;
      possibleMoves?: readonly string[];
    } = {},
  ) {
    super(detail);
    this.code = code;
    this.faults = more.faults ?? [];
    this.headers = more.headers ?? {};
    this.possibleMoves = more.possibleMoves;
  }

  get status(): number {
    return problems[this.code].status;
  }
}

/** The problem for all faults of one request's input; undefined where there are none. */
export function inputProblem(faults: readonly InputFault[]): Problem | undefined {
  const first = faults[0];
  if (!first) return undefined;
  const inQuery = faults.filter((fault) => 'parameter' in fault);
  const code =
    inQuery.length === 0
      ? 'invalid_body'
      : inQuery.every((fault) => fault.parameter === 'cursor' && fault.code !== 'repeated_parameter')
        ? 'invalid_cursor'
        : 'invalid_parameter';
  const place = 'parameter' in first ? `'${first.parameter}'` : first.pointer || 'The body';
  const more = faults.length > 1 ? ` And ${faults.length - 1} more; see errors.` : '';
  const stop = /[.?!]$/.test(first.detail) ? '' : '.';
  return new Problem(code, `${place}: ${first.detail}${stop}${more}`, { faults });
}
