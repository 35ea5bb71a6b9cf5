import type { Envelope, EventType } from './envelope.js';
import type { Format, FormatOf } from './formats.js';
import type { Seen } from './seen.js';
import type { Body } from './signing.js';
import {
  header,
  type ReceivedHeaders,
  type Refusal,
  type Secret,
  type VerifyOptions,
  verify,
} from './verify.js';

type DomainOf<Type> = Type extends `${infer Domain}.${string}` ? Domain : never;

/** What a handler can handle: a type, all types of a domain, or all types. */
export type Pattern = EventType | `${DomainOf<EventType>}.*` | '*';

type Matching<Of extends Pattern> = Of extends '*'
  ? EventType
  : Of extends `${infer Domain}.*`
    ? Extract<EventType, `${Domain}.${string}`>
    : Extract<EventType, Of>;

/** Handlers by event type, domain or `*`. Only the most specific one runs. */
export type Handlers<Context = undefined, Of extends Format = 'envelope'> = {
  [Each in Of extends 'slack' | 'template' ? '*' : Pattern]?: (
    event: FormatOf<Matching<Each>>[Of],
    context: Context,
  ) => unknown;
};

export interface ReceiverOptions<Context = undefined, Of extends Format = 'envelope'> {
  /** The webhook's secret. During a rotation, the new and the old secret. */
  secret: Secret | readonly Secret[];
  on: Handlers<Context, Of>;
  /** The format of the webhook. Default: `envelope`. */
  format?: Of | undefined;
  /** Skips events that were already handled. By default, a handler runs each time an event arrives. */
  seen?: Seen<Context> | undefined;
  /**
   * Respond with 200 before the handler runs. The response is fast, no matter how long the work takes. But if the
   * process dies or the handler fails, the work is lost, because the service does not send the event again.
   */
  respondFirst?: boolean | undefined;
  /** Called with what a handler or `seen` throws. By default, it is printed to the console. */
  onError?: ((error: unknown, event: Envelope) => unknown) | undefined;
  /** Called with the outcome of every request. By default, refused requests are printed to the console. */
  log?: ((outcome: Outcome) => unknown) | undefined;
  /** The maximum difference between `webhook-timestamp` and now, in either direction. Default: 300. */
  toleranceSeconds?: number | undefined;
  now?: (() => Date) | undefined;
}

/** The outcome of a request. `accepted` means that the response was sent and the work continues. */
export type Outcome = {
  /** Delivery ID, `WDLV-*`, if the request has one. */
  delivery: string | undefined;
} & (
  | { outcome: 'refused'; status: number; reason: Refusal | 'not_an_event'; detail: string }
  | {
      outcome: 'handled' | 'duplicate' | 'ignored' | 'verification' | 'accepted' | 'failed';
      status: number;
      id: string;
      type: string;
    }
);

export interface Reply {
  status: number;
  text: string;
  /** The work that continues after the response. It never rejects. */
  work: Promise<void> | undefined;
}

export interface Receiver {
  /**
   * Verifies and handles a request. Never rejects. The body must be the text or bytes that arrived. Adapters that
   * guarantee this set `isRaw`.
   */
  receive(
    body: Body | ArrayBuffer,
    headers: ReceivedHeaders,
    options?: Pick<VerifyOptions, 'isRaw'>,
  ): Promise<Reply>;
  /** Resolves when no work is in progress. Wait for it before the process exits. */
  idle(): Promise<void>;
}

/** A type, a domain such as `invoice.*`, or `*`. */
const handlerName = /^(\*|[a-z0-9_]+(\.\*|(\.[a-z0-9_]+)+))$/;

