import { PgBoss } from 'pg-boss';
import { insertEvents } from './tables.js';

const queue = 'send';
/** Larger batches were faster in each of five trials, from 16 to 128. With two workers, one fetches while one sends. */
const batchSize = 128;
const workers = 2;

/**
 * pg-boss with a table of its own for the queue, LISTEN/NOTIFY, batches that are fetched without a pause while they are
 * full, and a result for each job of a batch. Events and jobs are written in one transaction. Completed jobs are kept for
 * seven days, its default.
 */
export async function openPgBoss({ databaseUrl, tables, sender }) {
  const boss = new PgBoss({ connectionString: databaseUrl, max: 20, useListenNotify: true });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  await boss.createQueue(queue, {
    partition: true,
    notify: true,
    retryLimit: 4,
    retryDelay: 1,
    retryBackoff: true,
  });
  const options = {
    batchSize,
    localConcurrency: workers,
    burstWhenBatchFull: true,
    pollingIntervalSeconds: 0.5,
    notifyPollingIntervalSeconds: 0.5,
    perJobResults: true,
    includeMetadata: true,
  };
  await boss.work(queue, options, async (jobs) => {
    const rows = await Promise.all(jobs.map(({ data, retryCount }) => sender.attempt(data, retryCount + 1)));
    await tables.log(rows);
    return jobs.map(({ id }, index) => ({ id, status: rows[index].is_success ? 'completed' : 'failed' }));
  });
  return {
    record: (events) =>
      tables.transaction(async (client) => {
        const db = { executeSql: (text, values) => client.query(text, values) };
        await client.query({ name: 'events', text: insertEvents, values: [JSON.stringify(events)] });
        await boss.insert(
          queue,
          events.map((event) => ({ data: event })),
          { db },
        );
      }),
    async isIdle() {
      const { rows } = await tables.pool.query(
        "select not exists (select from pgboss.job where name = $1 and state < 'completed') as idle",
        [queue],
      );
      return rows[0].idle;
    },
    close: () => boss.stop({ graceful: false }),
  };
}
