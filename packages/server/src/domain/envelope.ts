import { isoText } from './instant.js';

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
  // Event ids and types need no escaping. Users choose the other values.
  return (
    `{"id":"${head.id}","type":"${head.type}","created_at":"${isoText(head.created_at)}",` +
    `"organization_id":${JSON.stringify(head.organization_id)},` +
    `"workspace_id":${JSON.stringify(head.workspace_id)},${test ? '"test":true,' : ''}"data":${payload}}`
  );
}
