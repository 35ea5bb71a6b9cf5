import { once, setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { Notifier } from '../signals/notifier.js';
import { Semaphore } from '../signals/semaphore.js';
import type { Position } from '../values/cursor.js';
import { idTimeMs, newId } from '../values/identifier.js';
import { type InputFault, rateLimited } from '../values/problem.js';
import { type Arrived, type Route, route } from '../web/route.js';
import { eventFilters, text } from '../web/schemas.js';
import type { UnsentBytes } from '../web/unsent-bytes.js';
import { eventJsonPosition } from './event.js';
import type { EventContext } from './event-routes.js';
import * as events from './event-store.js';

const pollMs = 500;
const keepAliveMs = 15_000;
const batchSize = 100;
/** While its client does not read, a tail keeps a page in memory. */
const batchBytesMax = 256 * 1024;
const tailsPerTokenMax = 20;
const tailsPerOrganizationMax = 100;

export interface TailOptions extends EventContext {
  now: () => number;
  recorded: Notifier;
  /** Returns whether the request's token is still valid. Called before every read and before its events are sent. */
  isStillAllowed: (request: FastifyRequest) => Promise<boolean>;
  stopping: AbortSignal;
  /** How many tails may read at once. */
  readsMax: number;
  unsent: UnsentBytes;
}

/** Returns `GET /v1/events/tail`: new events as Server-Sent Events. */
export function tailRoute(options: TailOptions): Route {
  const open = new OpenTails();
  // Every open tail adds a listener.
  setMaxListeners(0, options.stopping);
  const reads = new Semaphore(options.readsMax);

  return route('GET /v1/events/tail', {
    operationId: 'tailEvents',
    summary: 'Stream events',
    description:
      'Sends new events as Server-Sent Events. The stream starts with the next event. If you send ' +
      '`Last-Event-ID`, it continues right after that event, without gaps. In each message, `id` is the event ID ' +
      'and `data` is the event. A comment every 15 seconds keeps the connection open. A client that reads ' +
      'the stream too slowly is disconnected.\n\nA token can have up to 20 open tails on each node, and an organization up ' +
      'to 100. Beyond that, the response is 429 `rate_limited`.\n\nBefore the first message, the stream sends an ' +
      '`id` on its own. Send this ID as `Last-Event-ID` if the connection breaks before the first event.',
    scopes: ['events:read'],
    query: Type.Object(eventFilters, { additionalProperties: false }),
    headers: Type.Object({
      'Last-Event-ID': Type.Optional(
        Type.String({
          description: 'Event ID. The stream continues after this event.',
          pattern: '^EVT-[0-7][0-9A-HJKMNP-TV-Z]{25}$',
          examples: ['EVT-01JAB3C4D5E6F7G8H9J0K1M2N3'],
        }),
      ),
    }),
    input: readLastSeen,
    produces: ['text/event-stream'],
    returns: {
      200: text('A stream that stays open until the token expires or is revoked, or the node stops.'),
    },
    compress: false,
    handler: async (request, reply) => {
      const { tenancy, input } = request;
      const start = input ?? (await events.endOfStream(options.database, tenancy.organization_id));
      reply
        .type('text/event-stream; charset=utf-8')
        .header('Cache-Control', 'no-store')
        .header('X-Accel-Buffering', 'no');
      // If the client is already gone, its tail would be counted forever: the response does not emit `close` again.
      if (request.method === 'HEAD' || reply.raw.destroyed || request.raw.socket.destroyed)
        return reply.send('');
      reply.raw.once('close', open.add(request.token));
      const stream: Readable = Readable.from(
        messages(request, { ...request.query, ...tenancy }, start, {
          hold: (bytes) => options.unsent.hold(tenancy.organization_id, reply.raw, bytes),
          drained: (signal) => drained(stream, reply.raw, signal),
        }),
        { objectMode: false },
      );
      return reply.send(stream);
    },
  });

  async function* messages(
    request: FastifyRequest,
    filters: Omit<events.EventFilter, 'fromMs'>,
    start: Position,
    unsent: {
      hold: (bytes: number) => (() => void) | undefined;
      drained: (signal: AbortSignal) => Promise<void>;
    },
  ): AsyncGenerator<string> {
    const gone = new AbortController();
    const { organization_id: organization } = filters;
    const subscription = options.recorded.subscribe(organization);
    request.raw.once('close', () => {
      gone.abort();
      subscription.close();
    });
    const { signal } = gone;
    // `AbortSignal.any` would leave an entry in `stopping` for every tail, until the process ends.
    options.stopping.addEventListener('abort', () => gone.abort(), { signal });
    if (options.stopping.aborted) gone.abort();
    let position = start;
    let lastSentAtMs = options.now();
    // Send an ID before the first event, so that a client that loses the connection can continue from here.
    yield `: following\nid: ${lastIdOf(start)}\nretry: 2000\n\n`;
    while (!signal.aborted) {
      const filter = { ...filters, fromMs: options.earliestMs() };
      const page = await reads.runUnlessAborted(organization, signal, async () => {
        if (!(await options.isStillAllowed(request))) return undefined;
        return events.readEventPage(options.database, filter, 'asc', position, batchSize, {
          reads: options.eventReads,
          horizons: options.horizons,
          bytesMax: batchBytesMax,
        });
      });
      if (!page) return;
      const release = page.rows.length > 0 ? unsent.hold(sizeOf(page.rows)) : undefined;
      // If sending the page now would exceed the limit for unsent bytes, the page is read again later.
      if (release || page.rows.length === 0) position = page.next ?? position;
      if (release) {
        try {
          if (!(await options.isStillAllowed(request))) return;
          for (const event of page.rows) yield message(event);
          await unsent.drained(signal);
        } finally {
          release();
        }
      }
      // The clock can be set back.
      else if (Math.abs(options.now() - lastSentAtMs) >= keepAliveMs) yield ': still here\n\n';
      else {
        await subscription.wait(pollMs, signal);
        continue;
      }
      lastSentAtMs = options.now();
    }
  }
}

function sizeOf(events: readonly string[]): number {
  return events.reduce((sum, { length }) => sum + length, 0);
}

/** Resolves when the system has accepted everything that the stream has sent to the response, or when aborted. */
async function drained(stream: Readable, response: ServerResponse, signal: AbortSignal): Promise<void> {
  for (;;) {
    // Let the stream write as much as the response accepts.
    await setImmediate();
    if (signal.aborted || (stream.readableLength === 0 && !response.writableNeedDrain)) return;
    await once(response, 'drain', { signal }).catch(() => undefined);
  }
}

/** Returns the position from `Last-Event-ID`, or undefined if it is not sent. */
function readLastSeen({ request: { headers } }: Arrived, faults: InputFault[]): Position | undefined {
  const { 'last-event-id': given } = headers;
  if (given === undefined) return undefined;
  const id = String(given);
  const atMs = idTimeMs('EVT', id);
  if (atMs !== undefined) return { atMs, id };
  const detail = 'must be an event ID, such as the last one that you received';
  faults.push({ parameter: 'Last-Event-ID', code: 'unreadable_id', detail });
  return undefined;
}

/** Returns the event ID to continue from: the position's own or else the last possible ID in its millisecond. */
function lastIdOf({ atMs, id }: Position): string {
  return idTimeMs('EVT', id) === undefined ? newId('EVT', atMs, new Uint8Array(16).fill(31)) : id;
}

/** Returns an event as a message. Replaces line breaks between JSON tokens, which would end the field. */
function message(event: string): string {
  return `id: ${eventJsonPosition(event).id}\ndata: ${event.replace(/[\r\n]+/g, ' ')}\n\n`;
}

/** The tails that are open in this process, limited for each token and each organization. */
class OpenTails {
  /** By the ID of a token or an organization. */
  readonly #counts = new Map<string, number>();

  /** Counts a tail until the returned function is called. Throws a problem if there are too many. */
  add({ id, organization_id }: { id: string; organization_id: string }): () => void {
    this.#check(id, tailsPerTokenMax, 'A token');
    this.#check(organization_id, tailsPerOrganizationMax, 'An organization');
    for (const one of [id, organization_id]) this.#counts.set(one, this.#countOf(one) + 1);
    return () => {
      for (const one of [id, organization_id]) {
        const left = this.#countOf(one) - 1;
        if (left > 0) this.#counts.set(one, left);
        else this.#counts.delete(one);
      }
    };
  }

  #check(id: string, max: number, owner: string): void {
    if (this.#countOf(id) < max) return;
    throw rateLimited(`${owner} can have at most ${max} open tails per node.`, 15);
  }

  #countOf(id: string): number {
    return this.#counts.get(id) ?? 0;
  }
}
