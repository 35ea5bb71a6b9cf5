import { once, setMaxListeners } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Envelope, verify } from '@posthorn/receiver';
import type { Figures } from './figures.js';
import { between, pick, type Random } from './random.js';

/** The response: a status, immediate or delayed, or a closed connection. */
type Reaction = { status: number; afterMs: number } | 'hang up';

/** The behavior of one receiver. */
export interface Behavior {
  name: string;
  /** Describes the behavior in a few words. */
  description: string;
  eventTypes: readonly string[];
  checksSignatures?: true;
  react: (random: Random) => Reaction;
}

const immediate: Reaction = { status: 200, afterMs: 0 };

/** Typical receivers. */
export const behaviors: readonly Behavior[] = [
  {
    name: 'healthy',
    description: 'responds at once',
    eventTypes: ['*'],
    react: () => immediate,
  },
  {
    name: 'slow',
    description: 'responds in 0.2 to 0.8 s',
    eventTypes: ['incident.*', 'invoice.*'],
    react: (random) => ({ status: 200, afterMs: between(random, 200, 800) }),
  },
  {
    name: 'flaky',
    description: 'fails 1 in 3 requests',
    eventTypes: ['agent.*', 'execution.*', 'integration.*'],
    react: (random) => {
      if (random() >= 1 / 3) return immediate;
      return pick<Reaction>(random, [{ status: 500, afterMs: 0 }, { status: 503, afterMs: 0 }, 'hang up']);
    },
  },
  {
    name: 'dead',
    description: 'closes every connection',
    eventTypes: ['service_line.*', 'capacity.*'],
    react: () => 'hang up',
  },
  {
    name: 'verifying',
    description: 'checks signatures',
    eventTypes: ['*'],
    checksSignatures: true,
    react: () => immediate,
  },
];

interface ReceiverOptions {
  behavior: Behavior;
  secret: string;
  /** The number of attempts after which the service gives up. */
  attemptsMax: number;
  random: Random;
  now: () => number;
  figures: Figures;
}

const host = '127.0.0.1';
const bodyBytesMax = 1024 * 1024;
/** Longer than a sender keeps an idle connection, which it could otherwise find closed. */
const keepAliveMs = 120_000;

export interface Receiver {
  behavior: Behavior;
  secret: string;
  url: string;
  close: () => Promise<void>;
}

/** Opens a receiver on its own port. */
export async function openReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { behavior, secret } = options;
  const closing = new AbortController();
  // Every delayed response adds a listener.
  setMaxListeners(0, closing.signal);
  const server = createServer({ keepAliveTimeout: keepAliveMs }, (request, response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > bodyBytesMax) request.destroy();
      else chunks.push(chunk);
    });
    const received = () => receive(Buffer.concat(chunks), request.headers, response, options, closing.signal);
    request.on('end', () => void received());
    request.on('error', () => undefined);
  });
  await once(server.listen(0, host), 'listening');
  return {
    behavior,
    secret,
    url: `http://${host}:${(server.address() as AddressInfo).port}${receiverPath}${behavior.name}`,
    close: async () => {
      closing.abort();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function receive(
  body: Buffer,
  headers: IncomingHttpHeaders,
  response: ServerResponse,
  { behavior, secret, attemptsMax, random, now, figures }: ReceiverOptions,
  closing: AbortSignal,
): Promise<void> {
  const arrivedMs = now();
  if (behavior.checksSignatures && !verify(body, headers, secret, { requireTimestamp: true }).ok)
    return void response.writeHead(401).end();
  const envelope = parse(body);
  if (!envelope) return void response.writeHead(400).end();
  // A receiver that fails verification gets no events, so even the dead one responds to this.
  if (envelope.type === 'webhook.verification') return void response.writeHead(200).end();
  const reaction = behavior.react(random);
  const counts = figures.receiver(behavior.name);
  const attempt = Number(headers['x-service-attempt'] ?? 1);
  const isLast = attempt >= attemptsMax;
  if (reaction === 'hang up') {
    if (isLast) counts.failed += 1;
    return void response.socket?.resetAndDestroy();
  }
  figures.deliveryArrived(behavior.name, attempt, arrivedMs - Date.parse(envelope.created_at));
  if (reaction.afterMs > 0)
    await delay(reaction.afterMs, undefined, { signal: closing }).catch(() => undefined);
  response.writeHead(reaction.status).end();
  if (reaction.status < 300) counts.delivered += 1;
  else if (isLast) counts.failed += 1;
}

/** Identifies webhooks of an earlier demo, whatever their port. */
export const receiverPath = '/posthorn-demo/';

function parse(body: Buffer): Envelope | undefined {
  try {
    return JSON.parse(body.toString()) as Envelope;
  } catch {
    return undefined;
  }
}
