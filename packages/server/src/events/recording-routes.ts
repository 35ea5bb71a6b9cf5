import { type Readable, Transform } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { type InputFault, inputProblem, Problem } from '../values/problem.js';
import { hidesUnstorable } from '../values/storable.js';
import { isoText } from '../values/time.js';
import { type Route, route } from '../web/route.js';
import { dataOf, id, time } from '../web/schemas.js';
import { decodeBody, parseJson } from '../web/validation.js';
import type { NewEvent, TraceSpan } from './event.js';
import { type EventChecker, NewEventSchema } from './new-event.js';
import type { OrganizationLimiter } from './organization-limits.js';
import { payloadTexts } from './payload-text.js';
import type { Recorder, Reservation } from './recorder.js';
import type { NewBatch, RecordedEvent } from './recording-store.js';

const eventsMax = 1_000;
/** How much to reserve at a time for a body without `Content-Length`. */
const unannouncedBytes = 256 * 1024;

declare module 'fastify' {
  interface FastifyRequest {
    /** Releases the memory that is reserved for the body. From then on, the recorder counts the events. */
    releaseBody: () => void;
  }
}

const Recorded = dataOf(
  Type.Array(
    Type.Object(
      { id: id('EVT', 'Event ID.'), created_at: time('Time when the event was recorded.') },
      { title: 'RecordedEvent' },
    ),
  ),
);

/** Creates the span of a recording. */
export interface RecordTracer {
  /** `parent` is what the producer sent as `traceparent`. */
  record(parent: string | undefined, events: number): TraceSpan<Error | undefined>;
}

export interface RecordingContext {
  recorder: Recorder;
  check: EventChecker;
  /** Present if an organization has limits. */
  limiter: OrganizationLimiter | undefined;
  /** Present if tracing is on. */
  tracer: RecordTracer | undefined;
}

/** Prepares the scope of the route that records events. Only this scope accepts NDJSON, which is one event per line. */
export function prepareRecording(scope: FastifyInstance): void {
  scope.decorateRequest('releaseBody', null as unknown as () => void);
  scope.addContentTypeParser<Buffer>(
    'application/x-ndjson',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      const lines = decodeBody(body).split('\n');
      const events: unknown[] = [];
      const texts: string[] = [];
      for (const [index, line] of lines.entries()) {
        const text = line.trim();
        if (text === '') continue;
        events.push(parseLine(text, index + 1));
        texts.push(text);
      }
      request.bodyText = `[${texts.join(',')}]`;
      return events;
    },
  );
}

/** Returns `POST /platform/events`: one event, an array, or NDJSON. Records all events or none. */
export function recordingRoute({ recorder, check, limiter, tracer }: RecordingContext): Route {
  return route('POST /platform/events', {
    operationId: 'recordEvents',
    summary: 'Record events',
    description:
      'Send one event, an array of up to 1,000 events, or one event per line as `application/x-ndjson`. When ' +
      'all events are stored durably, the service returns their IDs in the same order. If one event is ' +
      'not valid, none are recorded, and each `pointer` in `errors` starts with the index of the ' +
      'event, which is 0 for a single event.',
    // Only documents the body. Validating `anyOf` here would report two sets of faults for every mistake.
    bodyIsChecked: true,
    consumes: ['application/json', 'application/x-ndjson'],
    body: Type.Unsafe<unknown>({
      anyOf: [NewEventSchema, Type.Array(NewEventSchema, { minItems: 1, maxItems: eventsMax })],
    }),
    returns: { 201: Recorded },
    // IDs hardly compress, and producers are on the same network.
    compress: false,
    // Reserve the memory before the body is read, so that a refused request costs nothing.
    preParsing: (request, reply, body, done) => {
      const announced = request.headers['content-length'];
      const reservation = recorder.reserve(Number(announced ?? unannouncedBytes));
      const { release } = reservation;
      request.releaseBody = release;
      // Also releases the memory if the client goes away while it sends the body. If an earlier request on the same
      // connection is still running, only the request emits `close`, not its response.
      request.raw.once('close', release);
      reply.raw.once('close', release);
      done(null, announced === undefined ? counted(body, reservation) : body);
    },
    handler: async (request, reply) => {
      const { body } = request;
      if (body === undefined) throw inputProblem([missingBody]);
      const events: readonly unknown[] = Array.isArray(body) ? body : [body];
      refuseCount(events.length);
      const problem = inputProblem(check(events));
      if (problem) throw problem;
      limiter?.admit(events as readonly NewEvent[]);
      const payloads = payloadTexts(request.bodyText ?? '');
      if (payloads.some(hidesUnstorable)) refuseHidden();
      // The texts are stored. The parsed payloads would only take memory while the events wait.
      for (const event of events as { payload: unknown }[]) event.payload = undefined;
      const batch = { events: events as readonly NewEvent[], payloads };
      request.releaseBody();
      const recorded = await traced(tracer, request, batch, () => recorder.record(batch)).catch(
        refuseUnstorable,
      );
      request.logFields.events = events.length;
      return reply.type('application/json; charset=utf-8').send(recordedJson(recorded));
    },
  });
}

