import Type from 'typebox';
import type { Reference } from '../values/identifier.js';
import { nullable } from '../web/schemas.js';

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

/** The headers of every request. `identity` asks for an uncompressed response, which can be stored as text. */
export const fixedHeaders = ['Content-Type', 'application/json', 'Accept-Encoding', 'identity'] as const;

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
  sent: { userAgent: string; at: Date | null; customNames: readonly string[] },
): Record<string, string | null> {
  const { userAgent, at, customNames } = sent;
  const named = ['User-Agent', userAgent, 'webhook-id', message.id];
  if (at) named.push('webhook-timestamp', String(Math.floor(at.getTime() / 1000)));
  const own = new Set(customNames.map((name) => name.toLowerCase()));
  const headers: [name: string, value: string | null][] = [];
  const flat = [...fixedHeaders, ...named];
  addEventHeaders(flat, message);
  for (let index = 0; index < flat.length; index += 2) {
    const name = flat[index]!;
    if (!own.has(name.toLowerCase())) headers.push([name, flat[index + 1]!]);
  }
  for (const name of customNames) headers.push([name, null]);
  // Assigning each field of an object would lose a header named `__proto__`.
  return Object.fromEntries(headers);
}

export const responseHeaders = {
  'content-type': Type.Optional(Type.String({ description: '`Content-Type`.' })),
  location: Type.Optional(Type.String({ description: '`Location`.' })),
  'retry-after': Type.Optional(Type.String({ description: '`Retry-After`.' })),
  server: Type.Optional(Type.String({ description: '`Server`.' })),
};
export const ResponseHeadersSchema = Type.Object(responseHeaders, {
  title: 'ResponseHeaders',
  description: 'The response headers listed here, if the receiver sent them.',
  examples: [{}],
});

export const requestFields = {
  headers: Type.Record(Type.String(), Type.Union([Type.String(), Type.Null()]), {
    description: 'Request headers, without signatures. The values of custom headers are null.',
    examples: [
      {
        'Content-Type': 'application/json',
        'Accept-Encoding': 'identity',
        'User-Agent': 'Posthorn/0.1.0',
        'webhook-id': 'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3',
        'webhook-timestamp': '1794735000',
        'X-Service-Subject': 'invoice/INV-01K1RB6W8Y0A2C4E6G8J0M2P4R',
        'X-Service-Actor': 'user/USR-ada',
        'X-Service-Delivery': 'WDLV-01JAB3C4D5E6F7G8H9J0K1M2N3',
        'X-Service-Attempt': '1',
        Authorization: null,
      },
    ],
  }),
  body: nullable(Type.String(), {
    description:
      'Request body. Null if the token lacks the `events:read` scope or if the event no longer exists.',
    examples: ['{"id":"EVT-01JAB3C4D5E6F7G8H9J0K1M2N3"}'],
  }),
};
export const urlExamples = { examples: ['https://example.com/webhooks'] };
export const RequestSchema = Type.Object(
  { url: Type.String({ description: 'URL.', ...urlExamples }), ...requestFields },
  { title: 'TestRequest', description: 'The request, without signatures.' },
);
