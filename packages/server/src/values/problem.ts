import { isUnknown } from './fault.js';

/**
 * Every error code that a response can have, with its meaning and what to do about it. The API reference and
 * docs/errors.md are generated from this table.
 */
export const problems = {
  malformed_json: {
    status: 400,
    title: 'Invalid JSON',
    advice:
      'The body is not valid JSON or is not UTF-8. The detail contains the position of the error, or the line for ' +
      'NDJSON. If you send no body, omit `Content-Type: application/json`.',
  },
  malformed_request: {
    status: 400,
    title: 'Malformed HTTP request',
    advice:
      'The request is not well-formed HTTP: for example, the headers are broken, the path cannot be ' +
      'decoded, or the body ended early. The status can also be 408 (the request took too long to arrive) ' +
      'or 431 (the headers are too large).',
  },
  invalid_parameter: {
    status: 400,
    title: 'Invalid parameter or header',
    advice:
      'A query parameter or a header (`Last-Event-ID`, `Idempotency-Key`) is not valid. Unknown and repeated ' +
      'parameters are errors, too. See `errors`.',
  },
  invalid_cursor: {
    status: 400,
    title: 'Invalid cursor',
    advice:
      'The cursor does not come from this service, or it comes from a request with different filters or a different ' +
      'order. Start again without a cursor. Only `limit` may change between pages.',
  },
  unauthenticated: {
    status: 401,
    title: 'Missing or invalid token',
    advice:
      'The token is missing, malformed, unknown, expired or revoked. The platform listener accepts only the ' +
      'platform token.',
  },
  insufficient_scope: {
    status: 403,
    title: 'Insufficient scope',
    advice: 'The token is valid but does not have a required scope. The detail names the scope.',
  },
  organization_forbidden: {
    status: 403,
    title: 'Organization not allowed',
    advice:
      'The token does not belong to the organization in the request. The response is the same whether or ' +
      'not that organization exists.',
  },
  workspace_forbidden: {
    status: 403,
    title: 'Workspace not allowed',
    advice: 'The token is restricted to another workspace.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    advice:
      'The path or the resource does not exist, the token cannot access the resource, or the event is past its ' +
      'retention period. For an ID, the response is the same in each case, so that nobody can find out which IDs exist.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    advice:
      'The path exists but does not support this method. `Allow` lists the methods that it supports. For ' +
      'example, the public API cannot record events: send them to `POST /platform/events` on the platform listener.',
  },
  idempotency_in_progress: {
    status: 409,
    title: 'Request already in progress',
    advice:
      'The first request with this `Idempotency-Key` is still running. Wait for the number of seconds in ' +
      '`Retry-After`, then repeat the request.',
  },
  too_many_webhooks: {
    status: 409,
    title: 'Too many webhooks',
    advice:
      'The organization has reached its maximum number of webhooks. The detail contains the limit. Delete a ' +
      'webhook, or subscribe an existing one to more event types.',
  },
  webhook_not_active: {
    status: 409,
    title: 'Webhook not active',
    advice:
      'Redelivery and replay require an active webhook. Verification requires a webhook that is not ' +
      'disabled. To activate a webhook, send `PATCH` with `{"status": "active"}`.',
  },
  webhook_changed: {
    status: 409,
    title: 'Webhook changed by another request',
    advice:
      'Another request changed or deleted the webhook at the same time, for example while its new URL was ' +
      'being verified. Get the webhook before you try again.',
  },
  too_many_replays: {
    status: 409,
    title: 'Too many replays',
    advice:
      'A webhook can have at most 10 running replays. Wait until one is done, or combine several into one ' +
      'with a wider time range.',
  },
  move_not_allowed: {
    status: 409,
    title: 'Move not allowed',
    advice:
      'The status of the resource does not allow this move. The detail contains the status, and `possible_moves` ' +
      'lists the moves that are allowed.',
  },
  wrong_cell: {
    status: 421,
    title: 'Organization is in another cell',
    advice:
      'The token belongs to another cell, or the organization has moved to another cell. `cell` contains the name of the right one. ' +
      'Nothing was changed. Send the request to that cell. `@posthorn/client` does this automatically if it knows the addresses of the ' +
      'cells. On the platform listener, a whole batch is rejected if one of its organizations is in another cell.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'Idempotency key reused',
    advice:
      'This `Idempotency-Key` was used with a different body in the last 24 hours. Use a new key for a new ' +
      'request.',
  },
  body_too_large: {
    status: 413,
    title: 'Body too large',
    advice: 'The limit is 64 KiB on the public API and 8 MiB on the platform listener.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    advice:
      'Send `Content-Type: application/json` and no `Content-Encoding`. For events, the platform listener ' +
      'also accepts `application/x-ndjson`.',
  },
  invalid_body: {
    status: 422,
    title: 'Invalid request body',
    advice:
      'A field is missing, unknown or of the wrong type, or has a value that is not accepted. See `errors`.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    advice:
      'One of these limits was exceeded: requests per minute with the token, test events per minute to the webhook, ' +
      'open tails of the token or its organization, or requests with an invalid token from your address. Wait for the ' +
      'number of seconds in `Retry-After`. The `RateLimit` header shows how many requests with the token are left.',
  },
  internal: {
    status: 500,
    title: 'Internal error',
    advice: 'Something failed in the service. The details are in the log, under the request ID.',
  },
  unavailable: {
    status: 503,
    title: 'Service unavailable',
    advice:
      'The service cannot handle the request at the moment: for example, the database is unreachable or overloaded, ' +
      'the node is starting or stopping, or the organization is being moved to another cell. The detail says why. Wait ' +
      'for the number of seconds in `Retry-After`, then repeat the request. Unless the detail says that nothing was ' +
      'changed, a write may have succeeded: repeat the request with the same idempotency key or, if it has none, check ' +
      'first whether it succeeded.',
  },
} as const satisfies Record<string, { status: number; title: string; advice: string }>;

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

/**
 * Faults that any parameter can have. They say nothing about the cursor itself, so the advice for an invalid cursor,
 * which is to start again without one, does not fit.
 */
const notAboutCursors: ReadonlySet<string> = new Set(['repeated_parameter', 'unknown_parameter']);

/**
 * Returns the problem for all faults in a request, or undefined if there are none. It lists at most `listedMax`
 * faults.
 */
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
  const listed = mostUseful(faults, listedMax);
  const some = listed.length < faults.length ? `the first ${listed.length - 1} of ` : '';
  const more = faults.length > 1 ? ` See errors for ${some}${faults.length - 1} more.` : '';
  const link = /^(is|must|contains|does|has) /.test(first.detail) ? ' ' : ': ';
  const stop = /[.?!]$/.test(first.detail) ? '' : '.';
  return new Problem(code, `${place}${link}${first.detail}${stop}${more}`, { faults: listed });
}

/**
 * Returns at most `max` faults, in their original order. The first fault is always included, and faults for unknown
 * names are the first to be left out.
 */
function mostUseful(faults: readonly InputFault[], max: number): readonly InputFault[] {
  const unknown = faults.filter((fault, index) => index > 0 && isUnknown(fault));
  const room = Math.max(0, max - (faults.length - unknown.length));
  const leftOut = new Set(unknown.slice(room));
  return faults.filter((fault) => !leftOut.has(fault)).slice(0, max);
}
