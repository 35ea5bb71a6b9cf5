import { Queue, Worker } from 'bullmq';
import { inFlight } from './sender.js';
import { insertEvents } from './tables.js';

const name = 'send';
/** What the documentation shows for production: finished jobs are removed, not kept forever. */
const removed = { removeOnComplete: { age: 3_600, count: 1_000 }, removeOnFail: { age: 86_400 } };

/**
 * BullMQ with jobs that are added in bulk. Events and the delivery log are rows of PostgreSQL, as with the others.
 * PostgreSQL and the queue are two stores: a crash between their writes leaves an event that is never sent.
 */
export function openBullmq({ redis, tables, sender }) {
  return open(redis, sender, {
    ...removed,
    keep: (events) =>
      tables.pool.query({ name: 'events', text: insertEvents, values: [JSON.stringify(events)] }),
    log: (row) => tables.logOne(row),
  });
}

/**
 * BullMQ without PostgreSQL: the job is the only record of its event, and a completed job the only log of its delivery.
 * All of them stay in memory.
 */
export function openBullmqAlone({ redis, sender }) {
  return open(redis, sender, { keep: async () => undefined, log: async () => undefined });
}

async function open(path, sender, { keep, log, ...removal }) {
  const connection = { path, maxRetriesPerRequest: null };
  const queue = new Queue(name, {
    connection,
    defaultJobOptions: { attempts: 5, backoff: { type: 'exponential', delay: 1_000 }, ...removal },
  });
  const send = async (job) => {
    const row = await sender.attempt(job.data, job.attemptsMade + 1);
    await log(row);
    if (!row.is_success) throw new Error(`the receiver responded with ${row.http_status}`);
    return row.http_status;
  };
  const worker = new Worker(name, send, { connection, concurrency: inFlight });
  worker.on('error', (error) => console.error(error));
  await worker.waitUntilReady();
  return {
    async record(events) {
      await keep(events);
      await queue.addBulk(events.map((event) => ({ name, data: event })));
    },
    async isIdle() {
      const counts = await queue.getJobCounts('wait', 'active', 'delayed', 'prioritized');
      return Object.values(counts).every((count) => count === 0);
    },
    async close() {
      await worker.close();
      await queue.close();
    },
  };
}
