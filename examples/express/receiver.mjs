import { createReceiver, memorySeen } from '@posthorn/receiver';
import { expressHandler } from '@posthorn/receiver/express';
import express from 'express';

const receiver = createReceiver({
  secret: process.env.WEBHOOK_SECRET,
  seen: memorySeen(),
  on: {
    'invoice.paid': ({ data }) => console.log(`${data.id} is paid: ${data.amount_minor} ${data.currency}`),
    'incident.*': ({ type, data }) => console.log(`${type}: ${data.id}`),
  },
});

const app = express();
app.post('/webhooks', expressHandler(receiver)); // before express.json()
app.use(express.json());
app.get('/', (_request, response) => response.send('The application works as before.'));

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');

process.once('SIGTERM', async () => {
  server.close();
  await receiver.idle();
  process.exit();
});
