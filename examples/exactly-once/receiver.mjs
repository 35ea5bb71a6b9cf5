import { createServer } from 'node:http';
import { createReceiver } from '@posthorn/receiver';
import { nodeHandler } from '@posthorn/receiver/node';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
// Without listeners, a connection that breaks would end this process. The pool replaces it.
pool.on('error', (error) => console.error(error.message));
pool.on('connect', (client) => client.on('error', () => {}));
await pool.query(`
  create table if not exists received_events (id text primary key, received_at timestamptz not null default now());
  create table if not exists payments (invoice_id text not null, amount_minor bigint not null)`);

/** Stores the ID of an event in the transaction in which its handler works: both take effect, or neither does. */
const seen = {
  async once(id, work) {
    const client = await pool.connect();
    try {
      await client.query('begin');
      const { rowCount } = await client.query(
        'insert into received_events (id) values ($1) on conflict do nothing',
        [id],
      );
      if (rowCount === 1) await work(client);
      await client.query('commit');
      return rowCount === 1;
    } catch (error) {
      await client.query('rollback').catch(() => {});
      throw error;
    } finally {
      client.release();
    }
  },
};

const receiver = createReceiver({
  secret: process.env.WEBHOOK_SECRET,
  seen,
  on: {
    'invoice.paid': async ({ data }, client) => {
      await client.query('insert into payments values ($1, $2)', [data.id, data.amount_minor]);
      console.log(`${data.id} is paid: ${data.amount_minor} ${data.currency}`);
    },
  },
});

const server = createServer(nodeHandler(receiver)).listen(Number(process.env.PORT ?? 3000), '127.0.0.1');

process.once('SIGTERM', async () => {
  server.close();
  await receiver.idle();
  await pool.end();
});
