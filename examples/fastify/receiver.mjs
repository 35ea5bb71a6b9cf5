import { createReceiver, memorySeen } from '@posthorn/receiver';
import { fastifyReceiver } from '@posthorn/receiver/fastify';
import Fastify from 'fastify';

const app = Fastify({ logger: { level: 'warn' } });

const receiver = createReceiver({
  secret: process.env.WEBHOOK_SECRET,
  seen: memorySeen(),
  on: {
    'invoice.paid': ({ data }) => console.log(`${data.id} is paid: ${data.amount_minor} ${data.currency}`),
    'incident.*': ({ type, data }) => console.log(`${type}: ${data.id}`),
  },
  // In place of the console: refused requests and failed handlers go to the log of the application.
  log: (outcome) => outcome.outcome === 'refused' && app.log.warn(outcome, 'webhook request refused'),
  onError: (error, event) => app.log.error({ err: error, event: event.id }, 'handler failed'),
});

app.register(fastifyReceiver, { receiver, url: '/webhooks' });
app.post('/other', async (request) => request.body); // gets parsed JSON as before

await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' });

process.once('SIGTERM', () => app.close()); // waits for the handlers
