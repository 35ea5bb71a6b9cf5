import { type NewEventOf, recordEvents } from '@posthorn/server';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
await pool.query('create table if not exists invoices (id text primary key, status text not null)');

/**
 * Marks an invoice as paid. The change and its event are committed in one transaction: both are stored, or neither is.
 */
async function pay(organization: string, invoice: string): Promise<string> {
  const paid: NewEventOf<'invoice.paid'> = {
    type: 'invoice.paid',
    organization_id: organization,
    actor: { type: 'user', id: 'USR-ada' },
    subject: { type: 'invoice', id: invoice },
    payload: { id: invoice, new_status: 'paid', amount_minor: 1999, currency: 'EUR' },
    idempotency_key: `${invoice}-paid`,
  };
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(
      "insert into invoices values ($1, 'paid') on conflict (id) do update set status = 'paid'",
      [invoice],
    );
    const [recorded] = await recordEvents(client, [paid]);
    await client.query('commit');
    return recorded?.id ?? '';
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

const [organization = 'ORG-demo', invoice = 'INV-7'] = process.argv.slice(2);
console.log(await pay(organization, invoice));
await pool.end();
