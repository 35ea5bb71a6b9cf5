/** One error in a request: in a query parameter (by name) or in the body (by JSON pointer). */
export interface InputError {
  parameter?: string;
  pointer?: string;
  code: string;
  detail: string;
}

type Optional = 'title' | 'errors' | 'requestId' | 'retryAfterMs' | 'possibleMoves' | 'cell';

interface ErrorFields
  extends Pick<PosthornError, 'status' | 'code' | 'detail'>,
    Partial<Pick<PosthornError, Optional>> {
  cause?: unknown;
}

/** A request that failed. Use `code` in programs: its meaning never changes. */
export class PosthornError extends Error {
  override name = 'PosthornError';
  /** HTTP status; 0 if there was no response. */
  readonly status: number;
  /**
   * Code of the problem, as in the API reference. The client adds `unreachable` (no response), `timeout`,
   * `unexpected_response` (not from the service, such as an error page of a proxy) and, for a producer, `queue_full`
   * and `closed`.
   */
  readonly code: string;
  /** The kind of problem in a few words, as a heading. Undefined if the service did not send a problem. */
  readonly title: string | undefined;
  /** What went wrong, in a sentence. */
  readonly detail: string;
  /** Everything that is wrong with the input. */
  readonly errors: readonly InputError[];
  /** ID of the request. Include it when you report a problem. */
  readonly requestId: string | undefined;
  /** How long the service asks to wait before the request is repeated. */
  readonly retryAfterMs: number | undefined;
  /** Only for `move_not_allowed`: the moves that are allowed. */
  readonly possibleMoves: readonly string[] | undefined;
  /** Only for `wrong_cell`: the name of the cell in which the organization lives. */
  readonly cell: string | undefined;

  constructor(fields: ErrorFields) {
    super(fields.detail, { cause: fields.cause });
    this.status = fields.status;
    this.code = fields.code;
    this.title = fields.title;
    this.detail = fields.detail;
    this.errors = fields.errors ?? [];
    this.requestId = fields.requestId;
    this.retryAfterMs = fields.retryAfterMs;
    this.possibleMoves = fields.possibleMoves;
    this.cell = fields.cell;
  }
}

/** Returns the error for an unsuccessful response. */
export async function errorOf(response: Response): Promise<PosthornError> {
  const { status, headers } = response;
  const seconds = Number(headers.get('Retry-After') ?? Number.NaN);
  const common = {
    status,
    requestId: headers.get('X-Request-Id') ?? undefined,
    retryAfterMs: Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined,
  };
  const text = await response.text().catch(() => '');
  const problem = problemIn(text);
  if (!problem) return unexpected(response, undefined, common);
  const { request_id: requestId = common.requestId, possible_moves: possibleMoves } = problem;
  return new PosthornError({ ...problem, ...common, requestId, possibleMoves });
}

/** Returns the error for a response that is not from the service. */
export function unexpected(
  response: Response,
  cause?: unknown,
  common: Partial<ErrorFields> = {},
): PosthornError {
  const { status } = response;
  const detail = `The response with status ${status} did not come from Posthorn. ${adviceOf(response)}`;
  return new PosthornError({ ...common, status, code: 'unexpected_response', detail, cause });
}

function adviceOf({ status, headers }: Response): string {
  const location = headers.get('Location');
  if (status >= 300 && status < 400 && location) return `It redirects to ${location}. Check the URL.`;
  if (status === 413) return 'A proxy refused a body of this size: raise the size limit of the proxy.';
  if (status >= 502 && status <= 504) return 'A proxy responded: the service behind it may be down.';
  return 'Check the URL.';
}

interface Problem extends Pick<ErrorFields, 'code' | 'title' | 'detail' | 'errors' | 'cell'> {
  request_id?: string;
  possible_moves?: string[];
}

function problemIn(text: string): Problem | undefined {
  try {
    const body = JSON.parse(text);
    return typeof body?.code === 'string' && typeof body.detail === 'string' ? body : undefined;
  } catch {
    return undefined;
  }
}
