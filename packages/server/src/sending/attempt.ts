import { sign } from '@posthorn/receiver';
import type { Outcome, Withheld } from '../domain/delivery.js';
import type { Target } from './target.js';
import type { Transport } from './transport.js';

export interface Message {
  /** The event's id: the same on every attempt. */
  id: string;
  body: Buffer;
  /** Absent on verifications, which belong to no delivery. */
  delivery?: { id: string; attempt: number };
}

export interface Sender {
  transport: Transport;
  userAgent: string;
  now: () => number;
}

/** A response that is not compressed can be stored as text. */
const fixedHeaders = ['Content-Type', 'application/json', 'Accept-Encoding', 'identity'];

/** Sign, send, and say what came of it. `mayStart` is asked last, right before the first byte. */
export function attempt(
  sender: Sender,
  target: Target,
  message: Message,
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
  const headers = [...fixedHeaders, 'User-Agent', sender.userAgent];
  for (const name in signature) headers.push(name, signature[name as keyof typeof signature] as string);
  if (message.delivery) {
    headers.push('X-Service-Delivery', message.delivery.id);
    headers.push('X-Service-Attempt', String(message.delivery.attempt));
  }
  return sender.transport.post({ url: target.url, headers, body: message.body, timeoutMs, mayStart });
}

const always = () => true;
