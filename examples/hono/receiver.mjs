import { serve } from '@hono/node-server';
import { createReceiver, memorySeen } from '@posthorn/receiver';
import { honoHandler } from '@posthorn/receiver/hono';
import { Hono } from 'hono';

const receiver = createReceiver({
  secret: process.env.WEBHOOK_SECRET,
  seen: memorySeen(),
  on: {
    'invoice.paid': ({ data }) => console.log(`${data.id} is paid: ${data.amount_minor} ${data.currency}`),
    'incident.*': ({ type, data }) => console.log(`${type}: ${data.id}`),
  },
});

const app = new Hono();
app.post('/webhooks', honoHandler(receiver));
app.get('/', (context) => context.text('The application works as before.'));

const server = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' });

process.once('SIGTERM', async () => {
  server.close();
  await receiver.idle();
  process.exit();
});
