import { sign } from '@posthorn/receiver';

/** Sends a forged event to a receiver, without knowing its secret. */
export async function forge(url: string, nowMs: number): Promise<void> {
  const id = `EVT-forged-${nowMs}`;
  const body = JSON.stringify({
    id,
    type: 'invoice.paid',
    created_at: new Date(nowMs).toISOString(),
    organization_id: 'ORG-demo',
    workspace_id: null,
    data: { id: 'INV-forged', amount_minor: 1 },
  });
  const headers = sign(body, { id, timestamp: new Date(nowMs), key: 'a-guess-at-the-secret' });
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  await response.arrayBuffer();
}
