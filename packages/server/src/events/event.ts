import type { EventTypeName, PayloadOf } from '../catalogue/catalogue.js';
import type { Position } from '../values/cursor.js';
import type { Reference } from '../values/identifier.js';
import { isoText } from '../values/time.js';

/** An event as a producer records it. The service adds the ID and the time. */
export interface NewEvent {
  type: string;
  organization_id: string;
  workspace_id?: string | null;
  actor: Reference;
  subject: Reference;
  payload: Record<string, unknown>;
  idempotency_key?: string;
}

declare global {
  /**
   * The payloads of the platform's event types, by type. Empty, unless the program imports a file that `posthorn types
   * generate` has written.
   */
  interface PosthornEventTypes {}
}

/** An event of one of the platform's types, if the program has them; otherwise, any event. */
export type NewPlatformEvent = keyof PosthornEventTypes extends never
  ? NewEvent
  : {
      [Name in Exclude<keyof PosthornEventTypes, `webhook.${string}`>]: Omit<NewEvent, 'type' | 'payload'> & {
        type: Name;
        payload: PosthornEventTypes[Name];
      };
    }[Exclude<keyof PosthornEventTypes, `webhook.${string}`>];

/** The types that producers can record. The service records `webhook.*` itself. */
type ProducedTypeName = Exclude<EventTypeName, `webhook.${string}`>;

/**
 * An event of one of these types, as a producer records it. Payloads may have fields that the catalogue does not list.
 */
export type NewEventOf<T extends ProducedTypeName> = {
  [Name in T]: NewEvent & { type: Name; payload: PayloadOf<Name> };
}[T];

/** An event as it is stored. The payload is JSON text, byte for byte as recorded. */
export interface StoredEvent {
  id: string;
  type: string;
  organization_id: string;
  workspace_id: string | null;
  actor_type: string;
  actor_id: string;
  subject_type: string;
  subject_id: string;
  payload: string;
  created_at: Date;
}

/** Returns the earliest time, inclusive, from which events and deliveries can still be read. */
export function earliestReadableMs(nowMs: number, retentionMs: number): number {
  return nowMs - retentionMs;
}

/**
 * Returns the event as the API shows it, as JSON text. The text is concatenated so that the payload stays unchanged.
 */
export function eventJson(event: StoredEvent): string {
  const head = JSON.stringify({
    id: event.id,
    type: event.type,
    organization_id: event.organization_id,
    workspace_id: event.workspace_id,
    actor: { type: event.actor_type, id: event.actor_id },
    subject: { type: event.subject_type, id: event.subject_id },
  });
  return `${head.slice(0, -1)},"payload":${event.payload},"created_at":"${event.created_at.toISOString()}"}`;
}

/** Returns who caused an event and what it is about, as they are stored. */
export const referenceColumns = (actor: Reference, subject: Reference) => ({
  actor_type: actor.type,
  actor_id: actor.id,
  subject_type: subject.type,
  subject_id: subject.id,
});

const idStart = '{"id":"'.length;
const timeLength = '2026-11-15T09:30:00.000Z'.length;

/**
 * Returns an event's position in the stream. Reads it from the JSON, which starts with the ID and ends with the time.
 */
export function eventJsonPosition(json: string): Position {
  const timeEnd = json.length - '"}'.length;
  return {
    atMs: Date.parse(json.slice(timeEnd - timeLength, timeEnd)),
    id: json.slice(idStart, json.indexOf('"', idStart)),
  };
}

/** The envelope without its payload. */
export type EnvelopeHead = Pick<
  StoredEvent,
  'id' | 'type' | 'created_at' | 'organization_id' | 'workspace_id'
>;

/**
 * Returns the body of a webhook request. It depends only on the stored event, so every attempt sends the same bytes.
 * `payload` is JSON text and stays unchanged.
 */
export function envelopeText(head: EnvelopeHead, payload: string, test = false): string {
  // Event IDs and types need no escaping. The IDs of organizations and workspaces can contain quotation marks.
  return (
    `{"id":"${head.id}","type":"${head.type}","created_at":"${isoText(head.created_at)}",` +
    `"organization_id":${JSON.stringify(head.organization_id)},` +
    `"workspace_id":${JSON.stringify(head.workspace_id)},${test ? '"test":true,' : ''}"data":${payload}}`
  );
}

/**
 * Returns the body of a verification: the same envelope, formatted in a way that no serializer produces. The first
 * character of the challenge is escaped, and there are spaces in unusual places. A receiver that parses the body and
 * verifies a re-serialized copy therefore fails here, before it gets an event.
 */
export function verificationText(
  head: EnvelopeHead,
  data: { webhook_id: string; challenge: string },
): string {
  const { webhook_id, challenge } = data;
  const escaped = `\\u${challenge.charCodeAt(0).toString(16).padStart(4, '0')}${challenge.slice(1)}`;
  const payload = `{ "webhook_id" :"${webhook_id}", "challenge" :"${escaped}"}`;
  return envelopeText(head, payload).replace('{', '{ ');
}

/** The parts of a trace span that the traced code uses. */
export interface TraceSpan<Result> {
  /** The span as the value of the W3C header `traceparent`. */
  readonly traceparent: string;
  end(result: Result): void;
}

/** The fields of a parsed `traceparent`. */
export interface TraceParent {
  traceId: string;
  spanId: string;
  traceFlags: number;
}

/** Parses a W3C `traceparent`. Returns undefined for anything else, because the standard then requires a new trace. */
export function parseTraceparent(text: string | undefined): TraceParent | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest = ''] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,200})?$/.exec(text ?? '') ?? [];
  const isValid = version !== undefined && version !== 'ff' && (version !== '00' || rest === '');
  if (!isValid || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
}
