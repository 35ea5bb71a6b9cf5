// A service that a team would write around a job queue, in its own process: it accepts events over HTTP, stores them,
// sends them signed to a receiver, retries what failed, and logs every attempt. The bench forks it with the name of the
// queue and what it needs as JSON.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { openBullmq, openBullmqAlone } from './bullmq.js';
import { openGraphileWorker } from './graphile-worker.js';
import { openPgBoss } from './pg-boss.js';
import { Sender } from './sender.js';
import { Tables } from './tables.js';

const queues = {
  'graphile-worker': openGraphileWorker,
  'pg-boss': openPgBoss,
  bullmq: openBullmq,
  'bullmq-alone': openBullmqAlone,
};
const [name, given] = process.argv.slice(2);
const { databaseUrl, redis, receiverUrl, paths } = JSON.parse(given);

const tables = databaseUrl && new Tables(databaseUrl);
await tables?.create();
const sender = new Sender(receiverUrl, paths);
const queue = await queues[name]({ databaseUrl, redis, tables, sender });

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', async () => {
    const createdAt = new Date().toISOString();
    const parsed = JSON.parse(Buffer.concat(chunks).toString());
    const events = (Array.isArray(parsed) ? parsed : [parsed]).map((event) => ({
      id: `EVT-${randomUUID()}`,
      created_at: createdAt,
      ...event,
    }));
    try {
      await queue.record(events);
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ data: events.map(({ id }) => ({ id, created_at: createdAt })) }));
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));

process.on('message', async ({ ask }) => {
  if (ask === 'idle') process.send({ idle: await queue.isIdle() });
  if (ask === 'logged') process.send({ logged: tables ? await tables.count() : null });
});

// The process that started this one has ended, or wants it to end.
process.on('disconnect', () => process.exit());
