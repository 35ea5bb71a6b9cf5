import { cpuMsOfProcess } from './cpu.js';
import { median } from './figures.js';
import { progress } from './progress.js';
import { startServer } from './server.js';

const batch = 200;
const batches = 150;
const rounds = 9;

const insertDeliveries = `
  insert into posthorn.deliveries (organization_id, webhook_id, created_at, id, event_id, event_type,
                                   event_created_at, due_at, status, attempts, attempted_at, http_status, duration_ms)
  select 'ORG-1', 'WHK-01JAB3C4D5E6F7G8H9J0K1M2N3', at, 'WDLV-01JAB3C4D5E6F7G8' || to_hex($1::bigint + n),
         'EVT-01JAB3C4D5E6F7G8' || to_hex($1::bigint + n),
         (array['invoice.paid', 'task.created', 'agent.run.completed', 'user.invited'])[1 + n % 4],
         at, at, 'success', 1, at, 200, 3
    from (select n, clock_timestamp()::timestamptz(3) as at from generate_series(1, ${batch}) n) each`;

const insertEvents = `
  insert into posthorn.events (organization_id, created_at, id, type, workspace_id, actor_type, actor_id,
                               subject_type, subject_id, payload, bytes)
  select 'ORG-1', now(), 'EVT-01JAB3C4D5E6F7G8' || to_hex($1::bigint + n), 'invoice.paid', 'WS-1', 'user', 'USR-1',
         'invoice', 'INV-1', '{"amount_minor": 129900, "currency": "EUR", "number": "2026-000418"}', 70
    from generate_series(1, ${batch}) n`;

const byType =
  'create index deliveries_by_type on posthorn.deliveries (organization_id, webhook_id, event_type, created_at)';

/** Measures what the indexes for rare queries cost per inserted row, by inserting with and without them in turn. */
export async function benchIndexes(print) {
  const server = await startServer();
  const { database } = server;
  try {
    const { rows } = await database.query('select pg_backend_pid() as pid');
    const inserting = new Inserting(database, rows[0].pid);
    await database.query('set synchronous_commit = off');
    await inserting.compare(print, 'deliveries', insertDeliveries, 'deliveries_retrying', byType);
    await inserting.compare(print, 'events', insertEvents, 'events_by_time');
  } finally {
    await server.stop();
  }
}

class Inserting {
  #database;
  #pid;
  #inserted = 2 ** 38;

  constructor(database, pid) {
    this.#database = database;
    this.#pid = pid;
  }

  /** Prints the cost of a row without an index, with it, and with a further one that was decided against. */
  async compare(print, table, insert, index, further) {
    await this.#database.query(`select posthorn.ensure_partition('${table}', current_date)`);
    const { rows } = await this.#database.query('select pg_get_indexdef($1::regclass) as definition', [
      `posthorn.${index}`,
    ]);
    const drop = `drop index if exists posthorn.${index}, posthorn.deliveries_by_type`;
    const forms = {
      [`without ${index}`]: [drop],
      [`with ${index}`]: [drop, rows[0].definition],
      ...(further && { 'with an index on type, too': [drop, rows[0].definition, further] }),
    };
    const costs = new Map(Object.keys(forms).map((form) => [form, []]));
    for (let round = 0; round < rounds; round += 1) {
      progress(`${table}: round ${round + 1} of ${rounds}`);
      for (const [form, statements] of Object.entries(forms)) {
        await this.#database.query(`truncate posthorn.${table}`);
        for (const statement of statements) await this.#database.query(statement);
        const us = await this.#insert(insert);
        // The first round warms up.
        if (round > 0) costs.get(form).push(us);
      }
    }
    for (const [form, all] of costs)
      print(`CPU per row of ${table} ${form}`, `${median(all).toFixed(1)} µs`, '');
  }

  async #insert(text) {
    const startedMs = await cpuMsOfProcess(this.#pid);
    for (let turn = 0; turn < batches; turn += 1) {
      this.#inserted += batch;
      await this.#database.query({ name: text.slice(15, 40), text, values: [this.#inserted] });
    }
    return (((await cpuMsOfProcess(this.#pid)) - startedMs) * 1000) / (batch * batches);
  }
}
