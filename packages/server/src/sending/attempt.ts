import { type SigningKey, sign } from '@posthorn/receiver';
import type { StoredEvent, TraceSpan } from '../events/event.js';
import type { LeasedDelivery } from '../events/recording-store.js';
import type { Outcome, Withheld } from '../outcomes/outcome.js';
import { addEventHeaders, type Message } from './request.js';
import type { Transport } from './transport.js';

/** Where the requests for a webhook go, and how they are signed. */
export interface Target {
  id: string;
  organization_id: string;
  workspace_id: string | null;
  url: URL;
  /** The URL as it is stored for the webhook. Parsing can change it. */
  givenUrl: string;
  /** The parts of the URL, computed once, because the getters of `URL` create a new string each time. */
  origin: string;
  path: string;
  /** The headers of every request, including the webhook's custom headers, as alternating names and values. */
  headers: readonly string[];
  bodyOf: (event: StoredEvent) => string;
  /** Maximum requests per second. */
  rateLimit: number | undefined;
  /** The waits before the second and later attempts, if the webhook has its own. */
  retryScheduleMs: readonly number[] | undefined;
  key: SigningKey;
  secretRotatedAt: Date | null;
  /** The previous secret, during its grace period. */
  previous: { key: SigningKey; untilMs: number } | undefined;
}

export interface Sender {
  transport: Transport;
  userAgent: string;
  now: () => number;
  /** Present if tracing is on. */
  tracer?: AttemptTracer | undefined;
}

/** Creates the span of an attempt. */
export interface AttemptTracer {
  attempt(delivery: LeasedDelivery): TraceSpan<Outcome | Withheld>;
}

/**
 * Signs and sends a request, and returns the outcome. Calls `mayStart` right before sending the first byte. If that
 * returns false, sends nothing.
 */
export function attempt(
  sender: Sender,
  target: Target,
  message: Message & { body: Buffer; traceparent?: string | undefined },
  timeoutMs: number,
  mayStart: () => boolean = always,
): Promise<Outcome | Withheld> {
  const nowMs = sender.now();
  const { previous } = target;
  const signature = sign(message.body, {
    id: message.id,
    timestamp: new Date(nowMs),
    key: target.key,
    previous: previous && previous.untilMs > nowMs ? previous.key : undefined,
  });
  const headers = [...target.headers, 'User-Agent', sender.userAgent];
  for (const name in signature) headers.push(name, signature[name as keyof typeof signature] as string);
  addEventHeaders(headers, message);
  // A custom header with this name takes precedence.
  if (message.traceparent !== undefined && !target.headers.some((name) => /^traceparent$/i.test(name)))
    headers.push('traceparent', message.traceparent);
  const { origin, path } = target;
  return sender.transport.post({ origin, path, headers, body: message.body, timeoutMs, mayStart });
}

const always = () => true;
