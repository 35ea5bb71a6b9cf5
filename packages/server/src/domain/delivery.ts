/** Why an attempt got no status. */
export const attemptErrors = [
  'dns',
  'connect',
  'tls',
  'timeout',
  'reset',
  'protocol',
  'blocked_address',
] as const;
export type AttemptError = (typeof attemptErrors)[number];

/** The outcome of one attempt. */
export type Outcome =
  | {
      kind: 'answered';
      httpStatus: number;
      durationMs: number;
      /** The beginning of the response body, as text. */
      response: string | null;
      headers: RawHeaders;
      retryAfterMs: number | undefined;
    }
  | { kind: 'unanswered'; error: AttemptError; durationMs: number; detail?: FailureDetail | undefined };

/** Response headers as undici returns them. */
export type RawHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * What the network or TLS said when no status came. Written for the operator: it can name addresses that a
 * name leads to inside the network.
 */
export interface FailureDetail {
  /**
   * As Node, OpenSSL or undici name it: `CERT_HAS_EXPIRED`, `ECONNRESET`, `UND_ERR_SOCKET`. Of our own:
   * `connect_timeout` if the time was over before a connection was open, `plain_http` if only https may leave.
   */
  code: string | undefined;
  message: string;
  /** Of a certificate for another name: the names that it is for. */
  altNames: string | undefined;
  /** Of a certificate that was not accepted: when it ends. */
  validTo: string | undefined;
  /** The address that the guard refused. */
  address: string | undefined;
}

/**
 * No attempt was made, and none counts: the webhook changed before the first byte (`recalled`), or this machine could
 * not open a connection (`out_of_resources`: no file descriptor or memory is left).
 */
export interface Withheld {
  kind: 'withheld';
  reason: 'recalled' | 'out_of_resources';
}

/** What follows from an attempt. */
export type Verdict =
  | { kind: 'delivered' }
  | { kind: 'retry'; waitMs: number }
  | { kind: 'given_up' }
  | { kind: 'gone' };

const jitterMax = 0.2;
const retryAfterMsMax = 4 * 3_600_000;

/**
 * Decides what the outcome of an attempt leads to. Attempts count from 1, and `scheduleMs` has the wait after
 * each: there is one attempt more than there are waits. `random` in [0, 1) spreads the retries of many
 * deliveries that failed together.
 */
export function judge(
  outcome: Outcome,
  attempt: number,
  scheduleMs: readonly number[],
  random: number,
): Verdict {
  if (isDelivered(outcome)) return { kind: 'delivered' };
  if (outcome.kind === 'answered' && outcome.httpStatus === 410) return { kind: 'gone' };
  const baseMs = scheduleMs[attempt - 1];
  if (baseMs === undefined) return { kind: 'given_up' };
  const waitMs = baseMs + baseMs * jitterMax * random;
  const asked =
    outcome.kind === 'answered' && asksToWait(outcome.httpStatus) ? (outcome.retryAfterMs ?? 0) : 0;
  const askedMax = Math.max(retryAfterMsMax, ...scheduleMs);
  return { kind: 'retry', waitMs: Math.round(Math.max(waitMs, Math.min(asked, askedMax))) };
}

export function isDelivered(outcome: Outcome): boolean {
  return outcome.kind === 'answered' && outcome.httpStatus >= 200 && outcome.httpStatus <= 299;
}

const asksToWait = (httpStatus: number) => httpStatus === 429 || httpStatus === 503;

/**
 * Returns the milliseconds that a Retry-After header asks to wait (seconds or an HTTP date), or undefined.
 * A number of any length is one: `judge` limits the wait.
 */
export function parseRetryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER);
  if (!/^[A-Za-z]{3,9},/.test(text)) return undefined;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
