import { isoText } from './instant.js';

/** What a receiver gets, but for the payload. */
export interface EnvelopeHead {
  id: string;
  type: string;
  created_at: Date;
  organization_id: string;
  workspace_id: string | null;
}

/**
 * The body of a webhook request. Made from the stored event alone, so it is the same bytes on every
 * attempt; `payload` is JSON text and passes through untouched.
 */
export function envelopeText(head: EnvelopeHead, payload: string, test = false): string {
  // Ids of events and names of types have nothing to escape; the others are given by users.
  return (
    `{"id":"${head.id}","type":"${head.type}","created_at":"${isoText(head.created_at)}",` +
    `"organization_id":${JSON.stringify(head.organization_id)},` +
    `"workspace_id":${JSON.stringify(head.workspace_id)},${test ? '"test":true,' : ''}"data":${payload}}`
  );
}

/**
 * The body of a verification: the same envelope, spelt as no serializer spells it. The first letter of the challenge is
 * escaped, and spaces are where nobody puts them. A receiver that parses the body and verifies what it serializes again
 * fails here, before it gets an event.
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
