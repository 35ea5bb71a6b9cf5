import { isoText } from '../values/instant.js';

/** The envelope without its payload. */
export interface EnvelopeHead {
  id: string;
  type: string;
  created_at: Date;
  organization_id: string;
  workspace_id: string | null;
}

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
