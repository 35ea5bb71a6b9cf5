import { expect, expectTypeOf, test } from 'vitest';
import { verify } from '../src/index.js';
import { signedRequest, signedWebRequest } from '../src/testing.js';

const secret = 'a-secret-of-the-tests';

test('a request has the sample of its type, with the fields that were given', () => {
  const { event, body, headers, method } = signedRequest('incident.opened', {
    secret,
    data: { severity: 'p0' },
    envelope: { workspace_id: 'WS-1', test: true },
  });
  expectTypeOf(event.data.title).toEqualTypeOf<string>();
  expect(JSON.parse(body)).toEqual(event);
  expect(event).toMatchObject({ type: 'incident.opened', workspace_id: 'WS-1', test: true });
  expect(event.data).toEqual({
    id: expect.stringMatching(/^INC-/),
    service_line_id: expect.stringMatching(/^LIN-/),
    severity: 'p0',
    title: expect.any(String),
  });
  expect(method).toBe('POST');
  expect(verify(body, headers, secret, { requireTimestamp: true }).ok).toBe(true);
  // @ts-expect-error: there is no such field
  signedRequest('incident.opened', { secret, data: { severty: 'p0' } });
});

test('a request is signed with two secrets, as during a rotation', () => {
  const { body, headers } = signedRequest('invoice.paid', { secret, previous: 'the-secret-before' });
  for (const each of [secret, 'the-secret-before']) expect(verify(body, headers, each).ok).toBe(true);
});

test('a Web Request has the same headers and body', async () => {
  const request = signedWebRequest('https://example.com/webhooks', 'webhook.verification', { secret });
  expect(request.headers.has('x-service-delivery')).toBe(false);
  expect(verify(await request.arrayBuffer(), request.headers, secret).ok).toBe(true);
});

test('a tampered body is JSON, and its signature is that of the event', () => {
  const { body, event, headers } = signedRequest('invoice.paid', { secret, fault: 'tampered' });
  expect(JSON.parse(body)).toMatchObject(event);
  expect(verify(body, headers, secret)).toMatchObject({ reason: 'signature_mismatch' });
  expect(verify(JSON.stringify(event), headers, secret).ok).toBe(true);
});
