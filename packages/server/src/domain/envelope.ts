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
  const text = JSON.stringify({
    id: head.id,
    type: head.type,
    created_at: head.created_at.toISOString(),
    organization_id: head.organization_id,
    workspace_id: head.workspace_id,
    ...(test && { test: true }),
  });
  return `${text.slice(0, -1)},"data":${payload}}`;
}
