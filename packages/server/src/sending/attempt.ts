import { sign } from '@posthorn/receiver';
import type { Outcome, Withheld } from '../domain/delivery.js';
import { addEventHeaders, type Message } from '../domain/message-headers.js';
import type { TraceSpan } from '../domain/trace.js';
import type { LeasedDelivery } from '../storage/leased-delivery.js';
import type { Target } from './target.js';
import type { Transport } from './transport.js';

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
