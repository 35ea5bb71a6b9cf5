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
