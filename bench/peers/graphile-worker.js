import { Logger, run } from 'graphile-worker';
import { inFlight } from './sender.js';
import { insertEvents } from './tables.js';

const silent = new Logger(() => () => undefined);

/**
 * graphile-worker with the batching options that its performance page recommends: a local queue, and completions that are
 * batched. Events and jobs are written in one statement, and so in one commit. Jobs are deleted when they complete.
 */
export async function openGraphileWorker({ databaseUrl, tables, sender }) {
  const send = async (event, { job }) => {
    const row = await sender.attempt(event, job.attempts);
    await tables.logOne(row);
    // A job that throws is attempted again after 2.7 s, 7.4 s, 20 s and so on: the library fixes the waits.
    if (!row.is_success) throw new Error(`the receiver responded with ${row.http_status}`);
  };
  const worker = await run({
    taskList: { send },
    preset: {
      worker: {
        connectionString: databaseUrl,
        concurrentJobs: inFlight,
        maxPoolSize: 25,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        logger: silent,
      },
    },
    noHandleSignals: true,
  });
  return {
    async record(events) {
      const jobs = events.map((event) => ({ identifier: 'send', payload: event, max_attempts: 5 }));
      await tables.pool.query({
        name: 'record',
        text: `with recorded as (${insertEvents})
               select count(*) from graphile_worker.add_jobs(
                 array(select spec from json_populate_recordset(null::graphile_worker.job_spec, $2::json) spec))`,
        values: [JSON.stringify(events), JSON.stringify(jobs)],
      });
    },
    async isIdle() {
      const { rows } = await tables.pool.query(
        'select not exists (select from graphile_worker.jobs) as idle',
      );
      return rows[0].idle;
    },
    close: () => worker.stop(),
  };
}
