import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

/**
 * Takes a service that has just started to its first delivered event, as a new user would: waits until it is ready,
 * creates a token, starts a receiver on this machine, creates a webhook, records an event, and checks the signature of
 * what arrives. `platformToken` can be a function, which is called once the service is ready. Throws if anything differs
 * from what the docs say.
 */
export async function deliverFirstEvent({ publicUrl, platformUrl, patienceMs = 60_000, ...given }) {
  await untilReady(publicUrl, Date.now() + patienceMs);
  const platformToken =
    typeof given.platformToken === 'function' ? given.platformToken() : given.platformToken;
  const secret = 'a-secret-for-the-first-event';
  const received = [];
  const receiver = createServer((request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(parts) });
      response.end();
      receiver.emit('received');
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  try {
    const organization_id = 'ORG-first';
    const actor = { type: 'user', id: 'USR-ada' };
    const { data: made } = await call(platformUrl, '/platform/tokens', platformToken, { organization_id });
    const url = `http://127.0.0.1:${receiver.address().port}/webhooks`;
    const { data: webhook } = await call(publicUrl, '/v1/webhooks', made.token, {
      ...{ organization_id, url, event_types: ['invoice.paid'], secret },
    });
    if (webhook.status !== 'active') throw new Error(`The webhook is ${webhook.status}.`);
    const { data: recorded } = await call(platformUrl, '/platform/events', platformToken, {
      ...{
        type: 'invoice.paid',
        organization_id,
        actor,
        subject: { type: 'invoice', id: 'INV-1' },
        payload: { id: 'INV-1' },
      },
    });
    const waited = AbortSignal.timeout(patienceMs);
    while (!received.some(({ headers }) => headers['webhook-id'] === recorded[0].id))
      await once(receiver, 'received', { signal: waited });
    const { headers, body } = received.find(({ headers }) => headers['webhook-id'] === recorded[0].id);
    const expected = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
    if (headers['x-service-signature'] !== expected) throw new Error('The signature is wrong.');
    return recorded[0].id;
  } finally {
    receiver.closeAllConnections();
    receiver.close();
  }
}

async function untilReady(publicUrl, deadline) {
  for (;;) {
    const isReady = await fetch(`${publicUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    if (Date.now() > deadline) throw new Error(`The service is not ready at ${publicUrl}.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function call(base, path, token, body) {
  const response = await fetch(base + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}
