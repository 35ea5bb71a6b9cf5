import { sign } from '@posthorn/receiver';
import type { Outcome, Withheld } from '../domain/delivery.js';
import { addEventHeaders, type Message } from '../domain/message-headers.js';
import type { Target } from './target.js';
import type { Transport } from './transport.js';

export interface Sender {
  transport: Transport;
  userAgent: string;
  now: () => number;
}

/** Signs and sends a request and returns the outcome. Calls `mayStart` right before the first byte. */
export function attempt(
  sender: Sender,
  target: Target,
  message: Message & { body: Buffer },
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
  const { origin, path } = target;
  return sender.transport.post({ origin, path, headers, body: message.body, timeoutMs, mayStart });
}

const always = () => true;