/** Creates a receiver. Connect it with the adapter for your framework. */
export function createReceiver<Context = undefined, Of extends Format = 'envelope'>(
  options: ReceiverOptions<Context, Of>,
): Receiver {
  if (!options.on)
    throw new TypeError('the option on is missing: pass an object with a handler for each event type');
  const handlers = new Map(Object.entries(options.on));
  for (const [of, handler] of handlers) {
    if (typeof handler !== 'function') throw new TypeError(`the handler for ${of} is not a function`);
    if (!handlerName.test(of))
      throw new TypeError(
        `the handler for ${JSON.stringify(of)} would never run: use a type (invoice.paid), a domain (invoice.*) or *`,
      );
  }
  const log = guarded(options.log ?? printRefusal);
  const onError = guarded(options.onError ?? printError);
  const inProgress = new Set<Promise<unknown>>();

  const handlerOf = (type: string) =>
    (handlers.get(type) ?? handlers.get(`${type.split('.', 1)[0]}.*`) ?? handlers.get('*')) as
      | ((event: Envelope, context: Context) => unknown)
      | undefined;

  const handle = async (event: Envelope): Promise<'handled' | 'duplicate' | 'failed'> => {
    const work = async (context: Context) => {
      await handlerOf(event.type)?.(event, context);
    };
    try {
      if (!options.seen) await work(undefined as Context);
      else if (!(await options.seen.once(event.id, work))) return 'duplicate';
      return 'handled';
    } catch (error) {
      onError(error, event);
      return 'failed';
    }
  };

  const receive: Receiver['receive'] = async (body, headers, { isRaw } = {}) => {
    const delivery = header(headers, 'x-service-delivery');
    const refuse = (status: number, reason: Refusal | 'not_an_event', detail: string): Reply => {
      log({ delivery, outcome: 'refused', status, reason, detail });
      return { status, text: `${reason}: ${detail}`, work: undefined };
    };

    const result = verify(body, headers, options.secret, {
      requireTimestamp: true,
      toleranceSeconds: options.toleranceSeconds,
      now: options.now?.(),
      isRaw,
    });
    if (!result.ok) return refuse(OWN_FAULTS.has(result.reason) ? 500 : 401, result.reason, result.detail);
    const hasOtherBody = options.format === 'slack' || options.format === 'template';
    const ofOther = {
      id: header(headers, 'webhook-id'),
      type: delivery === undefined ? 'webhook.verification' : '*',
    };
    const event = parsed(body, hasOtherBody ? ofOther : undefined);
    if (!event)
      return refuse(400, 'not_an_event', 'The signature is valid, but the body is not an event in JSON.');

    const { id, type } = event;
    const reply = (outcome: Exclude<Outcome['outcome'], 'refused'>, status: number, text: string): Reply => {
      log({ delivery, outcome, status, id, type });
      return { status, text, work: undefined };
    };
    if (type === 'webhook.verification') return reply('verification', 200, 'verified');
    if (!handlerOf(type)) return reply('ignored', 200, 'ignored');

    const handling = handle(event);
    if (options.respondFirst) {
      const work = handling.then((outcome) => log({ delivery, outcome, status: 200, id, type }));
      return { ...reply('accepted', 200, 'accepted'), work };
    }
    const outcome = await handling;
    if (outcome === 'failed') return reply(outcome, 500, 'The handler failed.');
    return reply(outcome, 200, outcome);
  };

  return {
    async receive(...request) {
      const received = receive(...request);
      track(inProgress, received);
      const reply = await received;
      if (reply.work) track(inProgress, reply.work);
      return reply;
    },
    async idle() {
      while (inProgress.size > 0) await Promise.allSettled(inProgress);
    },
  };
}

/** Reasons that are caused by the application, not by the sender of the request. */
const OWN_FAULTS: ReadonlySet<Refusal> = new Set<Refusal>(['no_secret', 'malformed_secret', 'body_not_raw']);

/** Returns the event of a body. With `other`, a body of any other shape is one, too. Verifications have no delivery. */
function parsed(body: Body | ArrayBuffer, other?: object): Envelope | undefined {
  try {
    const event = JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body));
    if (other) return { ...other, body: event } as unknown as Envelope;
    return typeof event.id === 'string' && typeof event.type === 'string' ? event : undefined;
  } catch {
    return undefined;
  }
}

function track(inProgress: Set<Promise<unknown>>, work: Promise<unknown>): void {
  const tracked = work.finally(() => inProgress.delete(tracked));
  inProgress.add(tracked);
}

/** Wraps a hook, so that one that throws does not change the response or end the process. */
function guarded<Args extends unknown[]>(hook: (...args: Args) => unknown): (...args: Args) => Promise<void> {
  return async (...args) => {
    try {
      await hook(...args);
    } catch (error) {
      console.error('A receiver hook failed:', error);
    }
  };
}

function printRefusal(outcome: Outcome): void {
  if (outcome.outcome !== 'refused') return;
  console.warn(`Webhook request refused with ${outcome.status}, ${outcome.reason}: ${outcome.detail}`);
}

function printError(error: unknown, { id, type }: Envelope): void {
  console.error(`The handler failed for ${id} (${type}):`, error);
}
