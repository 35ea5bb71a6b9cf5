import Type from 'typebox';
import { nullable } from '../web/schemas.js';

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
