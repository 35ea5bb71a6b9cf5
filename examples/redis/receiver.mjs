import { createServer } from 'node:http';
import { createReceiver } from '@posthorn/receiver';
import { nodeHandler } from '@posthorn/receiver/node';
import { createClient } from '@redis/client';
import { redisSeen } from './redis-seen.mjs';

const redis = createClient({ url: process.env.REDIS_URL });
redis.on('error', (error) => console.error(`Redis: ${error.message}`));
await redis.connect();

const receiver = createReceiver({
  secret: process.env.WEBHOOK_SECRET,
  seen: redisSeen(redis),
  on: {
    'invoice.paid': ({ data }) => console.log(`${data.id} is paid: ${data.amount_minor} ${data.currency}`),
  },
});

const server = createServer(nodeHandler(receiver)).listen(Number(process.env.PORT ?? 3000), '127.0.0.1');

process.once('SIGTERM', async () => {
  server.close();
  await receiver.idle();
  await redis.close();
});