const missingBody: InputFault = {
  pointer: '',
  code: 'required',
  detail: 'is missing; send an event, an array of events, or NDJSON',
};

/** Passes on a body of unknown length, and reserves memory as it arrives. Fails if too little memory is left. */
function counted(body: Readable, reservation: Reservation): Readable {
  let unusedBytes = unannouncedBytes;
  const counting = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      unusedBytes -= chunk.length;
      try {
        for (; unusedBytes < 0; unusedBytes += unannouncedBytes) reservation.grow(unannouncedBytes);
      } catch (error) {
        // Release it at once, so that there is memory for the other bodies that are arriving.
        reservation.release();
        return done(error as Error);
      }
      done(null, chunk);
    },
  });
  // After a refusal, nothing else listens for errors, and an unhandled 'error' event would end the process.
  counting.on('error', () => undefined);
  // Not `pipeline`, which would close the connection before the response is sent.
  body.once('error', (error) => counting.destroy(error));
  return body.pipe(counting);
}

/** Runs `record` in a span that continues the producer's trace. The deliveries continue the trace in turn. */
async function traced<T>(
  tracer: RecordTracer | undefined,
  { headers: { traceparent } }: FastifyRequest,
  batch: NewBatch,
  record: () => Promise<T>,
): Promise<T> {
  if (!tracer) return record();
  const span = tracer.record(typeof traceparent === 'string' ? traceparent : undefined, batch.events.length);
  for (const event of batch.events) event.traceparent = span.traceparent;
  try {
    const recorded = await record();
    span.end(undefined);
    return recorded;
  } catch (error) {
    span.end(error as Error);
    throw error;
  }
}

/** Returns the response as JSON text. IDs and times need no escaping. */
function recordedJson(recorded: readonly RecordedEvent[]): string {
  const data = recorded.map(({ id, created_at }) => `{"id":"${id}","created_at":"${isoText(created_at)}"}`);
  return `{"data":[${data.join(',')}]}`;
}

function parseLine(text: string, number: number): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw new Problem('malformed_json', `Line ${number}: ${(error as Error).message}`);
  }
}

function refuseCount(count: number): void {
  if (count >= 1 && count <= eventsMax) return;
  const detail =
    count === 0
      ? 'must contain at least one event'
      : `must contain at most ${eventsMax} events, got ${count}`;
  throw inputProblem([{ pointer: '', code: count === 0 ? 'too_few_items' : 'too_many_items', detail }]);
}

/** Handles faults that only PostgreSQL can detect, such as deep nesting hidden by a duplicate key. */
function refuseUnstorable(error: unknown): never {
  const isInputFault = /^(22|54)/.test((error as { code?: string }).code ?? '');
  if (isInputFault) refuseHidden();
  throw error;
}

function refuseHidden(): never {
  const detail =
    'contains a key more than once, and an earlier value of that key has a NUL character, an unpaired surrogate or ' +
    'nesting that is too deep';
  throw inputProblem([{ pointer: '', code: 'invalid_text', detail }]);
}
