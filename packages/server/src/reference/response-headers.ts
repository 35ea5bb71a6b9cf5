const text = (description: string, example: string) => ({
  description,
  schema: { type: 'string' },
  example,
});

/** The response headers that clients use. */
export const headers = {
  'X-Request-Id': text(
    'Request ID. If the request has an `X-Request-Id` of 8 to 128 letters, digits, dots, hyphens or underscores, ' +
      'the response has the same one.',
    '0b0f1c86-7f3f-4b43-9b39-3f1f6e2f6c55',
  ),
  'WWW-Authenticate': text('The authentication scheme: `Bearer`.', 'Bearer'),
  'Retry-After': {
    description: 'Number of seconds to wait before you repeat the request.',
    schema: { type: 'integer', minimum: 1 },
    example: 2,
  },
  RateLimit: text(
    'How many requests are left (`r`), and the number of seconds until the count resets (`t`). Not sent if ' +
      'the limit is turned off.',
    '"reads";r=598;t=42',
  ),
  'RateLimit-Policy': text(
    'How many requests a token can make (`q`) within a number of seconds (`w`). Not sent if the limit is turned off.',
    '"reads";q=600;w=60',
  ),
  Location: text(
    'Path of the resource that the request created.',
    '/v1/webhooks/WHK-01JAB3C4D5E6F7G8H9J0K1M2N3',
  ),
  ETag: text('Identifies this content. Send it as `If-None-Match`.', '"h1Nq0dJ3v0m7T2yWc5kZbA"'),
  'Idempotency-Replayed': text(
    '`true` if this is the stored response to the first request with the same `Idempotency-Key`.',
    'true',
  ),
  'Posthorn-Cell': text('The name of the cell to use instead.', 'eu2'),
};
export type HeaderName = keyof typeof headers;
