/**
 * Every code an error response can carry, with what it means and what to do. The API reference and docs/errors.md
 * are made from this table; a link leads to a page beside the latter.
 */
export const problems = {
  malformed_json: {
    status: 400,
    title: 'The body is not valid JSON',
    advice:
      'The body is not JSON, or not UTF-8. The detail names the character at which reading it failed, for ' +
      'NDJSON the line. A request that says `Content-Type: application/json` must have a body: leave the ' +
      'header out where you send none.',
  },
  malformed_request: {
    status: 400,
    title: 'The request could not be read as HTTP',
    advice:
      'What came is not a well-formed HTTP request: a broken head, a path that cannot be decoded, a body ' +
      'that ended early. It may also come with status 408 (too slow) or 431 (headers too large).',
  },
  invalid_parameter: {
    status: 400,
    title: 'A parameter or header has a fault',
    advice:
      'The query string has a fault, or a header that works like a parameter (`Last-Event-ID`, ' +
      '`Idempotency-Key`). Unknown and repeated parameters are faults, too: nothing is ignored or corrected ' +
      'silently.',
  },
  invalid_cursor: {
    status: 400,
    title: 'The cursor cannot be used for this request',
    advice:
      'The cursor is not one of ours, or was given out for other filters or another order. Start again ' +
      'without it. `limit` may change between pages, nothing else.',
  },
  unauthenticated: {
    status: 401,
    title: 'A valid access token is needed',
    advice:
      'There is no token, or it is malformed, unknown, expired or revoked. On the platform listener: it is ' +
      'not the platform token.',
  },
  insufficient_scope: {
    status: 403,
    title: 'The access token lacks a scope',
    advice:
      'The token is good, but was made without a scope this needs; the detail names it. Creating a webhook ' +
      'needs `webhooks:write` and `events:read`.',
  },
  organization_forbidden: {
    status: 403,
    title: 'The access token is not for this organization',
    advice:
      'The request names an organization the token is not for. The answer is the same whether or not that ' +
      'one exists.',
  },
  workspace_forbidden: {
    status: 403,
    title: 'The access token is not for this workspace',
    advice: 'The token is bound to another workspace.',
  },
  not_found: {
    status: 404,
    title: 'There is nothing here',
    advice:
      'There is nothing at this path, or the id in it is not yours to see, or the event is older than 90 ' +
      'days. One answer for all, so that ids of others cannot be guessed.',
  },
  method_not_allowed: {
    status: 405,
    title: 'This method is not available here',
    advice:
      'The path exists, but not with this method. `Allow` lists those it has. Events cannot be written on ' +
      'the public listener: [record them](record-events.md) on the platform listener.',
  },
  idempotency_in_progress: {
    status: 409,
    title: 'The first request with this key is still running',
    advice:
      'A request with the same `Idempotency-Key` has not been answered yet. Wait for `Retry-After` and ' +
      'repeat it.',
  },
  too_many_webhooks: {
    status: 409,
    title: 'The organization has as many webhooks as it may have',
    advice: 'An organization has at most 100 webhooks. Delete one, or subscribe one to several types.',
  },
  webhook_not_active: {
    status: 409,
    title: 'The webhook does not take events now',
    advice:
      'Redelivery and replay need an active webhook; verification needs one that is not disabled. `PATCH` ' +
      'it with `{"status": "active"}`.',
  },
  webhook_changed: {
    status: 409,
    title: 'The webhook was changed at the same time',
    advice:
      'Another request changed or deleted the webhook while its new URL was being verified. Read it and ' +
      'decide again.',
  },
  too_many_replays: {
    status: 409,
    title: 'The webhook has as many replays running as it may have',
    advice:
      'A webhook has at most 10 replays running at once. Wait until one of them is done, or ask for a wider ' +
      'range at once.',
  },
  move_not_allowed: {
    status: 409,
    title: 'The status of the resource does not allow this move',
    advice:
      'The resource has a status from which this [move](lifecycles.md) does not lead; the detail names it. ' +
      '`possible_moves` lists the moves that do.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The key was used for another request',
    advice: 'The `Idempotency-Key` was used with another body within 24 h. Take a new key for a new request.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    advice: '64 KiB is the most on the public API, 8 MiB on the platform listener.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body is not JSON',
    advice:
      'Send `Content-Type: application/json` (for events on the platform listener also ' +
      '`application/x-ndjson`), without a `Content-Encoding`.',
  },
  invalid_body: {
    status: 422,
    title: 'The body has a fault',
    advice: 'A field is missing, unknown, of the wrong type or not acceptable; `errors` says which.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    advice:
      'The token used up its minute, or the webhook its tests, or too many tails are open. Wait for ' +
      '`Retry-After`. Every authenticated answer carries `RateLimit` and `RateLimit-Policy`, so that you ' +
      'can slow down before.',
  },
  internal: {
    status: 500,
    title: 'Something went wrong on our side',
    advice: 'A fault on our side. It is in the log under the request id.',
  },
  unavailable: {
    status: 503,
    title: 'The service is not available right now',
    advice:
      'The database is out of reach, the node is starting or stopping, or it has more to record than it can ' +
      'hold. Repeat the request after `Retry-After`. A write may have been made all the same: repeat it with its idempotency key.',
  },
} as const satisfies Record<string, { status: number; title: string; advice: string }>;

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
