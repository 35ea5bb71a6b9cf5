import type { FastifyInstance } from 'fastify';
import { type Catalogue, madeFrom } from '../catalogue/catalogue.js';
import { encodedRoute, StaticContent } from '../web/static-content.js';
import { webhooksSection } from './webhooks-section.js';

/** Serves the AsyncAPI document of the event types at `/asyncapi.json`. */
export function serveEventsDocument(app: FastifyInstance, catalogue: Catalogue, version: string): void {
  const content = madeFrom(catalogue, (current) =>
    StaticContent.of(
      'application/json; charset=utf-8',
      JSON.stringify(eventsDocument(current, version), null, 2),
    ),
  );
  app.get('/asyncapi.json', { config: { open: true }, ...encodedRoute }, async (request, reply) =>
    content().send(request, reply),
  );
}

/** Returns the AsyncAPI 3.0 document: one channel, with a message for each event type. */
function eventsDocument(catalogue: Catalogue, version: string): object {
  const { requests, schemas } = webhooksSection(catalogue);
  const nameOf = (type: string) => type.replaceAll('.', '_');
  const messages = catalogue.list().map((one) => {
    const { schema: payload, example } = requests[one.type]!.post.requestBody.content['application/json'];
    const message = {
      name: one.type,
      title: one.type,
      summary: one.description,
      contentType: 'application/json',
      payload,
      examples: [{ payload: example }],
      'x-schema-version': one.version ?? 1,
    };
    return [nameOf(one.type), message] as const;
  });
  const refs = (place: string) => messages.map(([name]) => [name, { $ref: `#/${place}/${name}` }] as const);
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Posthorn events',
      version,
      description: 'The events that webhooks deliver, as signed HTTP POST requests with a JSON body.',
    },
    defaultContentType: 'application/json',
    channels: {
      webhook: {
        address: null,
        description: 'The URL of a webhook.',
        messages: Object.fromEntries(refs('components/messages')),
      },
    },
    operations: {
      deliverEvent: {
        action: 'send',
        channel: { $ref: '#/channels/webhook' },
        summary: 'Deliver an event',
        messages: refs('channels/webhook/messages').map(([, ref]) => ref),
      },
    },
    components: { messages: Object.fromEntries(messages), schemas },
  };
}
