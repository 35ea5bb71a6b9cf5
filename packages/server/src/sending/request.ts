import type { Reference } from '../values/identifier.js';

/** What the headers of a request to a receiver contain, apart from the signatures. */
export interface Message {
  /** The event ID. It is the same on every attempt. */
  id: string;
  subject: Reference;
  actor: Reference;
  /** Absent for verifications, which belong to no delivery. */
  delivery?: { id: string; attempt: number };
}

/** A message as the API shows it. Subject and actor are absent if the token cannot read the event. */
export type ShownMessage = Omit<Message, 'subject' | 'actor'> & Partial<Pick<Message, 'subject' | 'actor'>>;

/** Returns the headers of every request. `identity` asks for an uncompressed response, which can be stored as text. */
export const fixedHeaders = (contentType: string) =>
  ['Content-Type', contentType, 'Accept-Encoding', 'identity'] as const;

/** Adds the headers for the subject, the actor and the delivery, as alternating names and values. */
export function addEventHeaders(headers: string[], { subject, actor, delivery }: ShownMessage): void {
  if (subject) headers.push('X-Service-Subject', referenceText(subject));
  if (actor) headers.push('X-Service-Actor', referenceText(actor));
  if (delivery) {
    headers.push('X-Service-Delivery', delivery.id, 'X-Service-Attempt', String(delivery.attempt));
  }
}

const visible = /^[!-~]+$/;

/**
 * Returns `<type>/<id>`, percent-encoded if it does not consist of visible ASCII. For a recorded event, it always does.
 * For a test event, the ID of the subject comes from the sample, which can contain any text if the type was added.
 */
function referenceText({ type, id }: Reference): string {
  const text = `${type}/${id}`;
  return visible.test(text) ? text : encodeURI(text);
}

/** A request as the API shows it: without signatures, and with null for the values of custom headers. */
export interface ShownRequest {
  /** Null if the webhook has changed since the request was sent and the URL of the request was not stored. */
  url: string | null;
  headers: Record<string, string | null>;
  body: string | null;
}

/** Returns the headers of a request as the API shows them. */
export function shownHeaders(
  message: ShownMessage,
  sent: { contentType: string; userAgent: string; at: Date | null; customNames: readonly string[] },
): Record<string, string | null> {
  const { contentType, userAgent, at, customNames } = sent;
  const named = ['User-Agent', userAgent, 'webhook-id', message.id];
  if (at) named.push('webhook-timestamp', String(Math.floor(at.getTime() / 1000)));
  const own = new Set(customNames.map((name) => name.toLowerCase()));
  const headers: [name: string, value: string | null][] = [];
  const flat = [...fixedHeaders(contentType), ...named];
  addEventHeaders(flat, message);
  for (let index = 0; index < flat.length; index += 2) {
    const name = flat[index]!;
    if (!own.has(name.toLowerCase())) headers.push([name, flat[index + 1]!]);
  }
  for (const name of customNames) headers.push([name, null]);
  // Assigning each field of an object would lose a header named `__proto__`.
  return Object.fromEntries(headers);
}
